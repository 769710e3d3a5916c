//! Local state of an instance. It is not in the registry and is lost with the process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reg_center::Version;
use sharding::ShardingItem;

use crate::Versioned;
use crate::gap::Schedules;
use crate::java::memory::JavaMemory;
use crate::protocol::run_request::Triggered;
use crate::runs::{LocalRun, Runs};
use crate::{
    FencingToken, FireTime, Gap, JobConfig, Ledger, OnceStage, Outcome, RequestParameter, Run,
    RunSource,
};

/// Participation of an instance in its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It takes part, or will do so once it is registered.
    #[default]
    Active,
    /// It starts nothing more and leaves once its runs have ended.
    Draining,
    /// It has left.
    Left,
}

/// A due fire with its neighbors in the schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    pub(crate) at: FireTime,
    /// The next scheduled fire.
    pub(crate) next: Option<FireTime>,
    /// Earlier fires that a job with catch-up still runs, in ascending order. `None` if unknown,
    /// because the fire came from the assignment record or the view does not show all items.
    pub(crate) missed: Option<Vec<FireTime>>,
}

impl Due {
    /// Returns the first fire that an item with this last fire has to catch up, and the fire after
    /// it.
    pub(crate) fn missed_after(&self, last: FireTime) -> Option<(FireTime, FireTime)> {
        let mut later = self.missed.iter().flatten().copied().filter(|fire| *fire > last);
        let fire = later.next()?;
        Some((fire, later.next().unwrap_or(self.at)))
    }
}

/// A manual request for items of an unmonitored job. The registry has no record of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnmonitoredRequest {
    /// The time at which this instance noticed the request. It identifies the runs.
    pub(crate) at: FireTime,
    /// The items that have not run for it yet.
    pub(crate) items: BTreeSet<ShardingItem>,
}

/// A manual request that this process has to write to the registry and has not seen there yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WantedTrigger {
    /// The time of the request. It identifies the runs.
    pub(crate) at: FireTime,
    pub(crate) way: RequestWay,
    /// The parameter that its runs receive.
    pub(crate) parameter: Option<RequestParameter>,
}

impl WantedTrigger {
    pub(crate) fn new(at: FireTime, parameter: Option<RequestParameter>) -> Self {
        Self { at, way: RequestWay::Here, parameter }
    }
}

/// Progress of a manual request on its way to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestWay {
    /// It was not sent.
    Here,
    /// This incarnation has sent it and repeats it until the view shows it. No other instance
    /// removes it while this incarnation is registered.
    Sent,
    /// A former incarnation has sent it. It may have been answered and removed meanwhile, so
    /// sending it again could run the items twice.
    InDoubt,
}

/// A bounded wait on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wait {
    /// Start of the wait.
    pub(crate) since: Duration,
    /// True if the bound is reached.
    pub(crate) over: bool,
}

impl Wait {
    /// Returns the wait as of `now`: the known one continued, or a new one.
    pub(crate) fn on(known: Option<Self>, now: Duration, patience: Duration) -> Self {
        let since = known.map_or(now, |known| known.since);
        Self { since, over: since + patience <= now }
    }
}

/// A once-per-cluster callback that this instance calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalCall {
    pub token: FencingToken,
    /// True if it has returned.
    pub done: bool,
}

/// Claims of one item whose commits have an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnknownClaim {
    /// The version of the item's record before the last of these claims.
    pub before: Version,
    /// The configurations that these claims have checked, each once.
    pub configs: Vec<Versioned<Arc<JobConfig>>>,
}

impl UnknownClaim {
    /// Adds another claim. Keeps all configurations, because any of the claims may have succeeded.
    pub(crate) fn add(&mut self, before: Version, config: Option<&Versioned<Arc<JobConfig>>>) {
        self.before = self.before.max(before);
        let is_new =
            |config: &&Versioned<_>| self.configs.iter().all(|c| c.version != config.version);
        self.configs.extend(config.filter(is_new).cloned());
    }
}

