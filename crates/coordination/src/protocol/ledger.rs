//! The item ledger: one record for each sharding item, changed only by compare-and-set.
//!
//! The record contains everything that decides about runs of the item. The instance whose write
//! succeeds has won the claim, and the sequence of records is the history of the item. A record is
//! never deleted while the job exists.

use std::fmt;
use std::sync::Arc;

use reg_center::Version;
use sharding::InstanceId;

use crate::gap::MAX_GAPS;
use crate::{FailureReason, FencingToken, FireTime, Gap, RequestParameter};

/// Source of a run: the reason why an item runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunSource {
    /// A scheduled fire.
    Normal,
    /// Misfires: fires that met the busy item, run once afterwards.
    Misfire,
    /// A takeover of an orphaned run.
    Failover,
    /// A manual request of an operator.
    Manual,
}

impl RunSource {
    /// Returns the word on the wire: `NORMAL`, `MISFIRE`, `FAILOVER` or `MANUAL`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Misfire => "MISFIRE",
            Self::Failover => "FAILOVER",
            Self::Manual => "MANUAL",
        }
    }
}

impl fmt::Display for RunSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Outcome of a fire of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The job's code returned without an error.
    Succeeded,
    /// The job's code returned an error.
    Failed,
    /// The job's code panicked.
    Panicked,
    /// The job's code did not end within its time limit.
    TimedOut,
    /// The run was cancelled, or its holder was lost, and no instance takes it over.
    Interrupted,
    /// The item was disabled when the fire was due.
    Disabled,
}

impl Outcome {
    /// Returns the word on the wire, in lower case.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Scheduled fires that were merged into one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FireRange {
    /// First fire.
    pub first: FireTime,
    /// Last fire. Its time identifies the run that stands for all of them.
    pub last: FireTime,
    /// Number of noted fires, at least 1. Fires in between that no instance noted are gaps.
    pub count: u32,
}

impl FireRange {
    fn extended_by(range: Option<Self>, fire: FireTime) -> Self {
        match range {
            // A fire that comes late, or twice, must not lower the end.
            Some(range) if range.last >= fire => range,
            Some(range) => Self { last: fire, count: range.count.saturating_add(1), ..range },
            None => Self { first: fire, last: fire, count: 1 },
        }
    }
}

impl fmt::Display for FireRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "the fire of {}", self.last),
            count => write!(f, "{count} fires from {} to {}", self.first, self.last),
        }
    }
}

/// A manual request in the record of an item, until an instance claims the item for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ManualRequest {
    /// Id of the request.
    pub id: Arc<str>,
    /// Time of the request, an odd number of milliseconds since 1970 UTC. It identifies the run:
    /// scheduled fires come on whole seconds.
    pub at: FireTime,
    /// Parameter of the run.
    pub parameter: Option<RequestParameter>,
}

/// The instance that claims an item, with the time and the configuration of the claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claimant {
    /// Id of the instance, for this incarnation.
    pub holder: InstanceId,
    /// Registry version of the configuration that the run will use.
    pub config: Version,
    /// Time of the claim by the clock of the claimant, in milliseconds since 1970 UTC.
    pub now_ms: i64,
}

/// A run in progress, or an orphaned one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Instance that claimed the run.
    pub holder: InstanceId,
    /// Scheduled fire time, or the time of the request.
    pub fire: FireTime,
    /// Source of the run.
    pub source: RunSource,
    /// Fires that the run stands for, if more than its own.
    pub merged: Option<FireRange>,
    /// Parameter of the manual request. A takeover keeps it.
    pub parameter: Option<RequestParameter>,
}

impl Run {
    /// Returns true if the run, or the run that it took over, is for a scheduled fire.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        is_scheduled(self.source, self.fire)
    }
}

pub(crate) fn is_scheduled(source: RunSource, fire: FireTime) -> bool {
    // A takeover has the source `Failover`. Then the odd time shows that the run is a manual one.
    source != RunSource::Manual && fire.0 % 2 == 0
}

/// State of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LedgerState {
    /// No instance runs the item.
    Idle,
    /// The holder runs the item.
    Running(Run),
    /// The holder is gone or gave the run up. The run waits for a takeover.
    Orphan(Run),
    /// The job has fewer items now. The record stays, so that fencing tokens continue if the item
    /// comes back.
    Retired,
}

