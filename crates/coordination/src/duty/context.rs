//! Input of all duties.

use crate::duty::expiry::IdleServers;
use crate::duty::settings::{BYTES_PER_ITEM, Settings};
use crate::gap::Judgement;
use crate::local::Local;
use crate::local::fires::Due;
use crate::plan::Step;
use crate::start_gate::StartGate;
use crate::view::JobView;
use crate::{Claimant, FireTime, JobConfig, Ledger, Now, ServerIp};
use reg_center::SessionId;
use sharding::{InstanceId, StrategyRegistry};

/// Input of a duty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Now,
    pub(crate) me: &'a InstanceId,
    /// The session that owns the ephemeral marks of this instance.
    pub(crate) session: Option<SessionId>,
    pub(crate) server: &'a ServerIp,
    pub(crate) view: &'a JobView,
    pub(crate) local: &'a Local,
    pub(crate) idle_servers: &'a IdleServers,
    pub(crate) strategies: &'a StrategyRegistry,
    pub(crate) settings: &'a Settings,
    /// True to plan as if the group of the job had no room and the job did not wait. Such plans
    /// show whether runs wait for the group, and are not sent.
    pub(crate) assumes_full_group: bool,
}

impl<'a> Context<'a> {
    /// Returns whether runs may start in this process now.
    pub(crate) fn start_gate(&self) -> StartGate {
        StartGate::of(self.view, self.local, self.me, self.server)
    }

    /// Returns the configuration if runs may start in this process now.
    pub(crate) fn startable(&self) -> Option<&'a JobConfig> {
        let config = self.view.config()?;
        (self.start_gate() == StartGate::Open).then_some(&**config)
    }

    /// Returns true if the view shows all items. A leader decides only then.
    pub(crate) fn shows_all(&self) -> bool {
        self.view.followed().is_all()
    }

    /// Returns the inputs for finding gaps; `None` while no configuration is known.
    pub(crate) fn judgement(&self) -> Option<Judgement<'a>> {
        Some(Judgement {
            lookup: &self.settings.lookup,
            config: self.view.config()?,
            version: self.view.valid_config()?.version,
            schedules: &self.local.fires.schedules,
            present: FireTime(self.present_ms()),
            unrecorded_runs: self.local.java.may_have_run_fires(self.view),
        })
    }

    /// Returns the present time in milliseconds since 1970 UTC, by the registry's clock if that is
    /// known and the job compares clocks.
    pub(crate) fn present_ms(&self) -> i64 {
        self.view.max_time_diff().present_ms(self.now)
    }

    /// Returns the latest credible time of a fire: a later one comes from a wrong clock.
    pub(crate) fn horizon_ms(&self) -> i64 {
        self.view.max_time_diff().horizon_ms(self.present_ms())
    }

    /// Returns the fire that the schedule has after the due one.
    ///
    /// The event of the fire may come from a timer that has not changed to the present schedule
    /// yet, so its next fire counts only if the schedule cannot be looked up.
    pub(crate) fn next_of(&self, due: &Due) -> Option<FireTime> {
        let judgement = self.judgement()?;
        let known = if judgement.lookup.is_available() { None } else { due.next };
        judgement.next_after(due.at, known).0
    }

    /// Returns the identity for a claim of this instance; `None` while no configuration is known.
    pub(crate) fn claimant(&self) -> Option<Claimant> {
        let (holder, config) = (self.me.clone(), self.view.config_version()?);
        Some(Claimant { holder, config, now_ms: self.now.wall_ms })
    }

    /// Returns the first changes that fit one transaction, each of one item. `bytes_of` returns the
    /// size of a change's request parameters; long parameters leave room for fewer items.
    pub(crate) fn within_one_plan<C>(
        &self,
        changes: impl Iterator<Item = C>,
        bytes_of: impl Fn(&C) -> usize,
    ) -> impl Iterator<Item = C> {
        // A permit is one more operation for each item. That of a group names the job as well.
        let config = self.view.config();
        let of_job = config.is_some_and(|it| it.cluster_concurrency.is_some());
        let of_group = config.is_some_and(|it| it.group.is_some());
        let more = usize::from(of_job) + 3 * usize::from(of_group);
        let most = (self.settings.items_per_plan * 8 / (8 + more)).max(1);
        let mut taken = 0;
        changes.take_while(move |change| {
            let is_first = taken == 0;
            taken += 1 + bytes_of(change).div_ceil(BYTES_PER_ITEM);
            // The first change always fits, however long its parameter is.
            is_first || taken <= most
        })
    }

    /// Returns the last fire that gaps of a record report as missed. It stays missed if a retired
    /// item comes back. A fire in the future comes from a wrong clock and is ignored.
    pub(crate) fn last_missed(&self, ledger: &Ledger) -> Option<FireTime> {
        ledger.last_in_gap().filter(|fire| fire.0 <= self.horizon_ms())
    }
}

/// Returns the size of the request parameters in the records of these steps, in bytes.
pub(crate) fn parameter_bytes(steps: &[Step]) -> usize {
    steps.iter().filter_map(Step::ledger).map(|(_, ledger)| ledger.parameter_bytes()).sum()
}
