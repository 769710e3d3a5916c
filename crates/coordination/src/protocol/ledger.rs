//! The item ledger: one record per sharding item, changed only by compare-and-set.
//!
//! Everything that matters about the runs of an item is in its record, so that whoever wins the write has won the
//! item, and what happened can be read off the sequence of records. The record is never deleted while the job exists.

use std::fmt;
use std::sync::Arc;

use reg_center::Version;
use sharding::InstanceId;

use crate::gap::MAX_GAPS;
use crate::runs::LocalRun;
use crate::{FailureReason, FencingToken, FireTime, Gap, RequestParameter};

/// Why an item runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunSource {
    /// A scheduled fire.
    Normal,
    /// Fires that met the item running, run once afterwards.
    Misfire,
    /// A run that its holder left unfinished.
    Failover,
    /// An operator's request.
    Manual,
}

impl RunSource {
    /// Returns the word on the wire: `NORMAL`, `MISFIRE`, `FAILOVER`, `MANUAL`.
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

/// How a fire of an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The job's code returned without an error.
    Succeeded,
    /// The job's code returned an error.
    Failed,
    /// The job's code panicked.
    Panicked,
    /// The job's code did not end within the time that it is given.
    TimedOut,
    /// The run was cancelled before it finished, or its holder died, and nobody takes it over.
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

/// Scheduled fires that were merged into one: the first, the last, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FireRange {
    /// The first fire.
    pub first: FireTime,
    /// The last fire; its time identifies the run that stands for all.
    pub last: FireTime,
    /// How many fires were noted, at least 1. Fires in between that no instance noted are gaps of their own.
    pub count: u32,
}

impl FireRange {
    fn extended_by(range: Option<Self>, fire: FireTime) -> Self {
        match range {
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

/// An operator's request to run an item now, from the moment at which it is passed on to the item until its claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ManualRequest {
    /// What the request is known by.
    pub id: Arc<str>,
    /// When it was made, an odd number of milliseconds: it identifies the run, and scheduled fires come on whole
    /// seconds.
    pub at: FireTime,
    /// What the run is told.
    pub parameter: Option<RequestParameter>,
}

/// Who claims an item, when, and under which configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claimant {
    /// Who, in which life.
    pub holder: InstanceId,
    /// The registry version of the configuration that the run will see.
    pub config: Version,
    /// When, by the clock of the claimant, in milliseconds since 1970 UTC.
    pub now_ms: i64,
}

/// A run in progress, or left unfinished.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Who claimed it, in which life.
    pub holder: InstanceId,
    /// The fire that it is for.
    pub fire: FireTime,
    /// Why it runs.
    pub source: RunSource,
    /// Which fires it stands for, if more than its own.
    pub merged: Option<FireRange>,
    /// What the request that it answers tells it, whoever takes it over.
    pub parameter: Option<RequestParameter>,
}

impl Run {
    /// Returns true if it is for a scheduled fire, taken over or not: those come on whole seconds.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        is_scheduled(self.source, self.fire)
    }
}

pub(crate) fn is_scheduled(source: RunSource, fire: FireTime) -> bool {
    source != RunSource::Manual && fire.0 % 2 == 0
}

/// Where an item stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LedgerState {
    /// Nobody runs it.
    Idle,
    /// Its holder runs it.
    Running(Run),
    /// Its holder is gone and somebody shall run it again.
    Orphan(Run),
    /// The job has fewer items now. The record stays, so that tokens go on when the item comes back.
    Retired,
}

/// The record of one item.
///
/// The methods are all the transitions there are; each returns the next record, and `None` where the protocol does
/// not allow the step.
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
/// let done = claimed.complete(Outcome::Succeeded, 1_250).expect("a running item can be completed");
/// assert_eq!(done.last_fire, Some(FireTime(1_000)));
/// assert_eq!(done.gap_before(FireTime(3_000)), Some(FireTime(2_000)), "2 000 was missed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// Where the item stands.
    pub state: LedgerState,
    /// The last scheduled fire that was claimed or accounted for. Never decreases.
    pub last_fire: Option<FireTime>,
    /// The scheduled fire before `last_fire`: what the schedule has in between was missed.
    pub previous_fire: Option<FireTime>,
    /// What the schedule had after the last fire that was claimed, skipped or noted, when it was.
    pub next_fire: Option<FireTime>,
    /// The registry version of the configuration whose schedule has `next_fire`, if that is not `config`.
    pub next_config: Option<Version>,
    /// The last gaps, oldest first, as long as the instance that found them may have been lost before it reported them.
    pub gaps: Vec<Gap>,
    /// The token of the last claim.
    pub token: FencingToken,
    /// The registry version of the configuration that the last claim checked.
    pub config: Option<Version>,
    /// Fires that met the running item and wait to be run once.
    pub misfire: Option<FireRange>,
    /// An operator's request that waits to be run.
    pub request: Option<ManualRequest>,
    /// An operator wants the item not to run. The leader keeps this equal to the item's `disabled` node, so that a
    /// claim that has not seen it fails.
    pub disabled: bool,
    /// How the last run ended.
    pub outcome: Option<Outcome>,
    /// Why the last run that did not succeed failed; `None` once a run has succeeded.
    pub failure: Option<FailureReason>,
    /// When the last run was claimed, by its holder's clock, in milliseconds since 1970 UTC.
    pub began_ms: Option<i64>,
    /// When the last run ended, by the clock of whoever recorded it.
    pub ended_ms: Option<i64>,
}