/// The ledger record of one item.
///
/// Each transition of the protocol is a method. It returns the next record, or `None` if the
/// protocol does not allow the transition.
///
/// # Examples
/// ```
/// use coordination::{Claimant, FireTime, Ledger, Outcome};
/// use reg_center::Version;
/// use sharding::InstanceId;
///
/// let by = |id| Claimant { holder: InstanceId::new(id), config: Version(0), now_ms: 1_003 };
/// let claimed = Ledger::new(None)
///     .claim(&by("10.0.0.1@-@7"), FireTime(1_000), Some(FireTime(2_000)))
///     .expect("an idle item can be claimed");
/// assert_eq!(claimed.token.0, 1);
/// assert_eq!(claimed.claim(&by("10.0.0.2@-@9"), FireTime(2_000), None), None);
/// let done = claimed.complete(Outcome::Succeeded, 1_250).expect("the item is running");
/// assert_eq!(done.last_fire, Some(FireTime(1_000)));
/// assert_eq!(done.gap_before(FireTime(3_000)), Some(FireTime(2_000)), "a gap");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// State of the item.
    pub state: LedgerState,
    /// Last scheduled fire that was claimed or accounted for. Only an operator can lower it.
    pub last_fire: Option<FireTime>,
    /// Scheduled fire before `last_fire`. The schedule's fires in between were missed.
    pub previous_fire: Option<FireTime>,
    /// Next fire in the schedule after the last fire that was claimed, skipped or noted, by the
    /// schedule at that time.
    pub next_fire: Option<FireTime>,
    /// Registry version of the configuration whose schedule has `next_fire`, if it is not `config`.
    pub next_config: Option<Version>,
    /// Last gaps, oldest first. A gap stays until its event is surely reported: the instance that
    /// found it may be lost before that.
    pub gaps: Vec<Gap>,
    /// Fencing token of the last claim.
    pub token: FencingToken,
    /// Registry version of the configuration that the last claim checked.
    pub config: Option<Version>,
    /// Fires that met the busy item and wait for one run.
    pub misfire: Option<FireRange>,
    /// Manual request that waits for a run.
    pub request: Option<ManualRequest>,
    /// An operator has disabled the item. The leader keeps this equal to the item's `disabled`
    /// node, so that a claim by a stale view conflicts.
    pub disabled: bool,
    /// Outcome of the last run.
    pub outcome: Option<Outcome>,
    /// Reason of the last failure. `None` once a run has succeeded.
    pub failure: Option<FailureReason>,
    /// Time of the last claim by its holder's clock, in milliseconds since 1970 UTC.
    pub began_ms: Option<i64>,
    /// End of the last run by the clock of the instance that recorded it, in milliseconds since
    /// 1970 UTC.
    pub ended_ms: Option<i64>,
}

impl Ledger {
    /// Returns the record of a new item, which does not owe fires up to `born`.
    #[must_use]
    pub fn new(born: Option<FireTime>) -> Self {
        Self {
            state: LedgerState::Idle,
            last_fire: born,
            previous_fire: None,
            next_fire: None,
            next_config: None,
            gaps: Vec::new(),
            token: FencingToken(0),
            config: None,
            misfire: None,
            request: None,
            disabled: false,
            outcome: None,
            failure: None,
            began_ms: None,
            ended_ms: None,
        }
    }

