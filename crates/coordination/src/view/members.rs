//! Instances, servers and the leader.

use std::collections::BTreeMap;

use reg_center::{Node, Revision, SessionId, Version};
use sharding::{InstanceAttributes, InstanceId, Selector};

use super::JobView;
use crate::wire::{self, Layout};
use crate::{AuditLog, JobConfig, ServerIp, ServerState, Versioned, WaitingRuns, server_of};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstanceView {
    pub(super) version: Version,
    pub(super) created: Revision,
    pub(crate) session: SessionId,
    pub(crate) is_java: bool,
    pub(crate) attributes: InstanceAttributes,
    /// False if the attributes are unknown, because a manual request has overwritten the data.
    pub(crate) shows_attributes: bool,
}

impl InstanceView {
    pub(crate) fn read(layout: &Layout, id: &InstanceId, node: &Node) -> Result<Self, String> {
        if server_of(id).is_none() {
            return Err("the name is not an instance id such as 10.0.0.7@-@4123".into());
        }
        let session = node.stat.owner.ok_or("the node is not ephemeral: no session owns it")?;
        let (version, created) = (node.stat.version, node.stat.created);
        let is_java = layout.is_of_java(&node.data);
        let attributes = InstanceAttributes::default();
        Ok(Self { version, created, session, is_java, attributes, shows_attributes: true })
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

    /// Returns true if the instance gets items: it is registered, not leaving, its server is not
    /// disabled, and it meets the required conditions of the job.
    #[must_use]
    pub fn is_available(&self, id: &InstanceId) -> bool {
        self.is_registered(id)
            && !self.draining.contains(id)
            && server_of(id).is_some_and(|ip| self.is_enabled(&ip))
            && self.unmet_condition(id).is_none()
    }

    /// Returns the required condition of the job that a registered instance does not meet.
    #[must_use]
    pub fn unmet_condition(&self, id: &InstanceId) -> Option<&Selector> {
        let rules = &self.config()?.placement;
        // Most jobs have none, and this is called often.
        if !rules.has_required() {
            return None;
        }
        // Unknown attributes meet no condition, not even a negated one.
        if !self.instances.get(id)?.shows_attributes {
            return rules.required().first();
        }
        rules.unmet(&self.attributes_of(id)?)
    }

    /// Returns weight, zone and labels of a registered instance, with its server and its name.
    #[must_use]
    pub fn attributes_of(&self, id: &InstanceId) -> Option<InstanceAttributes> {
        let attributes = self.instances.get(id)?.attributes.clone();
        let server = server_of(id);
        Some(attributes.identified_by(server.as_ref().map(ServerIp::as_str), self.name_of(id)))
    }

    /// Returns the attributes of all registered instances, also of those that own nothing.
    pub(crate) fn attributes(&self) -> BTreeMap<InstanceId, InstanceAttributes> {
        let of = |id: &InstanceId| Some((id.clone(), self.attributes_of(id)?));
        self.instances.keys().filter_map(of).collect()
    }

    /// Returns a hash of the rules and of the attributes of the members, which change only with an
    /// input of the assignment. `None` without rules and attributes.
    pub(crate) fn placement_hash(&self, config: &JobConfig, members: &[InstanceId]) -> Option<u64> {
        let has_rules = !config.placement.is_empty();
        let is_default = |id| self.instances.get(id).is_none_or(|it| it.attributes.is_default());
        if !has_rules && members.iter().all(is_default) {
            return None;
        }
        let text = |id| {
            let attributes = self.attributes_of(id).unwrap_or_default();
            // Only rules read the name, which a view may show after the instance.
            let name = attributes.get("name").filter(|_| has_rules).unwrap_or_default();
            format!("{id} {attributes} {name}")
        };
        let of_members: Vec<_> = members.iter().map(text).collect();
        let rules = std::iter::once(config.placement.as_str());
        Some(sharding::stable_hash(rules.chain(of_members.iter().map(String::as_str))))
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

    /// Returns the runs of the instance that wait for a place in its process.
    #[must_use]
    pub fn waiting_runs(&self, id: &InstanceId) -> Option<&WaitingRuns> {
        self.waiting.get(id).and_then(|waiting| waiting.value.as_ref())
    }

    /// Returns the version of the node with the waiting runs of the instance.
    pub(crate) fn waiting_version(&self, id: &InstanceId) -> Option<Version> {
        self.waiting.get(id).map(|waiting| waiting.version)
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

#[cfg(test)]
mod tests {
    use sharding::PlacementRules;

    use crate::duty::scene::{Scene, id};

    /// A manual request of 2.1.5 overwrites the attributes of an instance. A view that was read
    /// before still has them.
    #[test]
    fn instance_with_unknown_attributes_meets_no_required_condition() {
        let rows = [
            ("known, and met", "disk=hdd", "require disk!=ssd", true),
            ("known, and not met", "disk=ssd", "require disk!=ssd", false),
            ("unknown", "", "require disk!=ssd", false),
            ("unknown, without required conditions", "", "prefer disk!=ssd", true),
        ];
        for (case, attributes, rules, expected) in rows {
            let scene = match attributes {
                "" => Scene::cluster(2, 1).server(2, ""),
                attributes => Scene::cluster(2, 1).member_with(2, attributes),
            };
            let scene = scene.triggered(2).configure(|config| {
                config.strategy = "PLACEMENT".to_owned();
                config.placement = PlacementRules::parse(rules).unwrap();
            });
            assert_eq!(scene.with_context(|cx| cx.view.is_available(&id(2))), expected, "{case}");
        }
    }
}
