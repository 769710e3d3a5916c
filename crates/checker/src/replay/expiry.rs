//! Expiry: the leader removes servers that have no instance. L7.

use crate::Property::L7;
use crate::names::Name;
use crate::replay::job::Server;
use crate::replay::judge::Judge;

impl Judge<'_> {
    /// Judges that a server that an instance removes has no instance, and a state that expires.
    ///
    /// A leader may read the counter of requests, which guards the removal, before it reads an
    /// instance that has just registered. That instance creates its server again. So instances
    /// count only once they have been registered for as long as a leader takes to notice them.
    pub(super) fn expires(&mut self, server: Name) {
        let noticed = |since: u64| since.saturating_add(self.bounds.settle) < self.spot.mt;
        let registered = self.job.instances.iter().find(|(id, instance)| {
            self.names.server_of(**id) == Some(server) && noticed(instance.since)
        });
        let registered = registered.map(|(id, _)| *id);
        let expires = self.job.servers.get(&server).is_none_or(|state| self.may_expire(*state));
        self.expect(registered.is_none() && expires, L7, None, |judge| {
            let reason = match registered {
                Some(id) => format!("{} is registered on it", judge.text(id)),
                None => "the configuration keeps it".to_owned(),
            };
            format!("server {} was removed although {reason}", judge.text(server))
        });
    }

    /// Returns true if the configuration lets a server of this state expire. Unless it includes all
    /// servers, an instance that comes back must create the server in the same state.
    fn may_expire(&self, state: Server) -> bool {
        let Some(config) = self.job.config() else { return false };
        let ttl = config.server_ttl.as_str();
        let is_new = state == Server::Enabled && !config.disabled;
        ttl != "off" && (is_new || ttl.ends_with(" all"))
    }
}