impl Ledger {
    /// Returns the record of a new item, which has nothing to do with fires up to `born`.
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

    /// Returns true if nobody runs the item and nobody has to.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state == LedgerState::Idle
    }

    /// Returns true if the record asks for nothing: idle, and nothing noted, asked for or disabled.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.is_idle() && self.misfire.is_none() && self.request.is_none() && !self.disabled
    }

    /// Returns true while a run blocks the item from being moved: running, or left unfinished.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.run().is_some()
    }

    /// Returns the run in progress or left unfinished.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        match &self.state {
            LedgerState::Running(run) | LedgerState::Orphan(run) => Some(run),
            LedgerState::Idle | LedgerState::Retired => None,
        }
    }

    /// Returns how many bytes of its document are texts of others, at most: what operators tell runs, and why one failed.
    pub(crate) fn parameter_bytes(&self) -> usize {
        let of_run = self.run().and_then(|run| run.parameter.as_ref());
        let of_request = self.request.as_ref().and_then(|request| request.parameter.as_ref());
        let failure = self.failure.as_ref().map_or(0, FailureReason::json_bytes);
        let told = of_run.into_iter().chain(of_request).map(RequestParameter::json_bytes);
        told.sum::<usize>() + failure
    }

    /// Returns the record without the times at which its run began and ended.
    pub(crate) fn untimed(&self) -> Self {
        Self { began_ms: None, ended_ms: None, ..self.clone() }
    }

    /// Returns where the item stands in a few words, for plans and dumps, with times as the record
    /// has them.
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

    /// Returns the run if it is in progress.
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

    /// Returns true if a scheduled fire needs nothing more: it was claimed, accounted for, or noted as a misfire.
    #[must_use]
    pub fn has_settled(&self, fire: FireTime) -> bool {
        self.settled_until() >= Some(fire)
    }

    /// Returns the last scheduled fire that needs nothing more.
    #[must_use]
    pub fn settled_until(&self) -> Option<FireTime> {
        let noted = self.misfire.map(|range| range.last);
        self.last_fire.max(noted)
    }

    /// Returns what the schedule had after the last fire that needs nothing more, if the record says so, and the registry
    /// version of the configuration with that schedule.
    #[must_use]
    pub fn next_owed(&self) -> (Option<FireTime>, Option<Version>) {
        let next = self.next_fire.filter(|next| Some(*next) > self.settled_until());
        (next, self.next_config.or(self.config))
    }

    /// Returns the first scheduled fire that nothing accounts for if `fire` is the next one that is claimed, noted or skipped:
    /// what the schedule had after the last one.
    #[must_use]
    pub fn gap_before(&self, fire: FireTime) -> Option<FireTime> {
        self.next_owed().0.filter(|next| *next < fire)
    }

    /// Notes what the schedule of a configuration has next, after the last fire that needs nothing more.
    pub(crate) fn followed_by(self, next: Option<FireTime>, config: Version) -> Self {
        let next_config = next.map(|_| config).filter(|config| Some(*config) != self.config);
        Self { next_fire: next, next_config, ..self }
    }

    /// Notes gaps. The gaps that this process has reported leave.
    pub(crate) fn with_gaps(
        mut self,
        gaps: impl IntoIterator<Item = Gap>,
        reported: &[Gap],
    ) -> Self {
        self.gaps.retain(|known| !known.is_among(reported));
        self.gaps.extend(gaps);
        while self.gaps.len() > MAX_GAPS
            && let [oldest, next, ..] = *self.gaps
        {
            self.gaps.splice(..2, [oldest.merged_with(next)]);
        }
        self
    }

    /// Idle → running for a scheduled fire. The fires that were noted before are run together with this one, which
    /// comes later. `next` is what the schedule has after it.
    #[must_use]
    pub fn claim(&self, by: &Claimant, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        let again = self.last_fire >= Some(fire);
        if !self.may_begin() || again {
            return None;
        }
        let merged = self.misfire.map(|range| FireRange::extended_by(Some(range), fire));
        let (holder, source) = (by.holder.clone(), RunSource::Normal);
        let run = Run { holder, fire, source, merged, parameter: None };
        Some(Self { misfire: None, ..self.begun(by, run).advanced(fire, next) })
    }

    /// Idle → running for a scheduled fire that nobody ran in its time, alone: its later ones get runs of their own. Not
    /// while noted fires wait: a run that stands for them comes first.
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

    /// Idle → running for the noted fires, once for all of them. `next` is what the schedule has after the last.
    #[must_use]
    pub fn replay(&self, by: &Claimant, next: Option<FireTime>) -> Option<Self> {
        let range = self.misfire.filter(|_| self.may_begin())?;
        let (holder, source) = (by.holder.clone(), RunSource::Misfire);
        let run = Run { holder, fire: range.last, source, merged: Some(range), parameter: None };
        let begun = Self { misfire: None, ..self.begun(by, run) };
        if self.last_fire >= Some(range.last) {
            return Some(begun);
        }
        // Noting the last of them has noted what follows.
        let Self { next_fire, next_config, .. } = begun.clone();
        let advanced = begun.advanced(range.last, next);
        Some(match self.next_owed().0 {
            Some(_) => Self { next_fire, next_config, ..advanced },
            None => advanced,
        })
    }

    /// Idle → running for an operator's request. The schedule is left alone.
    #[must_use]
    pub fn answer(&self, by: &Claimant) -> Option<Self> {
        let request = self.request.as_ref().filter(|_| self.may_begin())?;
        let run = Run {
            holder: by.holder.clone(),
            fire: request.at,
            source: RunSource::Manual,
            merged: None,
            parameter: request.parameter.clone(),
        };
        Some(Self { request: None, ..self.begun(by, run) })
    }

    fn may_begin(&self) -> bool {
        self.is_idle() && !self.disabled
    }

    fn begun(&self, by: &Claimant, run: Run) -> Self {
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

    fn advanced(self, fire: FireTime, next: Option<FireTime>) -> Self {
        let previous_fire = self.last_fire;
        Self { last_fire: Some(fire), previous_fire, next_fire: next, next_config: None, ..self }
    }

    /// Running → idle: the holder finished.
    #[must_use]
    pub fn complete(&self, outcome: Outcome, now_ms: i64) -> Option<Self> {
        self.running()?;
        Some(self.ended(outcome, now_ms))
    }

    fn ended(&self, outcome: Outcome, now_ms: i64) -> Self {
        let (outcome, ended_ms) = (Some(outcome), Some(now_ms));
        // What interrupts a run says nothing about the failure before it.
        let interrupted = outcome == Some(Outcome::Interrupted);
        let failure = self.failure.clone().filter(|_| interrupted);
        Self { state: LedgerState::Idle, outcome, failure, ended_ms, ..self.clone() }
    }

    /// Returns the record with the reason why its run did not succeed, if there is one.
    #[must_use]
    pub fn because(self, failure: Option<FailureReason>) -> Self {
        Self { failure: failure.or(self.failure), ..self }
    }

    /// Any → the same, brought up to date by a run that has ended and that this record, put back from outside, does not
    /// show: its token and its fire are not used again, and what the record shows of other runs stays.
    #[must_use]
    pub(crate) fn with_lost_run(&self, run: &LocalRun, outcome: Outcome, now_ms: i64) -> Self {
        let ended = |run: &Run, lost: &LocalRun| run.holder == lost.holder;
        let over = self.is_idle() || self.run().is_some_and(|shown| ended(shown, run));
        let ended_now = || self.ended(outcome, now_ms).because(run.failure.clone());
        let next = if over { ended_now() } else { self.clone() };
        let later = run.is_scheduled() && self.last_fire < Some(run.fire);
        let next = if later { next.advanced(run.fire, None) } else { next };
        next.with_token_at_least(Some(run.token))
    }

    /// Returns the record with a token that is not below this one.
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

    /// Orphan → running: somebody else takes the same fire over, even if the item was disabled meanwhile: it finishes
    /// what began before.
    #[must_use]
    pub fn take_over(&self, by: &Claimant) -> Option<Self> {
        let LedgerState::Orphan(run) = &self.state else { return None };
        let (holder, source) = (by.holder.clone(), RunSource::Failover);
        Some(self.begun(by, Run { holder, source, ..run.clone() }))
    }

    /// Running or orphan → idle: nobody finishes the run.
    #[must_use]
    pub fn abandon(&self, now_ms: i64) -> Option<Self> {
        self.run()?;
        Some(self.ended(Outcome::Interrupted, now_ms))
    }

    /// Busy → busy: a scheduled fire met the run and waits. `next` is what the schedule has after it.
    #[must_use]
    pub fn note_misfire(&self, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        if !self.is_busy() || self.has_settled(fire) {
            return None;
        }
        let misfire = Some(FireRange::extended_by(self.misfire, fire));
        Some(Self { misfire, next_fire: next, next_config: None, ..self.clone() })
    }

    /// Idle → idle: a scheduled fire of a disabled item is accounted for without a run.
    #[must_use]
    pub fn skip_disabled(&self, fire: FireTime, next: Option<FireTime>) -> Option<Self> {
        if !self.is_idle() || self.has_settled(fire) {
            return None;
        }
        let outcome = Some(Outcome::Disabled);
        Some(Self { outcome, ..self.clone().advanced(fire, next) })
    }

    /// Any → the same, with an operator's wish noted or taken back. `None` if it is as wished.
    #[must_use]
    pub fn with_disabled(&self, disabled: bool) -> Option<Self> {
        (self.disabled != disabled).then(|| Self { disabled, ..self.clone() })
    }

    /// Any but retired → the same, with an operator's request. `None` while an earlier one waits.
    #[must_use]
    pub fn with_request(&self, request: ManualRequest) -> Option<Self> {
        let free = self.request.is_none();
        let takes = free && self.state != LedgerState::Retired;
        takes.then(|| Self { request: Some(request), ..self.clone() })
    }

    /// Idle → idle: an operator's request to run a disabled item is dropped.
    #[must_use]
    pub fn drop_request(&self) -> Option<Self> {
        self.request.as_ref()?;
        Some(Self { request: None, ..self.clone() })
    }

    /// Idle → idle: instances that write no records have had the item, and have accounted for this fire and all before.
    #[must_use]
    pub(crate) fn handed_back(&self, fire: FireTime) -> Option<Self> {
        let new = self.is_idle() && self.last_fire < Some(fire);
        new.then(|| Self { misfire: None, ..self.clone().advanced(fire, None) })
    }

    /// Idle → idle: a mark says that fires were missed, up to this one, by instances that write no records.
    #[must_use]
    pub(crate) fn noted_by_mark(&self, fire: FireTime) -> Option<Self> {
        let new = self.is_idle() && self.misfire.is_none();
        let misfire = Some(FireRange::extended_by(None, fire));
        new.then(|| Self { misfire, ..self.clone() })
    }

    /// Idle → orphan: a holder that writes no records is gone, and has not finished what it ran for this fire.
    #[must_use]
    pub(crate) fn orphan_of(&self, holder: &InstanceId, fire: FireTime) -> Option<Self> {
        if !self.is_idle() || self.last_fire >= Some(fire) {
            return None;
        }
        let (holder, source) = (holder.clone(), RunSource::Normal);
        let run = Run { holder, fire, source, merged: None, parameter: None };
        Some(Self { state: LedgerState::Orphan(run), ..self.clone().advanced(fire, None) })
    }

    /// Idle or retired → the same, with nothing settled after `present`, the last scheduled fire until now: an operator repairs
    /// what a wrong clock has left. The only step that lowers the last fire. Gaps end with `present` at the latest. `None` while
    /// a run is unfinished, and if nothing after `present` is settled.
    #[must_use]
    pub fn settle_back(&self, present: FireTime) -> Option<Self> {
        if self.is_busy() || self.settled_until() <= Some(present) {
            return None;
        }
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
            // The item was disabled at the later fire, perhaps not at `present`.
            outcome: self.outcome.filter(|of| *of != Outcome::Disabled || !is_lowered),
            ..self.clone()
        })
    }

    /// Idle → retired: the job has fewer items. What waited to be run is dropped.
    #[must_use]
    pub fn retire(&self) -> Option<Self> {
        let state = LedgerState::Retired;
        self.is_idle().then(|| Self { state, misfire: None, request: None, ..self.clone() })
    }

    /// Returns the last fire that can be in a gap of this record: scheduled fires come on whole seconds.
    pub(crate) fn last_in_gap(&self) -> Option<FireTime> {
        let last = self.gaps.iter().map(|gap| gap.until.0.saturating_sub(1)).max()?;
        Some(FireTime(last - last.rem_euclid(1_000)))
    }

    /// Retired → idle: the job has more items again; it has nothing to do with fires up to `born`.
    #[must_use]
    pub fn revive(&self, born: Option<FireTime>) -> Option<Self> {
        (self.state == LedgerState::Retired).then(|| Self {
            state: LedgerState::Idle,
            last_fire: self.last_fire.max(born),
            next_fire: None,
            next_config: None,
            // It was not disabled for a fire that came before it was there again.
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

    fn asked() -> ManualRequest {
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
    fn each_step_is_allowed_from_the_states_that_it_is_for_and_no_others() {
        type Step = fn(&Ledger) -> Option<Ledger>;
        let steps: [(&str, Step, [bool; 4]); 12] = [
            ("claim", |l| l.claim(&other(), FireTime(300), None), [true, false, false, false]),
            ("ask", |l| l.with_request(asked()), [true, true, true, false]),
            ("answer", |l| l.with_request(asked())?.answer(&other()), [true, false, false, false]),
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
    fn an_operator_settles_an_item_back_that_has_no_run() {
        let ahead = |ledger: &Ledger| {
            let run = ledger.claim(&me(), FireTime(9_000), Some(FireTime(9_100))).unwrap();
            run.complete(Outcome::Succeeded, 0).unwrap()
        };
        let present = FireTime(500);
        let once = ahead(&idle()).settle_back(present).unwrap();
        assert_eq!((once.last_fire, once.previous_fire), (Some(present), Some(FireTime(100))));
        assert_eq!((once.next_fire, once.token), (None, ahead(&idle()).token));
        assert_eq!(once.settle_back(present), None, "nothing is later");
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
        assert_eq!(skipped.settle_back(present).unwrap().outcome, None, "that fire is not settled");
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
    fn a_record_that_is_set_back_has_no_gaps_of_the_future() {
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
    fn no_step_lowers_the_token_or_the_last_fire() {
        let steps: [fn(&Ledger) -> Option<Ledger>; 10] = [
            |l| l.claim(&other(), FireTime(300), None),
            |l| l.with_request(asked())?.answer(&other()),
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
        assert_eq!(next.previous_fire, Some(FireTime(200)), "the gap names what was missed");
    }

    #[test]
    fn misfires_are_merged_and_run_once_as_a_named_range() {
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

    /// Simulation seed 26: a disabled item accounted for a later fire while noted fires still waited.
    #[test]
    fn noted_fires_that_run_late_do_not_turn_the_last_fire_back() {
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
    fn a_request_leaves_the_schedule_alone() {
        let manual = idle().with_request(asked()).and_then(|l| l.answer(&me())).unwrap();
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
    fn one_request_waits_at_a_time_and_is_answered_once() {
        let waiting = running().with_request(asked()).unwrap();
        assert_eq!(waiting.with_request(asked()), None);
        let answered =
            waiting.complete(Outcome::Succeeded, 0).and_then(|l| l.answer(&me())).unwrap();
        assert_eq!(answered.request, None);
        assert_eq!(answered.complete(Outcome::Succeeded, 0).and_then(|l| l.answer(&me())), None);
    }

    #[test]
    fn what_a_request_tells_its_run_goes_with_the_run() {
        let parameter = RequestParameter::new("february").ok();
        let asked = idle().with_request(ManualRequest { parameter: parameter.clone(), ..asked() });
        let told = |ledger: &Ledger| ledger.run().and_then(|run| run.parameter.clone());
        let answered = asked.and_then(|l| l.answer(&me())).unwrap();
        let noted = answered.note_misfire(FireTime(300), None).unwrap();
        let left = noted.orphan().unwrap();
        let taken = left.take_over(&other()).unwrap();
        for ledger in [&answered, &noted, &left, &taken] {
            assert_eq!(told(ledger), parameter, "{ledger:?}");
        }
        let done = taken.complete(Outcome::Succeeded, 0).unwrap();
        let next = [done.replay(&me(), None), done.claim(&me(), FireTime(400), None)];
        assert!(next.iter().flatten().all(|ledger| told(ledger).is_none()), "{next:?}");
        assert_eq!(done.parameter_bytes(), 0);
        assert_eq!(taken.parameter_bytes(), 2 * "february".len());
    }

    #[test]
    fn a_disabled_item_begins_nothing_and_finishes_what_it_began() {
        let noted = running().note_misfire(FireTime(300), None).unwrap();
        let disabled = noted.with_disabled(true).and_then(|l| l.with_request(asked())).unwrap();
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
                "the record does not say what came after a noted one",
                &claimed.note_misfire(FireTime(400), None).unwrap(),
                500,
                None,
            ),
            ("the record does not say what the schedule has", &idle(), 400, None),
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
