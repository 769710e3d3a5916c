//! The item ledger: one record per sharding item, changed only by compare-and-set.
//!
//! Everything that matters about the runs of an item is in its record, so that whoever wins the write has won the
//! item, and what happened can be read off the sequence of records. The record is never deleted while the job exists.

use std::fmt;

use sharding::InstanceId;

use crate::{FencingToken, FireTime};

/// Why an item runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The job's code returned without an error.
    Succeeded,
    /// The job's code returned an error.
    Failed,
    /// The job's code panicked.
    Panicked,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FireRange {
    /// The first fire.
    pub first: FireTime,
    /// The last fire; its time identifies the run that stands for all.
    pub last: FireTime,
    /// How many fires, at least 1.
    pub count: u32,
}

impl FireRange {
    fn extended_by(range: Option<Self>, fire: FireTime) -> Self {
        match range {
            Some(range) if range.last >= fire => range,
            Some(range) => Self { last: fire, count: range.count + 1, ..range },
            None => Self { first: fire, last: fire, count: 1 },
        }
    }
}

impl fmt::Display for FireRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={} ({})", self.first, self.last, self.count)
    }
}

/// A run in progress, or left unfinished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Who claimed it, in which life.
    pub holder: InstanceId,
    /// The fire that it is for.
    pub fire: FireTime,
    /// Why it runs.
    pub source: RunSource,
    /// Which fires it stands for, if more than its own.
    pub merged: Option<FireRange>,
}

/// Where an item stands.
#[derive(Clone, Debug, PartialEq, Eq)]
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
/// use coordination::{FireTime, Ledger, Outcome, RunSource};
/// use sharding::InstanceId;
///
/// let claimed = Ledger::new(None)
///     .claim(InstanceId::new("10.0.0.1@-@7"), FireTime(1_000), RunSource::Normal)
///     .expect("an idle item can be claimed");
/// assert_eq!(claimed.token.0, 1);
/// assert_eq!(claimed.claim(InstanceId::new("10.0.0.2@-@9"), FireTime(2_000), RunSource::Normal), None);
/// let done = claimed.complete(Outcome::Succeeded).expect("a running item can be completed");
/// assert_eq!(done.last_fire, Some(FireTime(1_000)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Where the item stands.
    pub state: LedgerState,
    /// The last scheduled fire that was claimed or accounted for. Never decreases.
    pub last_fire: Option<FireTime>,
    /// The scheduled fire before `last_fire`: what the schedule has in between was missed.
    pub previous_fire: Option<FireTime>,
    /// The token of the last claim.
    pub token: FencingToken,
    /// Fires that met the running item and wait to be run once.
    pub misfire: Option<FireRange>,
    /// How the last run ended.
    pub outcome: Option<Outcome>,
}

impl Ledger {
    /// Returns the record of a new item, which has nothing to do with fires up to `born`.
    #[must_use]
    pub fn new(born: Option<FireTime>) -> Self {
        Self {
            state: LedgerState::Idle,
            last_fire: born,
            previous_fire: None,
            token: FencingToken(0),
            misfire: None,
            outcome: None,
        }
    }

    /// Returns true if nobody runs the item and nobody has to.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state == LedgerState::Idle
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

