//! Local state of an instance. It is not in the registry and is lost with the process.

pub(crate) mod claims;
pub(crate) mod fires;
pub(crate) mod requests;
pub(crate) mod session;
pub(crate) mod wait;

use std::collections::BTreeMap;
use std::time::Duration;

use reg_center::Version;
use sharding::ShardingItem;

use self::claims::Claims;
use self::fires::Fires;
use self::requests::Requests;
use self::session::SessionState;
use crate::java::memory::JavaMemory;
use crate::runs::{LocalRun, Runs};
use crate::{FencingToken, Ledger, OnceStage, Outcome, WaitingRuns};

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

/// A once-per-cluster callback that this instance calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalCall {
    pub token: FencingToken,
    /// True if it has returned.
    pub done: bool,
}

/// Local state of an instance. The coordinator writes it at events and at observations of the view;
/// duties only read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Local {
    /// Whether the instance takes part. Written by the drain event and when the instance has left;
    /// read by all duties.
    pub phase: Phase,
    /// True if the process has paused the instance. Written by events; read before runs start.
    pub(crate) paused: bool,
    /// The session and the registration that it owns.
    pub session: SessionState,
    /// The runs of this process. Written by the start and the end of runs; read by all duties that
    /// claim, release or reshard.
    pub runs: Runs,
    /// Claims whose runs have not started here yet, and the tokens of those that have.
    pub claims: Claims,
    /// Fires that this process has seen.
    pub fires: Fires,
    /// Manual requests that this process handles.
    pub requests: Requests,
    /// Start of the wait for orphaned runs, on the monotonic clock. Each takeover restarts it.
    /// Written by observations of the view and by replies; read by the takeover duty.
    pub orphans_since: Option<Duration>,
    /// Runs of this process that wait for a place, as far as they are to be stored. Written by
    /// events; read by the membership duty.
    pub waiting: Option<WaitingRuns>,
    /// Callbacks of this instance that are in progress, or whose return is not recorded yet.
    /// Written by events and observations of the view; read by the duty of these callbacks.
    pub calls: BTreeMap<OnceStage, LocalCall>,
    /// Memory of Java instances. Written by observations of the view; read by `java`.
    pub(crate) java: JavaMemory,
}

impl Local {
    pub(crate) fn is_active(&self) -> bool {
        self.phase == Phase::Active
    }

    /// Returns true while something runs here, or may start without another decision.
    pub(crate) fn is_busy(&self) -> bool {
        !self.runs.is_empty()
            || self.claims.in_flight
            || !self.claims.unstarted.is_empty()
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
        let again = self.claims.has_started(item, ledger.token);
        if again {
            return false;
        }
        let Some(run) = ledger.running() else { return false };
        let claimed = LocalRun::claimed(run, ledger.token, lasting);
        self.note(item, ledger.token, LocalRun { unseen_after, ..claimed })
    }

    /// Adds a run that the record assigns to this instance, but that no code executes, as
    /// interrupted.
    pub(crate) fn give_up(&mut self, item: ShardingItem, ledger: &Ledger, lasting: bool) {
        if let Some(run) = ledger.running() {
            let outcome = Some(Outcome::Interrupted);
            let claimed = LocalRun::claimed(run, ledger.token, lasting);
            self.note(item, ledger.token, LocalRun { outcome, ..claimed });
        }
    }

    /// Adds a run, unless another run of the item has not ended here.
    fn note(&mut self, item: ShardingItem, token: FencingToken, run: LocalRun) -> bool {
        if self.runs.has(item) {
            return false;
        }
        self.claims.note_start(item, token);
        self.runs.insert(item, run);
        true
    }

    /// Records the end of the session and of all nodes that it owned.
    pub(crate) fn lose_session(&mut self) {
        self.session.lose();
        self.claims.lose_session();
        self.requests.lose_session();
        self.calls.clear();
        self.java.lose_session();
        self.runs.change_all(LocalRun::lose_session);
    }
}
