//! What nodes decide, held against what they were told.

use std::collections::BTreeSet;

use coordination::{
    ConfigState, Event, FencingToken, FireTime, Ledger, Reply, Run, RunSource, StartItem, Ticket,
};
use reg_center::{Op, Txn};
use sharding::ShardingItem;

use super::world::World;

/// What a process was told, as far as it decides what may begin there.
#[derive(Debug, Default)]
pub(crate) struct Told {
    paused: bool,
    draining: bool,
    /// The session can be relied upon.
    lease: bool,
    /// The commit on its way that takes the registration away, or has.
    leaves: Option<Ticket>,
    /// The fires that each fire has to catch up with.
    missed: Vec<(FireTime, Vec<FireTime>)>,
    /// Items that were started for a fire without being claimed.
    unclaimed: BTreeSet<(ShardingItem, FireTime)>,
}

impl World {
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other events change nothing here")]
    pub(crate) fn note_told(&mut self, index: usize, event: &Event) {
        let told = &mut self.nodes[index].told;
        match event {
            Event::Paused => told.paused = true,
            Event::Resumed => told.paused = false,
            Event::Drain => told.draining = true,
            Event::Connected { .. } => told.lease = true,
            Event::LeaseExpired => told.lease = false,
            Event::Lost => (told.lease, told.leaves) = (false, None),
            Event::Fire { at, missed, .. } => {
                told.missed.push((*at, missed.clone()));
            }
            Event::Replied { ticket, reply } if told.leaves == Some(*ticket) => {
                let stays = matches!(reply, Reply::Conflict(_) | Reply::NotExecuted);
                told.leaves = told.leaves.filter(|_| !stays);
            }
            _ => {}
        }
    }

    /// Whoever is paused, leaves, or cannot rely on its session decides to begin nothing.
    pub(crate) fn check_commit(&mut self, index: usize, ticket: Ticket, txn: &Txn) {
        let node = &mut self.nodes[index];
        let registration = node.life.as_ref().map(|life| self.paths.instance(life));
        let leaves =
            |op: &Op| matches!(op, Op::Delete { path, .. } if Some(path) == registration.as_ref());
        if txn.ops().iter().any(leaves) {
            node.told.leaves = Some(ticket);
        }
        if !txn.ops().iter().any(|op| self.paths.begins_run(op)) {
            return;
        }
        let Told { paused, draining, lease, .. } = self.nodes[index].told;
        let rows = [
            ("S10", paused, "is paused"),
            ("S12", draining, "leaves"),
            ("S2", !lease, "cannot rely on its session"),
        ];
        for (property, _, state) in rows.into_iter().filter(|(_, holds, _)| *holds) {
            self.fail(property, format!("{index} claims a run although it {state}"));
        }
    }

    /// The same when a run begins: what was claimed before a pause may begin in it.
    pub(crate) fn check_begin(&mut self, index: usize, start: &StartItem) {
        let unclaimed = start.token == FencingToken(0);
        let told = &mut self.nodes[index].told;
        // Requests are known by when they were made, which is not exact here: time stands still for a while.
        let scheduled = unclaimed && start.source != RunSource::Manual;
        let again = scheduled && !told.unclaimed.insert((start.item, start.fire));
        let rows = [
            ("S1a", again, "has begun it before"),
            ("S10", told.paused && unclaimed, "is paused"),
            ("S12", told.leaves.is_some(), "is on its way out"),
            ("S2", !told.lease, "cannot rely on its session"),
        ];
        let StartItem { item, fire, .. } = start;
        for (property, _, state) in rows.into_iter().filter(|(_, holds, _)| *holds) {
            self.fail(
                property,
                format!("{index} begins item {item} for {fire} although it {state}"),
            );
        }
    }

    /// A job that catches up leaves no fire out that it was told of. While the stored configuration cannot be used each instance goes by
    /// the last good one that it has seen, and that may be one without catching up.
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
        let holder = self.nodes.iter().find(|node| node.life.as_ref() == Some(&run.holder));
        let alone = run.merged.is_none();
        let Some(node) = holder.filter(|_| catches_up && alone && last < fire) else { return };
        let left_out =
            |list: &Vec<FireTime>| list.iter().any(|missed| last < *missed && *missed < fire);
        // How far back a list goes is limited, and nobody knows here which one the claim was decided by.
        let lists =
            node.told.missed.iter().filter(|(at, list)| *at == fire || list.contains(&fire));
        let lists: Vec<_> = lists.map(|(_, list)| left_out(list)).collect();
        if !lists.is_empty() && lists.into_iter().all(|left_out| left_out) {
            self.fail("S3", format!("item {item} went from {last} to {fire} and left fires out"));
        }
    }
}