    /// Returns where the item stands in a few words, for plans and dumps.
    #[must_use]
    pub fn summary(&self) -> String {
        let run = |word: &str, run: &Run| {
            format!(
                "{word} {} for {} by {}, token {}",
                run.source, run.fire, run.holder, self.token
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
        if let Some(range) = self.misfire {
            text.push_str(&format!(", misfired {range}"));
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
        self.last_fire >= Some(fire) || self.misfire.is_some_and(|range| range.last >= fire)
    }

    /// Idle → running for a scheduled fire (`Normal`), the noted misfires (`Misfire`) or a request (`Manual`).
    #[must_use]
    pub fn claim(&self, holder: InstanceId, fire: FireTime, source: RunSource) -> Option<Self> {
        if !self.is_idle() {
            return None;
        }
        let misfire = self.misfire;
        let run = |fire, merged| Run { holder, fire, source, merged };
        match source {
            RunSource::Normal if self.last_fire >= Some(fire) => None,
            // The fires that were noted before are run together with this one, which comes later.
            RunSource::Normal => {
                let merged = misfire.map(|range| FireRange::extended_by(Some(range), fire));
                Some(self.started(run(fire, merged), Some(fire)))
            }
            RunSource::Misfire => {
                let range = misfire?;
                let last_fire = self.last_fire.max(Some(range.last));
                Some(self.started(run(range.last, Some(range)), last_fire))
            }
            RunSource::Manual => {
                Some(Self { misfire, ..self.started(run(fire, None), self.last_fire) })
            }
            RunSource::Failover => None,
        }
    }

    fn started(&self, run: Run, last_fire: Option<FireTime>) -> Self {
        let advanced = last_fire != self.last_fire;
        Self {
            state: LedgerState::Running(run),
            last_fire,
            previous_fire: if advanced { self.last_fire } else { self.previous_fire },
            token: self.token.next(),
            misfire: None,
            outcome: self.outcome,
        }
    }

    /// Running → idle: the holder finished.
    #[must_use]
    pub fn complete(&self, outcome: Outcome) -> Option<Self> {
        self.running()?;
        Some(Self { state: LedgerState::Idle, outcome: Some(outcome), ..self.clone() })
    }

    /// Running → orphan: the holder is gone, or gave the run up.
    #[must_use]
    pub fn orphan(&self) -> Option<Self> {
        let run = self.running()?.clone();
        Some(Self { state: LedgerState::Orphan(run), ..self.clone() })
    }

    /// Orphan → running: somebody else takes the same fire over.
    #[must_use]
    pub fn take_over(&self, holder: InstanceId) -> Option<Self> {
        let LedgerState::Orphan(run) = &self.state else { return None };
        let run = Run { holder, source: RunSource::Failover, ..run.clone() };
        Some(Self { state: LedgerState::Running(run), token: self.token.next(), ..self.clone() })
    }

    /// Running or orphan → idle: nobody finishes the run.
    #[must_use]
    pub fn abandon(&self) -> Option<Self> {
        self.run()?;
        let outcome = Some(Outcome::Interrupted);
        Some(Self { state: LedgerState::Idle, outcome, ..self.clone() })
    }

    /// Busy → busy: a scheduled fire met the run and waits.
    #[must_use]
    pub fn note_misfire(&self, fire: FireTime) -> Option<Self> {
        if !self.is_busy() || self.has_settled(fire) {
            return None;
        }
        let misfire = Some(FireRange::extended_by(self.misfire, fire));
        Some(Self { misfire, ..self.clone() })
    }

    /// Idle → idle: a scheduled fire of a disabled item is accounted for without a run.
    #[must_use]
    pub fn skip_disabled(&self, fire: FireTime) -> Option<Self> {
        if !self.is_idle() || self.has_settled(fire) {
            return None;
        }
        Some(Self {
            last_fire: Some(fire),
            previous_fire: self.last_fire,
            outcome: Some(Outcome::Disabled),
            ..self.clone()
        })
    }

    /// Idle → retired: the job has fewer items.
    #[must_use]
    pub fn retire(&self) -> Option<Self> {
        self.is_idle().then(|| Self { state: LedgerState::Retired, misfire: None, ..self.clone() })
    }

    /// Retired → idle: the job has more items again; it has nothing to do with fires up to `born`.
    #[must_use]
    pub fn revive(&self, born: Option<FireTime>) -> Option<Self> {
        (self.state == LedgerState::Retired).then(|| Self {
            state: LedgerState::Idle,
            last_fire: self.last_fire.max(born),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> InstanceId {
        InstanceId::new("10.0.0.1@-@1")
    }

    fn other() -> InstanceId {
        InstanceId::new("10.0.0.2@-@2")
    }

    fn idle() -> Ledger {
        Ledger::new(Some(FireTime(100)))
    }

    fn running() -> Ledger {
        idle().claim(me(), FireTime(200), RunSource::Normal).unwrap()
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
        let steps: [(&str, Step, [bool; 4]); 10] = [
            (
                "claim",
                |l| l.claim(other(), FireTime(300), RunSource::Normal),
                [true, false, false, false],
            ),
            (
                "manual",
                |l| l.claim(other(), FireTime(300), RunSource::Manual),
                [true, false, false, false],
            ),
            ("complete", |l| l.complete(Outcome::Succeeded), [false, true, false, false]),
            ("orphan", Ledger::orphan, [false, true, false, false]),
            ("take over", |l| l.take_over(other()), [false, false, true, false]),
            ("abandon", Ledger::abandon, [false, true, true, false]),
            ("note misfire", |l| l.note_misfire(FireTime(300)), [false, true, true, false]),
            ("skip", |l| l.skip_disabled(FireTime(300)), [true, false, false, false]),
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
    fn no_step_lowers_the_token_or_the_last_fire() {
        let steps: [fn(&Ledger) -> Option<Ledger>; 10] = [
            |l| l.claim(other(), FireTime(300), RunSource::Normal),
            |l| l.claim(other(), FireTime(300), RunSource::Manual),
            |l| l.complete(Outcome::Failed),
            Ledger::orphan,
            |l| l.take_over(other()),
            Ledger::abandon,
            |l| l.note_misfire(FireTime(300)),
            |l| l.skip_disabled(FireTime(300)),
            Ledger::retire,
            |l| l.revive(Some(FireTime(50))),
        ];
        for ledger in [idle(), running(), orphan(), retired()] {
            for step in steps {
                if let Some(next) = step(&ledger) {
                    assert!(next.token >= ledger.token && next.last_fire >= ledger.last_fire);
                    let claimed = next.running().map(|r| &r.holder) == Some(&other());
                    assert_eq!(next.token > ledger.token, claimed, "a token per claim: {next:?}");
                }
            }
        }
    }

    #[test]
    fn a_fire_is_claimed_once() {
        let done = running().complete(Outcome::Succeeded).unwrap();
        assert_eq!(done.claim(other(), FireTime(200), RunSource::Normal), None);
        assert_eq!(done.claim(other(), FireTime(150), RunSource::Normal), None, "nor an older one");
        let next = done.claim(other(), FireTime(400), RunSource::Normal).unwrap();
        assert_eq!(next.previous_fire, Some(FireTime(200)), "the gap names what was missed");
    }

    #[test]
    fn misfires_are_merged_and_run_once_as_a_named_range() {
        let noted =
            running().note_misfire(FireTime(300)).unwrap().note_misfire(FireTime(400)).unwrap();
        assert_eq!(noted.note_misfire(FireTime(400)), None, "noted once");
        let range = FireRange { first: FireTime(300), last: FireTime(400), count: 2 };
        assert_eq!(noted.misfire, Some(range));
        let replay = noted
            .complete(Outcome::Succeeded)
            .and_then(|l| l.claim(me(), FireTime(0), RunSource::Misfire))
            .unwrap();
        assert_eq!(replay.run().unwrap().merged, Some(range));
        assert_eq!((replay.last_fire, replay.misfire), (Some(FireTime(400)), None));
    }

    /// Simulation seed 26: a disabled item accounted for a later fire while noted fires still waited.
    #[test]
    fn noted_fires_that_run_late_do_not_turn_the_last_fire_back() {
        let late = running()
            .note_misfire(FireTime(300))
            .and_then(|l| l.complete(Outcome::Succeeded))
            .and_then(|l| l.skip_disabled(FireTime(400)))
            .and_then(|l| l.claim(me(), FireTime(0), RunSource::Misfire))
            .unwrap();
        assert_eq!(late.last_fire, Some(FireTime(400)));
        assert_eq!(late.run().unwrap().fire, FireTime(300));
    }

    #[test]
    fn a_request_leaves_the_schedule_alone() {
        let manual = idle().claim(me(), FireTime(9_999), RunSource::Manual).unwrap();
        let done = manual.complete(Outcome::Succeeded).unwrap();
        assert_eq!(done.last_fire, Some(FireTime(100)));
        assert!(done.claim(me(), FireTime(200), RunSource::Normal).is_some());
    }

    #[test]
    fn a_takeover_keeps_the_fire_and_raises_the_token() {
        let taken = orphan().take_over(other()).unwrap();
        let run = taken.running().unwrap();
        assert_eq!((run.fire, run.source), (FireTime(200), RunSource::Failover));
        assert_eq!(taken.token, orphan().token.next());
    }
}
