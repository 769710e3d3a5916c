//! Checks of the nodes' decisions against the events that they have received.

use std::collections::BTreeSet;

use coordination::{
    ConfigState, Event, FencingToken, FireTime, Ledger, Reply, Run, RunSource, StartItem, Ticket,
};
use reg_center::{Op, Txn};
use sharding::ShardingItem;

use super::world::World;

/// State of a process by its received events, as far as it limits what the process may start.
#[derive(Debug, Default)]
pub(crate) struct Received {
    paused: bool,
    draining: bool,
    /// True while the process can rely on its session.
    lease: bool,
    /// Ticket of the pending or executed commit that deletes the registration.
    leaves: Option<Ticket>,
    /// For each fire, the earlier fires that it has to catch up.
    missed: Vec<(FireTime, Vec<FireTime>)>,
    /// Items that were started for a fire without a claim.
    unclaimed: BTreeSet<(ShardingItem, FireTime)>,
}

impl World {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other events do not affect this state")]
    pub(crate) fn note_received(&mut self, index: usize, event: &Event) {
        let received = &mut self.nodes[index].received;
        match event {
            Event::Paused => received.paused = true,
            Event::Resumed => received.paused = false,
            Event::Drain => received.draining = true,
            Event::Connected { .. } => received.lease = true,
            Event::LeaseExpired => received.lease = false,
            Event::Lost => (received.lease, received.leaves) = (false, None),
            Event::Fire { at, missed, .. } => {
                received.missed.push((*at, missed.clone()));
            }
            Event::Replied { ticket, reply } if received.leaves == Some(*ticket) => {
                let stays = matches!(reply, Reply::Conflict(_) | Reply::NotExecuted);
                received.leaves = received.leaves.filter(|_| !stays);
            }
            _ => {}
        }
    }

    /// Checks that a process that is paused, leaving or without a lease claims nothing.
    pub(crate) fn check_commit(&mut self, index: usize, ticket: Ticket, txn: &Txn) {
        self.note_expiries(index, txn);
        let node = &mut self.nodes[index];
        let registration = node.instance.as_ref().map(|instance| self.paths.instance(instance));
        let leaves =
            |op: &Op| matches!(op, Op::Delete { path, .. } if Some(path) == registration.as_ref());
        if txn.ops().iter().any(leaves) {
            node.received.leaves = Some(ticket);
        }
        if !txn.ops().iter().any(|op| self.paths.begins_run(op)) {
            return;
        }
        let Received { paused, draining, lease, .. } = self.nodes[index].received;
        let rows = [
            ("S10", paused, "is paused"),
            ("S12", draining, "is draining"),
            ("S2", !lease, "cannot rely on its session"),
        ];
        for (property, _, state) in rows.into_iter().filter(|(_, holds, _)| *holds) {
            self.fail(property, format!("node {index} claims a run although it {state}"));
        }
    }

    /// As [`check_commit`](Self::check_commit), for the start of a run. A run that was claimed
    /// before a pause may start during it.
    pub(crate) fn check_begin(&mut self, index: usize, start: &StartItem) {
        let unclaimed = start.token == FencingToken::UNFENCED;
        let received = &mut self.nodes[index].received;
        // The time of a request is not a unique id here, because virtual time can stand still.
        let scheduled = unclaimed && start.source != RunSource::Manual;
        let again = scheduled && !received.unclaimed.insert((start.item, start.fire));
        let rows = [
            ("S1a", again, "has started it before"),
            ("S10", received.paused && unclaimed, "is paused"),
            ("S12", received.leaves.is_some(), "is deleting its registration"),
            ("S2", !received.lease, "cannot rely on its session"),
        ];
        let StartItem { item, fire, .. } = start;
        for (property, _, state) in rows.into_iter().filter(|(_, holds, _)| *holds) {
            self.fail(
                property,
                format!("node {index} starts item {item} for {fire} although it {state}"),
            );
        }
    }

    /// Checks that a job with catch-up skips no fire that the holder had to catch up.
    ///
    /// While the stored configuration is invalid, each instance uses the last valid one that it has
    /// seen, which may be without catch-up.
    pub(crate) fn check_caught_up(
        &mut self,
        item: ShardingItem,
        old: &Ledger,
        new: &Ledger,
        run: &Run,
    ) {
        let catches_up = match self.observer.view().config_state() {
            ConfigState::Valid(config) => config.value.catch_up.is_some(),
            ConfigState::Absent | ConfigState::Invalid { .. } => false,
        };
        let (Some(last), Some(fire)) = (old.last_fire, new.last_fire) else { return };
        let holder = self.nodes.iter().find(|node| node.instance.as_ref() == Some(&run.holder));
        let alone = run.merged.is_none();
        let Some(node) = holder.filter(|_| catches_up && alone && last < fire) else { return };
        let left_out =
            |list: &Vec<FireTime>| list.iter().any(|missed| last < *missed && *missed < fire);
        // The list is limited in length, and the one that the claim was planned by is not known
        // here.
        let lists =
            node.received.missed.iter().filter(|(at, list)| *at == fire || list.contains(&fire));
        let lists: Vec<_> = lists.map(|(_, list)| left_out(list)).collect();
        if !lists.is_empty() && lists.into_iter().all(|left_out| left_out) {
            self.fail(
                "S3",
                format!("item {item} went from fire {last} to {fire} and skipped fires in between"),
            );
        }
    }
}
