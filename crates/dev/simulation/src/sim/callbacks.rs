//! Checks of once-per-cluster callbacks: the caller must be allowed to start a run at that moment.
//!
//! The checker judges the order of the callbacks, and that all items have come far enough. Here,
//! each new call is compared with the registry's state when its record was written.

use coordination::{ServerState, server_of};
use reg_center::{Change, Node};
use serde::Deserialize;
use sharding::InstanceId;

use super::world::World;

/// Fields of the record of calls that this check needs.
#[derive(Debug, Default, Deserialize)]
struct Calls {
    started: Option<Call>,
    completed: Option<Call>,
}

#[derive(Debug, Deserialize)]
struct Call {
    token: u64,
    holder: String,
    done: bool,
}

impl World {
    /// Checks the calls that begin with these changes, against the state before the changes.
    pub(crate) fn check_callbacks(&mut self, changes: &[Change]) {
        let once = self.paths.once();
        let written = |change: &Change| match change {
            Change::Put(node) | Change::Entry(node) if node.path == once => begun(node),
            Change::Put(_)
            | Change::Entry(_)
            | Change::Gone { .. }
            | Change::Init
            | Change::Ready => Vec::new(),
        };
        let calls: Vec<Call> = changes.iter().flat_map(written).collect();
        for call in calls {
            if call.token > self.tracked.last_call {
                self.tracked.last_call = call.token;
                self.check_caller(&InstanceId::new(call.holder));
            }
        }
    }

    fn check_caller(&mut self, caller: &InstanceId) {
        let view = self.observer.view();
        let server = server_of(caller);
        let enabled = server.as_ref().is_some_and(|server| view.is_enabled(server));
        let state = server.as_ref().and_then(|server| view.server_state(server));
        if !view.is_registered(caller) {
            self.fail("S13", format!("{caller} calls back but is not registered"));
        } else if !enabled {
            self.fail("S10", format!("{caller} calls back on a disabled server"));
        } else if state == Some(ServerState::Paused) {
            self.fail("S10", format!("{caller} calls back on a paused server"));
        }
    }
}

/// Returns the calls of a record that have not returned yet.
fn begun(node: &Node) -> Vec<Call> {
    let calls: Calls = serde_json::from_slice(&node.data).unwrap_or_default();
    let both = calls.started.into_iter().chain(calls.completed);
    both.filter(|call| !call.done).collect()
}

#[cfg(test)]
mod tests {
    use reg_center::{Lifetime, Txn};

    use super::super::profile::Profile;
    use super::super::record::Keep;
    use super::super::script::Script;
    use super::*;

    /// Returns a quiet world with a leader.
    fn quiet_world() -> World {
        let mut world = World::new(Script::with(1, Profile::calm(1)), Keep::default());
        world.run_until_quiet();
        assert!(world.violation.is_none() && world.observer.view().leader().is_some());
        world
    }

    fn record(token: u64, holder: &InstanceId, done: bool) -> String {
        format!(
            r#"{{"started":{{"fire":1000,"token":{token},"holder":"{holder}","done":{done}}}}}"#
        )
    }

    #[test]
    fn caller_must_be_registered_and_enabled() {
        let stranger = InstanceId::new("10.0.0.1@-@stranger");
        let rows = [
            ("allowed", None, false, None),
            ("disabled server", Some("DISABLED"), false, Some("S10")),
            ("paused server", Some("PAUSED"), false, Some("S10")),
            ("unregistered instance", None, true, Some("S13")),
        ];
        for (case, server, unknown, expected) in rows {
            let mut world = quiet_world();
            let leader = world.observer.view().leader().cloned().unwrap();
            if let Some(data) = server {
                let server = world.paths.server(&server_of(&leader).unwrap());
                world.operate(&Txn::new().put(server, data));
            }
            let caller = if unknown { &stranger } else { &leader };
            let (once, returned) = (world.paths.once(), record(1, caller, true));
            world.operate(&Txn::new().create(once.clone(), returned, Lifetime::Persistent));
            assert_eq!(world.violation, None, "{case}: a call that has returned");
            world.operate(&Txn::new().put(once, record(1, caller, false)));
            let found = world.violation.as_ref().map(|violation| violation.property.as_str());
            assert_eq!(found, expected, "{case}");
        }
    }
}
