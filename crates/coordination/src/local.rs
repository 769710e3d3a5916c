//! What an instance knows about itself: not in the registry, and gone with the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reg_center::Version;
use sharding::ShardingItem;

use crate::gap::Schedules;
use crate::java::foreign::Foreign;
use crate::java::latch::Latch;
use crate::runs::{LocalRun, Runs};
use crate::view::{Triggered, Versioned};
use crate::{
    FencingToken, FireTime, Gap, JobConfig, Ledger, OnceStage, Outcome, RequestParameter, Run,
    RunSource,
};

/// Whether the instance takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It takes part, or will as soon as the registry lets it.
    #[default]
    Active,
    /// It starts nothing more and leaves when nothing runs.
    Draining,
    /// It has left.
    Left,
}

/// A scheduled fire that has come, with what surrounds it in the schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    pub(crate) at: FireTime,
    /// What the schedule has next.
    pub(crate) next: Option<FireTime>,
    /// Fires before it that a job which catches up still runs, in ascending order. `None`: nobody can say, because it
    /// was found in the assignment, or not all items are shown.
    pub(crate) missed: Option<Vec<FireTime>>,
}

impl Due {
    /// Returns the first fire that an item with this last fire has to catch up with, and what follows it.
    pub(crate) fn missed_after(&self, last: FireTime) -> Option<(FireTime, FireTime)> {
        let mut later = self.missed.iter().flatten().copied().filter(|fire| *fire > last);
        let fire = later.next()?;
        Some((fire, later.next().unwrap_or(self.at)))
    }
}

/// An operator's request to run items of a job that is not monitored: nothing about it is in the registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnmonitoredRequest {
    /// What identifies the runs: when the request was noticed here.
    pub(crate) at: FireTime,
    /// The items that have yet to run for it.
    pub(crate) items: BTreeSet<ShardingItem>,
}

/// A request that this process was asked to leave in the registry, and has not seen there yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WantedTrigger {
    /// When it was asked for: it identifies the runs.
    pub(crate) at: FireTime,
    pub(crate) way: RequestWay,
    /// What the runs are told.
    pub(crate) parameter: Option<RequestParameter>,
}

impl WantedTrigger {
    pub(crate) fn new(at: FireTime, parameter: Option<RequestParameter>) -> Self {
        Self { at, way: RequestWay::Here, parameter }
    }
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestWay {
    /// It was not sent.
    Here,
    /// This life has sent it, and sends it again until it is seen: nobody else takes it away while this life is
    /// registered.
    Sent,
    /// A former life has sent it. It may have arrived, been passed on, and been taken away as that of somebody who is
    /// gone: to send it again might run the items twice.
    InDoubt,
}

/// How long something has lasted that is waited for with patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wait {
    /// On the monotonic clock.
    pub(crate) since: Duration,
    /// It has lasted for longer than that.
    pub(crate) over: bool,
}

impl Wait {
    /// Returns how long it has lasted now.
    pub(crate) fn on(known: Option<Self>, now: Duration, patience: Duration) -> Self {
        let since = known.map_or(now, |known| known.since);
        Self { since, over: since + patience <= now }
    }
}

/// A once-per-cluster callback that this instance calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalCall {
    /// The token of the call.
    pub token: FencingToken,
    /// Whether it has returned.
    pub done: bool,
}

/// What there was before claims of an item whose outcomes nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Doubt {
    /// The version of the item's record, before the last of them.
    pub before: Version,
    /// The configurations that they have checked, each once.
    pub configs: Vec<Versioned<Arc<JobConfig>>>,
}

impl Doubt {
    /// Any of the claims may be the one that was executed: the configurations of all are kept.
    pub(crate) fn again(&mut self, before: Version, config: Option<&Versioned<Arc<JobConfig>>>) {
        self.before = self.before.max(before);
        let is_new =
            |config: &&Versioned<_>| self.configs.iter().all(|c| c.version != config.version);
        self.configs.extend(config.filter(is_new).cloned());
    }
}

