//! State of this instance, for people, health checks and the other files of the coordinator.

use super::Coordinator;
use crate::local::Phase;
use crate::{FencingToken, Now, ServerState, Slot, java};
use sharding::{InstanceId, ShardingItem};
use std::time::Duration;

/// State of an instance, for people and health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Active, draining or left.
    pub phase: Phase,
    /// The id of its current incarnation; `None` before the first connection.
    pub instance: Option<InstanceId>,
    /// True if it is registered.
    pub registered: bool,
    /// True if it is registered, its server is enabled, and it is not leaving.
    pub available: bool,
    /// True if this process or its server is paused, so that it starts no runs.
    pub paused: bool,
    /// The leader of the job, if there is one.
    pub leader: Option<InstanceId>,
    /// True if this instance is the leader.
    pub leads: bool,
    /// The items that it owns, including pending items that will move to another instance.
    pub owned: Vec<ShardingItem>,
    /// The items of its local runs with their tokens, an item once for each of its runs. A run
    /// stays until its end is recorded.
    pub running: Vec<(ShardingItem, FencingToken)>,
    /// The condition that it waits for, if any.
    pub waiting_for: Option<&'static str>,
    /// The start of that wait, on the monotonic clock.
    pub waiting_since: Option<Duration>,
    /// Lead of its clock over the registry's, in milliseconds, if that exceeds `max_time_diff`.
    /// The instance then misses its fires.
    pub clock_differs_by: Option<i64>,
}

impl Coordinator {
    /// Returns the state of this instance.
    #[must_use]
    pub fn status(&self) -> Status {
        let me = self.me.as_ref();
        Status {
            phase: self.local.phase,
            instance: self.me.clone(),
            registered: self.is_registered(),
            available: self.is_available(),
            paused: self.is_paused(),
            leader: self.view.leader().cloned(),
            leads: me.is_some_and(|me| self.view.term_of(me).is_some()),
            owned: me.map_or_else(Vec::new, |me| self.view.items_of(me).map(|(i, _)| i).collect()),
            running: self
                .local
                .runs
                .iter()
                .map(|(key, run)| (Slot::of(key).item, run.public_token()))
                .collect(),
            waiting_for: self.waiting.map(|(what, _)| what),
            waiting_since: self.waiting.map(|(_, since)| since),
            clock_differs_by: self.reported.clock_differs_by,
        }
    }

    pub(super) fn note_wait(&mut self, now: Now) {
        let what = self.waiting_for();
        if self.waiting.map(|(what, _)| what) != what {
            self.waiting = what.map(|what| (what, now.mono));
        }
    }

    /// Returns the monotonic time at which the next run may begin, if the start rate is reached.
    /// No event shows that the earliest start has expired.
    pub(super) fn starts_again_at(&self, now: Now) -> Option<Duration> {
        let present_ms = self.view.max_time_diff().present_ms(now);
        let of_job = self.view.starts_again_at(present_ms);
        let of_group = self.view.group_starts_again_at(present_ms);
        let (_, at_ms) = of_job.into_iter().chain(of_group).min_by_key(|(_, at_ms)| *at_ms)?;
        let wait_ms = u64::try_from(at_ms.saturating_sub(present_ms)).unwrap_or(0);
        Some(now.mono + Duration::from_millis(wait_ms))
    }

    /// Returns true if another session has registered the id of this instance.
    ///
    /// Nothing is decided here until that session ends: guards could not distinguish the two.
    pub(super) fn has_namesake(&self) -> bool {
        let me = self.me.as_ref().zip(self.session);
        me.is_some_and(|(me, session)| self.view.is_registered_elsewhere(me, session))
    }

    /// Returns true if a long run of the item may continue here.
    ///
    /// The instance is active and not paused, and the item is enabled, owned by it and not pending.
    /// A run that works through a stream ends at its next good point if this is false.
    #[must_use]
    pub fn may_stay(&self, item: ShardingItem) -> bool {
        let stays = self.local.phase == Phase::Active && !self.is_paused();
        let enabled = self.is_available() && !self.view.item(item).is_disabled();
        let meant = self.me.as_ref().is_some_and(|me| self.view.is_meant_for(item, me));
        stays && enabled && meant && !self.view.is_resharding_announced()
    }

    pub(super) fn is_registered(&self) -> bool {
        let shown = self.me.as_ref().is_some_and(|me| self.view.is_registered(me));
        shown && !self.has_namesake()
    }

    pub(super) fn is_available(&self) -> bool {
        let shown = self.me.as_ref().is_some_and(|me| self.view.is_available(me));
        shown && !self.has_namesake()
    }

    /// Returns true if the program paused this process, or an operator paused its server.
    pub(super) fn is_paused(&self) -> bool {
        let server = self.view.server_state(&self.identity.server);
        self.local.paused || server == Some(ServerState::Paused)
    }

    fn waiting_for(&self) -> Option<&'static str> {
        let pending = self.view.assignment().is_some_and(|a| !a.value.pending.is_empty());
        let rows = [
            (self.local.phase == Phase::Left, None),
            (!self.connected, Some("a connection to the registry")),
            (!self.view.is_synced(), Some("the first snapshot of the job")),
            (self.view.config().is_none(), Some("a usable configuration")),
            (self.local.phase == Phase::Draining, Some("the end of the runs in progress")),
            (self.has_namesake(), Some("the end of another session that has registered its id")),
            (!self.is_available(), Some("registration, or its server being enabled")),
            (
                java::memory::waits_for_turn(&self.view, self.me.as_ref()),
                Some("a Java instance to leave a latch"),
            ),
            (self.view.is_newer(), Some("an update: a later version wrote records of the job")),
            (self.view.leader().is_none(), Some("a leader")),
            (self.view.assignment().is_none(), Some("the first assignment")),
            (self.is_assignment_torn(), Some("the rest of an assignment that it may have written")),
            (pending, Some("the end of runs of items that are to move")),
        ];
        rows.into_iter().find_map(|(holds, what)| holds.then_some(what)).flatten()
    }
}
