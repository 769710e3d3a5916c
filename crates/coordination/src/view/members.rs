//! Instances, servers and the leader.

use reg_center::{Node, Revision, SessionId, Version};
use sharding::InstanceId;

use super::JobView;
use crate::wire::{self, Layout};
use crate::{AuditLog, ServerIp, ServerState, Versioned, server_of};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstanceView {
    pub(super) version: Version,
    pub(super) created: Revision,
    pub(crate) session: SessionId,
    pub(crate) is_java: bool,
}

impl InstanceView {
    pub(crate) fn read(layout: &Layout, id: &InstanceId, node: &Node) -> Result<Self, String> {
        if server_of(id).is_none() {
            return Err("the name is not an instance id such as 10.0.0.7@-@4123".into());
        }
        let session = node.stat.owner.ok_or("the node is not ephemeral: no session owns it")?;
        let (version, created) = (node.stat.version, node.stat.created);
        Ok(Self { version, created, session, is_java: layout.is_of_java(&node.data) })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerView {
    pub(super) state: ServerState,
    pub(super) version: Version,
}

impl JobView {
    /// Returns true if the instance is registered.
    #[must_use]
    pub fn is_registered(&self, id: &InstanceId) -> bool {
        self.instances.contains_key(id)
    }

    /// Returns true if another session than this one has registered the id.
    pub(crate) fn is_registered_elsewhere(&self, id: &InstanceId, session: SessionId) -> bool {
        self.instances.get(id).is_some_and(|instance| instance.session != session)
    }

    /// Returns the registered instances in ascending order of their ids.
    pub fn instances(&self) -> impl Iterator<Item = &InstanceId> {
        self.instances.keys()
    }

    /// Returns true if the instance gets items: it is registered, not leaving, and its server is
    /// not disabled.
    #[must_use]
    pub fn is_available(&self, id: &InstanceId) -> bool {
        self.is_registered(id)
            && !self.draining.contains(id)
            && server_of(id).is_some_and(|ip| self.is_enabled(&ip))
    }

    /// Returns the available instances in descending order, as strategies expect them.
    pub(crate) fn available(&self) -> Vec<InstanceId> {
        let mut available: Vec<_> =
            self.instances.keys().filter(|id| self.is_available(id)).cloned().collect();
        sharding::sort_descending(&mut available);
        available
    }

    /// Returns true if the instance is leaving and takes no more items.
    #[must_use]
    pub fn is_draining(&self, id: &InstanceId) -> bool {
        self.draining.contains(id)
    }

    /// Returns the version of the instance's node.
    #[must_use]
    pub fn instance_version(&self, id: &InstanceId) -> Option<Version> {
        self.instances.get(id).map(|instance| instance.version)
    }

    /// Returns the revision at which the instance was registered.
    #[must_use]
    pub fn registered_at(&self, id: &InstanceId) -> Option<Revision> {
        self.instances.get(id).map(|instance| instance.created)
    }

    /// Returns true if the server is known and not disabled by an operator.
    #[must_use]
    pub fn is_enabled(&self, ip: &ServerIp) -> bool {
        self.servers.get(ip).is_some_and(|server| server.state != ServerState::Disabled)
    }

    /// Returns the servers of the job with their states, in ascending order.
    pub fn servers(&self) -> impl Iterator<Item = (&ServerIp, ServerState)> {
        self.servers.iter().map(|(ip, server)| (ip, server.state))
    }

    /// Returns the state of a server. `None` if it is unknown.
    #[must_use]
    pub fn server_state(&self, ip: &ServerIp) -> Option<ServerState> {
        self.servers.get(ip).map(|server| server.state)
    }

    /// Returns the version of a server's node, for guards.
    #[must_use]
    pub fn server_version(&self, ip: &ServerIp) -> Option<Version> {
        self.servers.get(ip).map(|server| server.version)
    }

    /// Returns the stable name of a registered instance, if it has one.
    pub(crate) fn name_of(&self, id: &InstanceId) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }

    /// Returns true if the id has a stable name, whether or not the instance is registered.
    pub(crate) fn is_named(&self, id: &InstanceId) -> bool {
        self.names.contains_key(id)
    }

    /// Returns the leader.
    #[must_use]
    pub fn leader(&self) -> Option<&InstanceId> {
        self.leader.as_ref().map(|leader| &leader.value)
    }

    pub(crate) fn leader_version(&self) -> Option<Version> {
        self.leader.as_ref().map(|leader| leader.version)
    }

    pub(crate) fn term(&self) -> Option<&Versioned<InstanceId>> {
        self.term.as_ref()
    }

    /// Returns the version of the present term if `me` is its leader.
    pub(crate) fn term_of(&self, me: &InstanceId) -> Option<Version> {
        // A Java leader writes the leader's node, but no term: both must name this instance.
        let term = self.term.as_ref()?;
        (self.leader() == Some(me) && term.value == *me).then_some(term.version)
    }

    /// Returns true if an instance of the server is registered.
    pub(crate) fn has_instance_on(&self, ip: &ServerIp) -> bool {
        self.instances.keys().any(|id| server_of(id).as_ref() == Some(ip))
    }

    /// Returns the log of audited changes and the version of its node, if there is one. `None` if a
    /// later version of this project wrote the log. A damaged log is empty, so that the next entry
    /// replaces it, as operator actions do.
    pub(crate) fn audit(&self) -> Option<(Option<Version>, AuditLog)> {
        let Some(Versioned { value, version }) = &self.audit else {
            return Some((None, AuditLog::default()));
        };
        match wire::decode_audit(value) {
            Ok(log) => Some((Some(*version), log)),
            Err(error) if error.is_newer() => None,
            Err(_) => Some((Some(*version), AuditLog::default())),
        }
    }

    /// Returns the version of the counter of added servers. `None` if none was added.
    pub(crate) fn servers_added(&self) -> Option<Version> {
        self.servers_added
    }
}