/// What an instance knows about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Local {
    /// Whether the instance takes part.
    pub phase: Phase,
    pub(crate) paused: bool,
    /// The session can be relied upon.
    pub lease: bool,
    /// The view has shown this life as registered.
    pub(crate) was_registered: bool,
    /// This life may be registered, whatever the view shows.
    pub(crate) maybe_registered: bool,
    /// Claims are under way, or may be: runs can begin without anything being decided any more.
    pub is_claiming: bool,
    /// The reply to the registration is on its way, and the registry's time is not known before it comes.
    pub(crate) awaits_time: bool,
    /// The runs that have begun here.
    pub runs: Runs,
    /// Items that were perhaps claimed. The view will show whether they were.
    pub maybe_claimed: BTreeMap<ShardingItem, Doubt>,
    /// The greatest token of each item that was started here; nothing is started twice.
    pub(crate) started: BTreeMap<ShardingItem, FencingToken>,
    /// The last scheduled fire, until the next one.
    pub due: Option<Due>,
    /// The last scheduled fire that came, due or not.
    pub(crate) last_fire_seen: Option<FireTime>,
    /// The schedules that this process has seen in force.
    pub(crate) schedules: Schedules,
    /// The last gaps of each item that this process reported, in the order of the reports.
    pub(crate) gaps_reported: BTreeMap<ShardingItem, Vec<Gap>>,
    /// A fire of a job that is not monitored, which waits until a Java leader has assigned items anew.
    pub(crate) unmonitored_fire: Option<FireTime>,
    /// An operator's request to run a job that is not monitored.
    pub unmonitored_request: Option<UnmonitoredRequest>,
    /// Requests that this process was asked to leave in the registry, by their ids.
    pub wanted_triggers: BTreeMap<String, WantedTrigger>,
    /// What identifies the last request that this process was asked for.
    pub(crate) last_request: Option<FireTime>,
    /// The wish of an operator that was seen at this life.
    pub trigger_seen: Option<Triggered>,
    /// Since when there are runs that wait to be taken over, and none was by this instance, on the monotonic clock.
    pub orphans_since: Option<Duration>,
    /// Since when it stands in line at a latch without being the first.
    pub(crate) latch_waits: BTreeMap<Latch, Wait>,
    /// Since when Java instances are told that items will be assigned anew, if this instance leads.
    pub(crate) announced: Option<Wait>,
    /// When the fire is over that the leader lets go by before it moves anything among Java instances, on the monotonic clock.
    pub(crate) near_fire: Option<Duration>,
    /// What is seen of Java instances.
    pub(crate) foreign: Foreign,
    /// Callbacks that this instance is calling, or has called without that being recorded.
    pub calls: BTreeMap<OnceStage, LocalCall>,
}

impl Local {
    pub(crate) fn is_active(&self) -> bool {
        self.phase == Phase::Active
    }

    /// Returns true while something runs here, or may begin to without anything being decided any more.
    pub(crate) fn is_busy(&self) -> bool {
        !self.runs.is_empty()
            || self.is_claiming
            || !self.maybe_claimed.is_empty()
            || !self.calls.is_empty()
    }

    /// Returns true if runs may start here.
    pub(crate) fn may_start(&self) -> bool {
        self.is_active() && !self.paused && self.lease
    }

    /// Notes a run that was claimed in the registry. Returns false if it was noted before.
    /// `unseen_after` is the version of the record before the claim, unless the view shows a later one.
    pub(crate) fn begin(
        &mut self,
        item: ShardingItem,
        ledger: &Ledger,
        lasting: bool,
        unseen_after: Option<Version>,
    ) -> bool {
        let again = self.started.get(&item) >= Some(&ledger.token);
        let run = ledger.running().filter(|_| !again);
        run.is_some_and(|run| {
            let local = local_run(run, ledger.token, lasting);
            self.note(item, LocalRun { unseen_after, ..local })
        })
    }

    /// Notes a run that the record shows as one of this instance, and that no code here executes, as interrupted.
    pub(crate) fn give_up(&mut self, item: ShardingItem, ledger: &Ledger, lasting: bool) {
        if let Some(run) = ledger.running() {
            let local = local_run(run, ledger.token, lasting);
            self.note(item, LocalRun { outcome: Some(Outcome::Interrupted), ..local });
        }
    }

    /// Notes a run, unless another one of its item has not ended here.
    fn note(&mut self, item: ShardingItem, run: LocalRun) -> bool {
        if self.runs.has(item) {
            return false;
        }
        let started = self.started.entry(item).or_insert(run.token);
        *started = run.token.max(*started);
        self.runs.insert(item, run);
        true
    }

    /// Notes that this life is over: nobody answers for what it has sent.
    pub(crate) fn doubt_requests(&mut self) {
        for wanted in self.wanted_triggers.values_mut().filter(|w| w.way == RequestWay::Sent) {
            wanted.way = RequestWay::InDoubt;
        }
    }

    /// Notes that the session is over, and with it everything that it owned.
    pub(crate) fn lose_session(&mut self) {
        self.lease = false;
        self.was_registered = false;
        self.maybe_registered = false;
        self.maybe_claimed.clear();
        self.calls.clear();
        self.latch_waits.clear();
        self.announced = None;
        self.near_fire = None;
        self.trigger_seen = None;
        self.doubt_requests();
        self.runs.change_all(|run| {
            run.shows_running &= run.lasting;
            run.shows_failover = false;
            run.shows_alive = false;
        });
    }
}

fn local_run(run: &Run, token: FencingToken, lasting: bool) -> LocalRun {
    LocalRun {
        holder: run.holder.clone(),
        token,
        fire: run.fire,
        source: run.source,
        outcome: None,
        failure: None,
        unseen_after: None,
        shows_running: true,
        shows_failover: run.source == RunSource::Failover,
        lasting,
        shows_alive: lasting,
        shows_failovering: lasting && run.source == RunSource::Failover,
    }
}
