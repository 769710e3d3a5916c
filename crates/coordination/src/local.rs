//! What an instance knows about itself: not in the registry, and gone with the process.

use std::collections::{BTreeMap, BTreeSet};

use reg_center::Version;
use sharding::{InstanceId, ShardingItem};

use crate::{FencingToken, FireTime, Ledger, Outcome, RunSource};

/// Whether the instance takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It takes part, or will as soon as the registry lets it.
    #[default]
    Active,
    /// It starts nothing more and leaves when nothing runs.
    Draining,
    /// It has left.
    Left,
}

/// A run on this instance, from its claim until the view shows that its end is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalRun {
    /// The life that claimed it; an earlier one after a lost session.
    pub(crate) holder: InstanceId,
    pub(crate) token: FencingToken,
    pub(crate) fire: FireTime,
    pub(crate) source: RunSource,
    /// How it ended; `None` while the job's code runs.
    pub(crate) outcome: Option<Outcome>,
    /// Its ephemeral marks exist, as far as this instance knows.
    pub(crate) shows_running: bool,
    pub(crate) shows_failover: bool,
}

/// An operator's request to run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// What identifies the runs: when the request was noticed here.
    pub(crate) at: FireTime,
    /// The items that have yet to be claimed for it.
    pub(crate) items: BTreeSet<ShardingItem>,
}

/// What an instance knows about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) phase: Phase,
    pub(crate) paused: bool,
    /// The session can be relied upon.
    pub(crate) lease: bool,
    /// The view has shown this life as registered.
    pub(crate) was_registered: bool,
    /// This life may be registered, whatever the view shows.
    pub(crate) maybe_registered: bool,
    /// Claims are under way, or may be: runs can begin without anything being decided any more.
    pub(crate) is_claiming: bool,
    pub(crate) runs: BTreeMap<ShardingItem, LocalRun>,
    /// Items that were perhaps claimed, with the versions of their records before. The view will show whether they were.
    pub(crate) maybe_claimed: BTreeMap<ShardingItem, Version>,
    /// The greatest token of each item that was started here; nothing is started twice.
    pub(crate) started: BTreeMap<ShardingItem, FencingToken>,
    /// The last scheduled fire, until the next one.
    pub(crate) due: Option<FireTime>,
    /// The last scheduled fire that came, due or not.
    pub(crate) last_fire_seen: Option<FireTime>,
    pub(crate) request: Option<Request>,
    /// This process was asked to trigger the job on all instances.
    pub(crate) trigger_wanted: bool,
    /// Instance nodes that were perhaps triggered, with their versions before.
    pub(crate) maybe_triggered: Vec<(InstanceId, Version)>,
    /// The version of this life's node under which an operator's request was seen.
    pub(crate) trigger_seen: Option<Version>,
}

impl Local {
    pub(crate) fn is_active(&self) -> bool {
        self.phase == Phase::Active
    }

    /// Returns true while something runs here, or may begin to without anything being decided any more.
    pub(crate) fn is_busy(&self) -> bool {
        !self.runs.is_empty() || self.is_claiming || !self.maybe_claimed.is_empty()
    }

    /// Returns true if runs may start here.
    pub(crate) fn may_start(&self) -> bool {
        self.is_active() && !self.paused && self.lease
    }

    /// Notes a run that was claimed in the registry. Returns false if it was noted before.
    pub(crate) fn begin(&mut self, item: ShardingItem, ledger: &Ledger) -> bool {
        let Some(run) = ledger.running() else { return false };
        if self.started.get(&item) >= Some(&ledger.token) || self.runs.contains_key(&item) {
            return false;
        }
        self.started.insert(item, ledger.token);
        if let Some(request) = &mut self.request
            && run.source == RunSource::Manual
        {
            request.items.remove(&item);
        }
        let local = LocalRun {
            holder: run.holder.clone(),
            token: ledger.token,
            fire: run.fire,
            source: run.source,
            outcome: None,
            shows_running: true,
            shows_failover: run.source == RunSource::Failover,
        };
        self.runs.insert(item, local);
        true
    }

    /// Notes that the session is over, and with it everything that it owned.
    pub(crate) fn lose_session(&mut self) {
        self.lease = false;
        self.was_registered = false;
        self.maybe_registered = false;
        self.maybe_claimed.clear();
        self.trigger_seen = None;
        for run in self.runs.values_mut() {
            run.shows_running = false;
            run.shows_failover = false;
        }
    }
}