    /// Returns true if no instance runs the item and no run waits for a takeover.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state == LedgerState::Idle
    }

    /// Returns true if the item is idle and enabled, without misfires and requests.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_idle() && self.misfire.is_none() && self.request.is_none() && !self.disabled
    }

    /// Returns true while a run is in progress or orphaned. Such an item keeps its owner.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.run().is_some()
    }

    /// Returns the run in progress, or the orphaned one.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        match &self.state {
            LedgerState::Running(run) | LedgerState::Orphan(run) => Some(run),
            LedgerState::Idle | LedgerState::Retired => None,
        }
    }

    /// Returns the maximum size of parameters and failure reasons in the record's document, in
    /// bytes.
    pub(crate) fn parameter_bytes(&self) -> usize {
        let of_run = self.run().and_then(|run| run.parameter.as_ref());
        let of_request = self.request.as_ref().and_then(|request| request.parameter.as_ref());
        let failure = self.failure.as_ref().map_or(0, FailureReason::json_bytes);
        let parameters = of_run.into_iter().chain(of_request).map(RequestParameter::json_bytes);
        parameters.sum::<usize>() + failure
    }

    /// Returns the record without the times at which its run began and ended.
    pub(crate) fn untimed(&self) -> Self {
        Self { began_ms: None, ended_ms: None, ..self.clone() }
    }

    /// Describes the state of the item in a few words, for plans and dumps. Times are in
    /// milliseconds.
    #[must_use]
    pub fn summary(&self) -> String {
        let run = |word: &str, run: &Run| {
            format!(
                "{word} {} for {} by {}, token {}",
                run.source, run.fire.0, run.holder, self.token
            )
        };
        let mut text = match &self.state {
            LedgerState::Idle => match self.outcome {
                Some(outcome) => format!("idle, last {outcome}"),
                None => "idle".to_owned(),
            },
            LedgerState::Running(of) => run("running", of),
            LedgerState::Orphan(of) => run("orphan", of),
            LedgerState::Retired => "retired".to_owned(),
        };
        if let Some(FireRange { first, last, count }) = self.misfire {
            text.push_str(&format!(", misfired {}..={} ({count})", first.0, last.0));
        }
        if let Some(request) = &self.request {
            text.push_str(&format!(", asked for at {}", request.at.0));
        }
        if self.disabled {
            text.push_str(", disabled");
        }
        text
    }

    /// Returns the run in progress.
    #[must_use]
    pub fn running(&self) -> Option<&Run> {
        match &self.state {
            LedgerState::Running(run) => Some(run),
            LedgerState::Idle | LedgerState::Orphan(_) | LedgerState::Retired => None,
        }
    }

    /// Returns true if `holder` runs the item under `token`.
    #[must_use]
    pub fn is_held(&self, holder: &InstanceId, token: FencingToken) -> bool {
        self.token == token && self.running().is_some_and(|run| run.holder == *holder)
    }

    /// Returns true if a scheduled fire is settled: claimed, accounted for without a run, or noted
    /// as a misfire.
    #[must_use]
    pub fn has_settled(&self, fire: FireTime) -> bool {
        self.settled_until() >= Some(fire)
    }

    /// Returns the last settled fire.
    #[must_use]
    pub fn settled_until(&self) -> Option<FireTime> {
        let noted = self.misfire.map(|range| range.last);
        self.last_fire.max(noted)
    }

    /// Returns the next fire in the schedule after the last settled one, if the record contains it,
    /// and the registry version of the configuration with that schedule.
    #[must_use]
    pub fn next_owed(&self) -> (Option<FireTime>, Option<Version>) {
        // A misfire that was noted later may lie beyond the stored next fire.
        let next = self.next_fire.filter(|next| Some(*next) > self.settled_until());
        (next, self.next_config.or(self.config))
    }

    /// Returns the first fire of the gap before `fire`, if `fire` is the next one to be claimed,
    /// noted or skipped.
    #[must_use]
    pub fn gap_before(&self, fire: FireTime) -> Option<FireTime> {
        self.next_owed().0.filter(|next| *next < fire)
    }

    /// Sets the next fire after the last settled one, by the schedule of a configuration.
    pub(crate) fn followed_by(self, next: Option<FireTime>, config: Version) -> Self {
        let is_other = next.is_some() && self.config != Some(config);
        Self { next_fire: next, next_config: is_other.then_some(config), ..self }
    }

    /// Adds gaps, and removes those that this process has reported.
    pub(crate) fn with_gaps(
        mut self,
        gaps: impl IntoIterator<Item = Gap>,
        reported: &[Gap],
    ) -> Self {
        self.gaps.retain(|known| !known.is_among(reported));
        self.gaps.extend(gaps);
        // A dropped gap would never be reported. A merged one is, although without a count.
        while self.gaps.len() > MAX_GAPS
            && let [oldest, next, ..] = *self.gaps
        {
            self.gaps.splice(..2, [oldest.merged_with(next)]);
        }
        self
    }

    /// Idle → running for a scheduled fire, together with earlier noted misfires. `next` is the
    /// next fire in the schedule.
    #[must_use]
    pub fn claim(&self, by: &Claimant, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        let already_claimed = self.last_fire >= Some(fire);
        if !self.is_claimable() || already_claimed {
            return None;
        }
        // The run stands for the noted misfires, too: they need no run of their own.
        let merged = self.misfire.map(|range| FireRange::extended_by(Some(range), fire));
        let (holder, source) = (by.holder.clone(), RunSource::Normal);
        let run = Run { holder, fire, source, merged, parameter: None };
        Some(Self { misfire: None, ..self.with_run(by, run).with_last_fire(fire, next) })
    }

    /// Idle → running for one scheduled fire that no instance ran in its time. Later fires get runs
    /// of their own. Not while misfires wait: their run comes first.
    #[must_use]
    pub fn catch_up(&self, by: &Claimant, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        let claimed = self.claim(by, fire, next)?;
        if self.misfire.is_some() {
            return None;
        }
        let LedgerState::Running(run) = claimed.state else { return None };
        let run = Run { source: RunSource::Misfire, ..run };
        Some(Self { state: LedgerState::Running(run), ..claimed })
    }

    /// Idle → running for the noted misfires, once for all of them. `next` is the next fire in the
    /// schedule after the last one.
    #[must_use]
    pub fn replay(&self, by: &Claimant, next: Option<FireTime>) -> Option<Self> {
        let range = self.misfire?;
        if !self.is_claimable() {
            return None;
        }
        let (holder, source) = (by.holder.clone(), RunSource::Misfire);
        let run = Run { holder, fire: range.last, source, merged: Some(range), parameter: None };
        let claimed = Self { misfire: None, ..self.with_run(by, run) };
        if self.last_fire >= Some(range.last) {
            return Some(claimed);
        }
        // The record that noted the last misfire already contains the fire after it.
        let Self { next_fire, next_config, .. } = claimed.clone();
        let settled = claimed.with_last_fire(range.last, next);
        Some(match self.next_owed().0 {
            Some(_) => Self { next_fire, next_config, ..settled },
            None => settled,
        })
    }

    /// Idle → running for a manual request. The last fire of the schedule does not change.
    #[must_use]
    pub fn answer(&self, by: &Claimant) -> Option<Self> {
        let request = self.request.as_ref()?;
        if !self.is_claimable() {
            return None;
        }
        let run = Run {
            holder: by.holder.clone(),
            fire: request.at,
            source: RunSource::Manual,
            merged: None,
            parameter: request.parameter.clone(),
        };
        Some(Self { request: None, ..self.with_run(by, run) })
    }

    fn is_claimable(&self) -> bool {
        self.is_idle() && !self.disabled
    }

    /// Running with the next fencing token.
    fn with_run(&self, by: &Claimant, run: Run) -> Self {
        // `config` changes here: the version of `next_fire` is stored on its own if it differs.
        let next_config = self.next_config.or(self.config);
        let next_config = next_config.filter(|it| self.next_fire.is_some() && *it != by.config);
        Self {
            state: LedgerState::Running(run),
            token: self.token.next(),
            config: Some(by.config),
            next_config,
            began_ms: Some(by.now_ms),
            ended_ms: None,
            ..self.clone()
        }
    }

    pub(crate) fn with_last_fire(self, fire: FireTime, next: Option<FireTime>) -> Self {
        let previous_fire = self.last_fire;
        Self { last_fire: Some(fire), previous_fire, next_fire: next, next_config: None, ..self }
    }

    /// Running → idle: the run ended.
    #[must_use]
    pub fn complete(&self, outcome: Outcome, now_ms: i64) -> Option<Self> {
        self.running()?;
        Some(self.with_ended_run(outcome, now_ms))
    }

    /// Returns the record of an idle item whose last run ended at `now_ms`.
    pub(crate) fn with_ended_run(&self, outcome: Outcome, now_ms: i64) -> Self {
        // An interrupted run does not show that the cause of an earlier failure is gone.
        let keeps_failure = outcome == Outcome::Interrupted;
        let failure = if keeps_failure { self.failure.clone() } else { None };
        let (outcome, ended_ms) = (Some(outcome), Some(now_ms));
        Self { state: LedgerState::Idle, outcome, failure, ended_ms, ..self.clone() }
    }

    /// Sets the reason of the failure, if there is one.
    #[must_use]
    pub fn because(self, failure: Option<FailureReason>) -> Self {
        Self { failure: failure.or(self.failure), ..self }
    }

    /// Raises the fencing token to `token` if it is lower.
    #[must_use]
    pub(crate) fn with_token_at_least(self, token: Option<FencingToken>) -> Self {
        Self { token: token.map_or(self.token, |token| self.token.max(token)), ..self }
    }

    /// Running → orphan: the holder is gone, or gave the run up.
    #[must_use]
    pub fn orphan(&self) -> Option<Self> {
        let run = self.running()?.clone();
        Some(Self { state: LedgerState::Orphan(run), ..self.clone() })
    }

    /// Orphan → running: another instance continues the same fire.
    ///
    /// A disabled item is taken over, too: the run began before the item was disabled.
    #[must_use]
    pub fn take_over(&self, by: &Claimant) -> Option<Self> {
        let LedgerState::Orphan(run) = &self.state else { return None };
        // The next fencing token makes the effects of the former holder stale.
        let (holder, source) = (by.holder.clone(), RunSource::Failover);
        Some(self.with_run(by, Run { holder, source, ..run.clone() }))
    }

    /// Running or orphan → idle: no instance completes the run.
    #[must_use]
    pub fn abandon(&self, now_ms: i64) -> Option<Self> {
        self.run()?;
        Some(self.with_ended_run(Outcome::Interrupted, now_ms))
    }

    /// Busy → busy: a scheduled fire met the run and waits. `next` is the next fire in the
    /// schedule.
    #[must_use]
    pub fn note_misfire(&self, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        if !self.is_busy() || self.has_settled(fire) {
            return None;
        }
        let misfire = Some(FireRange::extended_by(self.misfire, fire));
        Some(Self { misfire, next_fire: next, next_config: None, ..self.clone() })
    }

    /// Idle → idle: a scheduled fire of a disabled item is settled without a run.
    #[must_use]
    pub fn skip_disabled(&self, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        if !self.is_idle() || self.has_settled(fire) {
            return None;
        }
        let outcome = Some(Outcome::Disabled);
        Some(Self { outcome, ..self.clone().with_last_fire(fire, next) })
    }

    /// Any → the same, disabled or enabled by an operator. `None` if nothing changes.
    #[must_use]
    pub fn with_disabled(&self, disabled: bool) -> Option<Self> {
        (self.disabled != disabled).then(|| Self { disabled, ..self.clone() })
    }

    /// Any but retired → the same, with a manual request. `None` while an earlier one waits.
    #[must_use]
    pub fn with_request(&self, request: ManualRequest) -> Option<Self> {
        let free = self.request.is_none();
        // A retired item never runs, so that the request would wait for ever.
        let takes = free && self.state != LedgerState::Retired;
        takes.then(|| Self { request: Some(request), ..self.clone() })
    }

    /// Idle → idle: a manual request to run a disabled item is dropped.
    #[must_use]
    pub fn drop_request(&self) -> Option<Self> {
        self.request.as_ref()?;
        Some(Self { request: None, ..self.clone() })
    }

    /// Idle → idle: a Java instance, which writes no records, owned the item and settled this fire
    /// and all earlier ones.
    #[must_use]
    pub(crate) fn handed_back(&self, fire: FireTime) -> Option<Self> {
        let new = self.is_idle() && self.last_fire < Some(fire);
        new.then(|| Self { misfire: None, ..self.clone().with_last_fire(fire, None) })
    }

    /// Idle → idle: by the mark of a Java instance, which writes no records, fires up to this one
    /// misfired.
    #[must_use]
    pub(crate) fn noted_by_mark(&self, fire: FireTime) -> Option<Self> {
        let new = self.is_idle() && self.misfire.is_none();
        let misfire = Some(FireRange::extended_by(None, fire));
        new.then(|| Self { misfire, ..self.clone() })
    }

    /// Idle → orphan: a Java instance, which writes no records, is gone and has not completed this
    /// fire.
    #[must_use]
    pub(crate) fn orphan_of(&self, holder: &InstanceId, fire: FireTime) -> Option<Self> {
        if !self.is_idle() || self.last_fire >= Some(fire) {
            return None;
        }
        let (holder, source) = (holder.clone(), RunSource::Normal);
        let run = Run { holder, fire, source, merged: None, parameter: None };
        // The fire is settled as well, so that it is taken over but never claimed again.
        Some(Self { state: LedgerState::Orphan(run), ..self.clone().with_last_fire(fire, None) })
    }

    /// Idle or retired → the same, with nothing settled after `present`, the last scheduled fire
    /// until now. An operator repairs the effects of a wrong clock by it.
    ///
    /// This is the only transition that lowers the last fire. Gaps end at `present` at the latest.
    /// `None` while a run is unfinished, and if nothing after `present` is settled.
    #[must_use]
    pub fn settle_back(&self, present: FireTime) -> Option<Self> {
        if self.is_busy() || self.settled_until() <= Some(present) {
            return None;
        }
        // Later misfires come from the wrong clock, too: they are dropped or cut.
        let noted = self.misfire.filter(|range| range.first <= present);
        let is_lowered = self.last_fire > Some(present);
        let gaps = self.gaps.iter().filter_map(|gap| gap.ended_by(present));
        Some(Self {
            last_fire: self.last_fire.min(Some(present)),
            previous_fire: self.previous_fire.filter(|fire| *fire < present),
            next_fire: None,
            next_config: None,
            misfire: noted.map(|range| FireRange { last: range.last.min(present), ..range }),
            gaps: gaps.collect(),
            // The item was disabled at the later fire, but perhaps not at `present`.
            outcome: self.outcome.filter(|of| *of != Outcome::Disabled || !is_lowered),
            ..self.clone()
        })
    }

    /// Idle → retired: the job has fewer items. Misfires and the request are dropped.
    #[must_use]
    pub fn retire(&self) -> Option<Self> {
        let state = LedgerState::Retired;
        self.is_idle().then(|| Self { state, misfire: None, request: None, ..self.clone() })
    }

    /// Returns the last fire that can be in a gap of this record.
    pub(crate) fn last_in_gap(&self) -> Option<FireTime> {
        let last = self.gaps.iter().map(|gap| gap.until.0.saturating_sub(1)).max()?;
        // Scheduled fires come on whole seconds, but a gap can end at the time of a retirement.
        Some(FireTime(last - last.rem_euclid(1_000)))
    }

    /// Retired → idle: the job has more items again. The item does not owe fires up to `born`.
    #[must_use]
    pub fn revive(&self, born: Option<FireTime>) -> Option<Self> {
        (self.state == LedgerState::Retired).then(|| Self {
            state: LedgerState::Idle,
            last_fire: self.last_fire.max(born),
            next_fire: None,
            next_config: None,
            // While it was retired, no fire was skipped because it was disabled.
            outcome: self.outcome.filter(|outcome| *outcome != Outcome::Disabled),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(id: &str) -> Claimant {
        Claimant { holder: InstanceId::new(id), config: Version(0), now_ms: 7 }
    }

    fn me() -> Claimant {
        by("10.0.0.1@-@1")
    }

    fn other() -> Claimant {
        by("10.0.0.2@-@2")
    }

    fn request() -> ManualRequest {
        ManualRequest { id: "r".into(), at: FireTime(9_999), parameter: None }
    }

    fn idle() -> Ledger {
        Ledger::new(Some(FireTime(100)))
    }

    fn running() -> Ledger {
        idle().claim(&me(), FireTime(200), None).unwrap()
    }

    fn orphan() -> Ledger {
        running().orphan().unwrap()
    }

    fn retired() -> Ledger {
        idle().retire().unwrap()
    }

    #[test]
    fn each_transition_is_allowed_in_its_states_only() {
        type Step = fn(&Ledger) -> Option<Ledger>;
        let steps: [(&str, Step, [bool; 4]); 12] = [
            ("claim", |l| l.claim(&other(), FireTime(300), None), [true, false, false, false]),
            ("request", |l| l.with_request(request()), [true, true, true, false]),
            (
                "claim for a request",
                |l| l.with_request(request())?.answer(&other()),
                [true, false, false, false],
            ),
            ("disable", |l| l.with_disabled(true), [true; 4]),
            ("complete", |l| l.complete(Outcome::Succeeded, 0), [false, true, false, false]),
            ("orphan", Ledger::orphan, [false, true, false, false]),
            ("take over", |l| l.take_over(&other()), [false, false, true, false]),
            ("abandon", |l| l.abandon(0), [false, true, true, false]),
            ("note misfire", |l| l.note_misfire(FireTime(300), None), [false, true, true, false]),
            ("skip", |l| l.skip_disabled(FireTime(300), None), [true, false, false, false]),
            ("retire", Ledger::retire, [true, false, false, false]),
            ("revive", |l| l.revive(None), [false, false, false, true]),
        ];
        let states = [
            ("idle", idle()),
            ("running", running()),
            ("orphan", orphan()),
            ("retired", retired()),
        ];
        for (step, apply, allowed) in steps {
            for ((state, ledger), expected) in states.iter().zip(allowed) {
                assert_eq!(apply(ledger).is_some(), expected, "{step} from {state}");
            }
        }
    }

    #[test]
    fn settle_back_needs_an_item_without_a_run() {
        let ahead = |ledger: &Ledger| {
            let run = ledger.claim(&me(), FireTime(9_000), Some(FireTime(9_100))).unwrap();
            run.complete(Outcome::Succeeded, 0).unwrap()
        };
        let present = FireTime(500);
        let once = ahead(&idle()).settle_back(present).unwrap();
        assert_eq!((once.last_fire, once.previous_fire), (Some(present), Some(FireTime(100))));
        assert_eq!((once.next_fire, once.token), (None, ahead(&idle()).token));
        assert_eq!(once.settle_back(present), None, "no settled fire is later");
        assert!(once.claim(&other(), FireTime(600), None).is_some());
        assert_eq!(once.claim(&other(), present, None), None, "it may have been run before");
        let noted = |fires: &[i64]| {
            let note =
                |ledger: Ledger, fire: &i64| ledger.note_misfire(FireTime(*fire), None).unwrap();
            let noted = fires.iter().fold(running(), note);
            noted.complete(Outcome::Succeeded, 0).unwrap()
        };
        let kept = noted(&[300, 9_000]).settle_back(present).unwrap().misfire.unwrap();
        assert_eq!((kept.first, kept.last), (FireTime(300), present));
        assert_eq!(noted(&[9_000]).settle_back(present).unwrap().misfire, None);
        for busy in [running(), orphan()] {
            assert_eq!(busy.settle_back(FireTime(150)), None, "{busy:?}");
        }
        assert!(ahead(&idle()).retire().unwrap().settle_back(present).is_some());
        let skipped = idle().skip_disabled(FireTime(9_000), None).unwrap();
        assert_eq!(
            skipped.settle_back(present).unwrap().outcome,
            None,
            "that fire is no longer settled"
        );
    }

    fn gap(first: i64, until: i64, count: Option<u32>) -> Gap {
        let (first, until) = (FireTime(first), FireTime(until));
        Gap { first, until, count, config: None, changed_to: None }
    }

    #[test]
    fn the_oldest_gaps_are_merged_if_a_record_has_too_many() {
        let record = |gaps: &[Gap]| {
            gaps.iter().fold(idle(), |record, gap| record.with_gaps([*gap], &[])).gaps
        };
        let [a, b, c, d, e] = [0, 1_000, 2_000, 3_000, 4_000].map(|at| gap(at, at + 500, Some(2)));
        assert_eq!(record(&[a, b, c, d]), [a, b, c, d]);
        assert_eq!(record(&[a, b, c, d, e]), [gap(0, 1_500, None), c, d, e]);
        let adjacent = gap(500, 900, Some(3));
        assert_eq!(record(&[a, adjacent, c, d, e]), [gap(0, 900, Some(5)), c, d, e]);
        let merged = idle().with_gaps([gap(0, 1_500, None)], &[a, b]);
        assert_eq!(merged.with_gaps([], &[a, b]).gaps, [], "both were reported");
    }

    #[test]
    fn settle_back_cuts_gaps_at_the_present() {
        let present = FireTime(500);
        let mut ahead = idle().skip_disabled(FireTime(9_000), None).unwrap();
        ahead.gaps =
            vec![gap(200, 400, Some(2)), gap(450, 9_000, Some(80)), gap(600, 9_000, Some(70))];
        let set_back = ahead.settle_back(present).unwrap();
        assert_eq!(set_back.gaps, [gap(200, 400, Some(2)), gap(450, 501, None)]);
    }

    #[test]
    fn a_fire_that_was_reported_as_missed_at_retirement_is_not_run_later() {
        let retired = idle().retire().unwrap().with_gaps([gap(1_000, 3_179, Some(3))], &[]);
        let revived = retired.revive(Some(FireTime(2_000)).max(retired.last_in_gap())).unwrap();
        assert_eq!(revived.claim(&me(), FireTime(3_000), None), None);
        assert!(revived.claim(&me(), FireTime(4_000), None).is_some());
    }

    #[test]
    fn no_transition_lowers_the_token_or_the_last_fire() {
        let steps: [fn(&Ledger) -> Option<Ledger>; 10] = [
            |l| l.claim(&other(), FireTime(300), None),
            |l| l.with_request(request())?.answer(&other()),
            |l| l.complete(Outcome::Failed, 0),
            Ledger::orphan,
            |l| l.take_over(&other()),
            |l| l.abandon(0),
            |l| l.note_misfire(FireTime(300), None),
            |l| l.skip_disabled(FireTime(300), None),
            Ledger::retire,
            |l| l.revive(Some(FireTime(50))),
        ];
        for ledger in [idle(), running(), orphan(), retired()] {
            for step in steps {
                if let Some(next) = step(&ledger) {
                    assert!(next.token >= ledger.token && next.last_fire >= ledger.last_fire);
                    let claimed = next.running().map(|r| &r.holder) == Some(&other().holder);
                    assert_eq!(next.token > ledger.token, claimed, "a token per claim: {next:?}");
                }
            }
        }
    }

    #[test]
    fn a_fire_is_claimed_once() {
        let done = running().complete(Outcome::Succeeded, 0).unwrap();
        assert_eq!(done.claim(&other(), FireTime(200), None), None);
        assert_eq!(done.claim(&other(), FireTime(150), None), None, "nor an older one");
        let next = done.claim(&other(), FireTime(400), None).unwrap();
        assert_eq!(next.previous_fire, Some(FireTime(200)), "the fires in between were missed");
    }

    #[test]
    fn misfires_are_merged_and_replayed_once_as_a_range() {
        let noted = running()
            .note_misfire(FireTime(300), None)
            .unwrap()
            .note_misfire(FireTime(400), None)
            .unwrap();
        assert_eq!(noted.note_misfire(FireTime(400), None), None, "noted once");
        let range = FireRange { first: FireTime(300), last: FireTime(400), count: 2 };
        assert_eq!(noted.misfire, Some(range));
        let replay =
            noted.complete(Outcome::Succeeded, 0).and_then(|l| l.replay(&me(), None)).unwrap();
        assert_eq!(replay.run().unwrap().merged, Some(range));
        assert_eq!((replay.last_fire, replay.misfire), (Some(FireTime(400)), None));
    }

    /// A disabled item can skip a later fire while noted misfires still wait.
    #[test]
    fn a_late_replay_does_not_lower_the_last_fire() {
        let late = running()
            .note_misfire(FireTime(300), None)
            .and_then(|l| l.complete(Outcome::Succeeded, 0))
            .and_then(|l| l.skip_disabled(FireTime(400), None))
            .and_then(|l| l.replay(&me(), None))
            .unwrap();
        assert_eq!(late.last_fire, Some(FireTime(400)));
        assert_eq!(late.run().unwrap().fire, FireTime(300));
    }

    #[test]
    fn a_manual_request_does_not_change_the_last_fire() {
        let manual = idle().with_request(request()).and_then(|l| l.answer(&me())).unwrap();
        assert_eq!(manual.run().unwrap().fire, FireTime(9_999));
        let done = manual.complete(Outcome::Succeeded, 0).unwrap();
        assert_eq!(done.last_fire, Some(FireTime(100)));
        assert!(done.claim(&me(), FireTime(200), None).is_some());
    }

    #[test]
    fn catching_up_runs_one_fire_and_never_drops_a_noted_one() {
        let caught = idle().catch_up(&me(), FireTime(200), Some(FireTime(300))).unwrap();
        let run = caught.running().unwrap();
        assert_eq!((run.source, run.fire, run.merged), (RunSource::Misfire, FireTime(200), None));
        let noted = running().note_misfire(FireTime(400), None).unwrap();
        let waiting = noted.complete(Outcome::Succeeded, 0).unwrap();
        assert_eq!(waiting.catch_up(&me(), FireTime(300), None), None);
    }

    #[test]
    fn an_item_has_one_request_at_a_time_and_claims_it_once() {
        let waiting = running().with_request(request()).unwrap();
        assert_eq!(waiting.with_request(request()), None);
        let answered =
            waiting.complete(Outcome::Succeeded, 0).and_then(|l| l.answer(&me())).unwrap();
        assert_eq!(answered.request, None);
        assert_eq!(answered.complete(Outcome::Succeeded, 0).and_then(|l| l.answer(&me())), None);
    }

    #[test]
    fn the_parameter_of_a_request_stays_with_its_run() {
        let parameter = RequestParameter::new("february").ok();
        let requested =
            idle().with_request(ManualRequest { parameter: parameter.clone(), ..request() });
        let parameter_of = |ledger: &Ledger| ledger.run().and_then(|run| run.parameter.clone());
        let answered = requested.and_then(|l| l.answer(&me())).unwrap();
        let noted = answered.note_misfire(FireTime(300), None).unwrap();
        let left = noted.orphan().unwrap();
        let taken = left.take_over(&other()).unwrap();
        for ledger in [&answered, &noted, &left, &taken] {
            assert_eq!(parameter_of(ledger), parameter, "{ledger:?}");
        }
        let done = taken.complete(Outcome::Succeeded, 0).unwrap();
        let next = [done.replay(&me(), None), done.claim(&me(), FireTime(400), None)];
        assert!(next.iter().flatten().all(|ledger| parameter_of(ledger).is_none()), "{next:?}");
        assert_eq!(done.parameter_bytes(), 0);
        assert_eq!(taken.parameter_bytes(), 2 * "february".len());
    }

    #[test]
    fn a_disabled_item_claims_nothing_and_completes_its_run() {
        let noted = running().note_misfire(FireTime(300), None).unwrap();
        let disabled = noted.with_disabled(true).and_then(|l| l.with_request(request())).unwrap();
        assert!(disabled.orphan().and_then(|l| l.take_over(&other())).is_some());
        let ended = disabled.complete(Outcome::Succeeded, 0).unwrap();
        assert_eq!(ended.claim(&me(), FireTime(400), None), None);
        assert_eq!(ended.replay(&me(), None), None);
        assert_eq!(ended.answer(&me()), None);
    }

    #[test]
    fn a_gap_begins_with_the_next_scheduled_fire_that_no_instance_ran() {
        let claimed = idle().claim(&me(), FireTime(200), Some(FireTime(300))).unwrap();
        let done = claimed.complete(Outcome::Succeeded, 0).unwrap();
        let rows = [
            ("the next one", &done, 300, None),
            ("one was missed", &done, 400, Some(300)),
            (
                "it was noted",
                &claimed.note_misfire(FireTime(300), Some(FireTime(400))).unwrap(),
                400,
                None,
            ),
            (
                "the one after a noted one was missed",
                &claimed.note_misfire(FireTime(300), Some(FireTime(400))).unwrap(),
                500,
                Some(400),
            ),
            (
                "the record lacks the fire after a noted one",
                &claimed.note_misfire(FireTime(400), None).unwrap(),
                500,
                None,
            ),
            ("the record lacks the next fire", &idle(), 400, None),
        ];
        for (case, ledger, fire, expected) in rows {
            assert_eq!(ledger.gap_before(FireTime(fire)), expected.map(FireTime), "{case}");
        }
    }

    #[test]
    fn a_takeover_keeps_the_fire_and_raises_the_token() {
        let taken = orphan().take_over(&other()).unwrap();
        let run = taken.running().unwrap();
        assert_eq!((run.fire, run.source), (FireTime(200), RunSource::Failover));
        assert_eq!(taken.token, orphan().token.next());
    }
}