/// Local state of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Local {
    /// Whether the instance takes part.
    pub phase: Phase,
    pub(crate) paused: bool,
    /// True while the session surely lives.
    pub lease: bool,
    /// True if the view has shown this incarnation as registered.
    pub(crate) was_registered: bool,
    /// True if this incarnation may be registered although the view does not show it.
    pub(crate) maybe_registered: bool,
    /// True while claims may be in flight: their runs can start without another decision.
    pub is_claiming: bool,
    /// True while the reply to the registration is due, which brings the registry's time.
    pub(crate) awaits_time: bool,
    /// The runs of this process.
    pub runs: Runs,
    /// Claims with an unknown outcome, by item. The view decides them.
    pub maybe_claimed: BTreeMap<ShardingItem, UnknownClaim>,
    /// The greatest token started here for each item, so that no run starts twice.
    pub(crate) started: BTreeMap<ShardingItem, FencingToken>,
    /// The present due fire. The next fire replaces it.
    pub due: Option<Due>,
    /// The last scheduled fire that this instance has seen, due or not.
    pub(crate) last_fire_seen: Option<FireTime>,
    /// The schedules that this process has seen in force.
    pub(crate) schedules: Schedules,
    /// The last gaps of each item that this process reported, in the order of the reports.
    pub(crate) gaps_reported: BTreeMap<ShardingItem, Vec<Gap>>,
    /// A fire of an unmonitored job that waits until the owners or the registry's time are known.
    pub(crate) unmonitored_fire: Option<FireTime>,
    /// An operator's request to run items of a job without monitoring.
    pub unmonitored_request: Option<UnmonitoredRequest>,
    /// Manual requests that this process has to write to the registry, by id.
    pub wanted_triggers: BTreeMap<String, WantedTrigger>,
    /// The time of the last manual request of this process.
    pub(crate) last_request: Option<FireTime>,
    /// The operator's request seen at the node of this incarnation.
    pub trigger_seen: Option<Triggered>,
    /// Start of the wait for orphaned runs, on the monotonic clock. Each takeover restarts it.
    pub orphans_since: Option<Duration>,
    pub(crate) java: JavaMemory,
    /// Callbacks of this instance that are in progress, or whose return is not recorded yet.
    pub calls: BTreeMap<OnceStage, LocalCall>,
}

impl Local {
    pub(crate) fn is_active(&self) -> bool {
        self.phase == Phase::Active
    }

    /// Returns true while something runs here, or may start without another decision.
    pub(crate) fn is_busy(&self) -> bool {
        !self.runs.is_empty()
            || self.is_claiming
            || !self.maybe_claimed.is_empty()
            || !self.calls.is_empty()
    }

    /// Adds a claimed run. Returns false if it has already started, or if the former run of its
    /// item has not ended here. `unseen_after` is the version of the record before the claim,
    /// unless the view shows a later one.
    pub(crate) fn begin(
        &mut self,
        item: ShardingItem,
        ledger: &Ledger,
        lasting: bool,
        unseen_after: Option<Version>,
    ) -> bool {
        let again = self.started.get(&item) >= Some(&ledger.token);
        if again {
            return false;
        }
        let Some(run) = ledger.running() else { return false };
        let local = local_run(run, ledger.token, lasting);
        self.note(item, LocalRun { unseen_after, ..local })
    }

    /// Adds a run that the record assigns to this instance, but that no code executes, as
    /// interrupted.
    pub(crate) fn give_up(&mut self, item: ShardingItem, ledger: &Ledger, lasting: bool) {
        if let Some(run) = ledger.running() {
            let local = local_run(run, ledger.token, lasting);
            self.note(item, LocalRun { outcome: Some(Outcome::Interrupted), ..local });
        }
    }

    /// Adds a run, unless another run of the item has not ended here.
    fn note(&mut self, item: ShardingItem, run: LocalRun) -> bool {
        if self.runs.has(item) {
            return false;
        }
        let started = self.started.entry(item).or_insert(run.token);
        *started = run.token.max(*started);
        self.runs.insert(item, run);
        true
    }

    /// Marks sent requests as in doubt: replies to commits of this incarnation no longer arrive.
    pub(crate) fn put_requests_in_doubt(&mut self) {
        for wanted in self.wanted_triggers.values_mut().filter(|w| w.way == RequestWay::Sent) {
            wanted.way = RequestWay::InDoubt;
        }
    }

    /// Records the end of the session and of all nodes that it owned.
    pub(crate) fn lose_session(&mut self) {
        // The registry rejects commits of an ended session, so claims in doubt cannot succeed
        // later. A claim that did succeed is swept, because its holder is gone.
        self.lease = false;
        self.was_registered = false;
        self.maybe_registered = false;
        self.maybe_claimed.clear();
        self.calls.clear();
        self.java.lose_session();
        self.trigger_seen = None;
        self.put_requests_in_doubt();
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
