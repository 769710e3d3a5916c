//! The ledger record of an item and the questions that it answers.

use std::sync::Arc;

use reg_center::Version;
use sharding::InstanceId;

use super::{Backfilled, FireRange, ManualRequest, Outcome, Run};
use crate::{
    CancelRequest, FailureReason, FencingToken, FireTime, Gap, OutcomeCounts, RequestParameter,
    UnknownFields,
};

/// Size of a queued fire in the record's document, in bytes: 13 digits and a comma.
const QUEUED_BYTES: usize = 14;

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
/// assert_eq!(done.next_owed().0, Some(FireTime(2_000)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// State of the item.
    pub state: LedgerState,
    /// Last scheduled fire that was claimed or accounted for. Only an operator can lower it.
    pub last_fire: Option<FireTime>,
    /// Value of `last_fire` before its last change. The run of `last_fire` stands for the noted
    /// fires in between; the others were missed.
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
    /// Fires that met the busy item and wait: for one run, or for a run each if they are `queued`.
    pub misfire: Option<FireRange>,
    /// The fires of `misfire`, ascending, if each of them gets a run of its own. Empty if one run
    /// stands for all of them.
    pub queued: Vec<FireTime>,
    /// Manual request that waits for a run.
    pub request: Option<ManualRequest>,
    /// Last fire of a backfill that the item got. It stays after the run, so that no leader gives
    /// the item this fire again.
    pub backfilled: Option<Arc<Backfilled>>,
    /// Request to cancel the run; after a cancelled run, the request that it ended by. It holds for
    /// its token only: see [`cancel_request`](Self::cancel_request).
    pub cancel: Option<Arc<CancelRequest>>,
    /// Number of the last slot that the item has a record of, beside its own; 0 if it has none. It
    /// never decreases, so that the leader knows all records that can show a run of the item.
    pub further_slots: u32,
    /// An operator has disabled the item. The leader keeps this equal to the item's `disabled`
    /// node, so that a claim by a stale view conflicts.
    pub disabled: bool,
    /// Outcome of the last run.
    pub outcome: Option<Outcome>,
    /// Reason of the last failure. `None` once a run has succeeded.
    pub failure: Option<FailureReason>,
    /// Numbers of all runs that succeeded and that failed. For people: no decision depends on them,
    /// because instances of earlier versions do not count.
    pub runs: OutcomeCounts,
    /// Time of the last claim by its holder's clock, in milliseconds since 1970 UTC.
    pub began_ms: Option<i64>,
    /// End of the last run by the clock of the instance that recorded it, in milliseconds since
    /// 1970 UTC.
    pub ended_ms: Option<i64>,
    /// Fields that a later version added.
    pub unknown: UnknownFields,
}

impl Ledger {
    /// Returns the record of a new item, which does not owe fires up to `settled`.
    #[must_use]
    pub fn new(settled: Option<FireTime>) -> Self {
        Self {
            state: LedgerState::Idle,
            last_fire: settled,
            previous_fire: None,
            next_fire: None,
            next_config: None,
            gaps: Vec::new(),
            token: FencingToken(0),
            config: None,
            misfire: None,
            queued: Vec::new(),
            request: None,
            backfilled: None,
            cancel: None,
            further_slots: 0,
            disabled: false,
            outcome: None,
            failure: None,
            runs: OutcomeCounts::default(),
            began_ms: None,
            ended_ms: None,
            unknown: UnknownFields::default(),
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

    /// Returns the run in progress.
    #[must_use]
    pub fn running(&self) -> Option<&Run> {
        match &self.state {
            LedgerState::Running(run) => Some(run),
            LedgerState::Idle | LedgerState::Orphan(_) | LedgerState::Retired => None,
        }
    }

    /// Returns true if `instance` runs the item.
    pub(crate) fn is_running_on(&self, instance: &InstanceId) -> bool {
        self.running().is_some_and(|run| run.holder == *instance)
    }

    /// Returns true if `holder` runs the item under `token`.
    #[must_use]
    pub fn is_held(&self, holder: &InstanceId, token: FencingToken) -> bool {
        self.token == token && self.is_running_on(holder)
    }

    /// Returns the maximum size of parameters, cancel requests, failure reasons, queued fires and
    /// unknown fields in the record's document, in bytes.
    pub(crate) fn parameter_bytes(&self) -> usize {
        let of_run = self.run().and_then(|run| run.parameter.as_ref());
        let of_request = self.request.as_ref().and_then(|request| request.parameter.as_ref());
        let failure = self.failure.as_ref().map_or(0, FailureReason::json_bytes);
        let cancel = self.cancel.as_deref().map_or(0, CancelRequest::json_bytes);
        let queued = self.queued.len() * QUEUED_BYTES;
        let parameters = of_run.into_iter().chain(of_request).map(RequestParameter::json_bytes);
        parameters.sum::<usize>() + cancel + failure + queued + self.unknown.json_bytes()
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
            let word = if self.queued.is_empty() { "misfired" } else { "queued" };
            text.push_str(&format!(", {word} {}..={} ({count})", first.0, last.0));
        }
        if let Some(request) = &self.request {
            text.push_str(&format!(", asked for at {}", request.at.0));
            if let Some(fire) = request.past_fire {
                text.push_str(&format!(" for the past fire {}", fire.0));
            }
        }
        if let Some(request) = self.cancels() {
            text.push_str(&format!(", to be cancelled for {}", request.by()));
        }
        if self.disabled {
            text.push_str(", disabled");
        }
        text
    }
}
