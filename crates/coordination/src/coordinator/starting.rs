//! Starting: starts each run that this instance has claimed, once.

use std::collections::BTreeSet;
use std::sync::Arc;

use reg_center::Version;
use sharding::{InstanceId, ShardingItem};

use super::Coordinator;
use super::reporting::EndedRun;
use crate::local::Phase;
use crate::plan::{Plan, Step};
use crate::runs::LocalRun;
use crate::view::item::ItemView;
use crate::{
    CancelItem, Command, Duty, FencingToken, JobConfig, JobEvent, Ledger, Outcome, Slot, StartItem,
    Versioned,
};

/// Items with the fencing tokens of claims in flight.
type SentClaims = BTreeSet<(ShardingItem, FencingToken)>;

impl Coordinator {
    /// Starts claimed runs that have not started yet, and forgets runs whose end is recorded.
    ///
    /// Gives up three kinds of runs: those of an earlier incarnation with the same id, those that
    /// an operator restored, and those whose cancellation was requested before they started here.
    pub(super) fn observe_runs(&mut self, out: &mut Vec<Command>) {
        self.note_shown_claims();
        self.forget_settled_runs(out);
        self.cancel_requested_runs(out);
        let Some(me) = self.me.clone() else { return };
        if self.session.is_none() || self.has_namesake() {
            return;
        }
        debug_assert!(
            self.clean_items_need_no_action(&me),
            "an item outside of the dirty items {:?} needs an action",
            self.dirty_items
        );
        let dirty_items = std::mem::take(&mut self.dirty_items);
        let held: Vec<_> = dirty_items
            .into_iter()
            .filter_map(|item| Some((item, self.view.item(item).record()?)))
            .filter(|(item, ledger)| self.needs_action(*item, ledger, &me))
            .map(|(item, ledger)| (item, ledger.clone()))
            .collect();
        let sent = if held.is_empty() { SentClaims::new() } else { self.sent_claims(&me) };
        for (item, ledger) in &held {
            let claimed_here = self.may_have_claimed(*item, ledger, &sent);
            let is_lost = !claimed_here || self.is_put_back(*item, ledger, &me);
            if is_lost || ledger.cancels().is_some() {
                self.give_up_unclaimed_run(*item, ledger);
            } else if let Some(config) = self.config_of_claim(*item, ledger).cloned() {
                self.start_runs(std::iter::once((*item, ledger)), &config, out);
            }
        }
        // A claim that could not start, for example without a lease, is examined again next time.
        let waits = held.iter().filter(|(item, run)| self.waits_to_be_started(*item, run, &me));
        self.dirty_items = waits.map(|(item, _)| *item).collect();
        self.forget_settled_claims(&me);
    }

    /// Returns true if no item outside of the dirty items needs an action.
    pub(super) fn clean_items_need_no_action(&self, me: &InstanceId) -> bool {
        let mut others =
            self.view.restless_slots().filter(|(item, _)| !self.dirty_items.contains(item));
        let waits = |(item, shown): (_, &ItemView)| {
            let ledger = shown.record();
            ledger.is_some_and(|ledger| self.needs_action(item, ledger, me))
        };
        !others.any(waits)
    }

    /// Returns true if the record shows a run of this incarnation that it has not started.
    fn waits_to_be_started(&self, item: ShardingItem, shown: &Ledger, me: &InstanceId) -> bool {
        let held_here = shown.is_running_on(me);
        held_here && !self.local.claims.has_started(item, shown.token)
    }

    /// Returns true if the record shows a run of this incarnation that has already ended here. An
    /// operator has restored an old record.
    fn is_put_back(&self, item: ShardingItem, shown: &Ledger, me: &InstanceId) -> bool {
        let held_here = shown.is_running_on(me);
        let ended = self.local.claims.has_started(item, shown.token) && !self.local.runs.has(item);
        held_here && ended
    }

    pub(super) fn needs_action(&self, item: ShardingItem, shown: &Ledger, me: &InstanceId) -> bool {
        self.waits_to_be_started(item, shown, me) || self.is_put_back(item, shown, me)
    }

    /// Returns true if the record may result from a claim that this incarnation has sent.
    pub(super) fn may_have_claimed(
        &self,
        item: ShardingItem,
        shown: &Ledger,
        sent: &SentClaims,
    ) -> bool {
        sent.contains(&(item, shown.token)) || self.local.claims.unstarted.contains_key(&item)
    }

    /// Returns the claims in flight.
    fn sent_claims(&self, me: &InstanceId) -> SentClaims {
        let runs = self.in_flight.values().flat_map(|flight| flight.plan.runs_of(me));
        runs.map(|(item, ledger)| (item, ledger.token)).collect()
    }

    /// Records a run that no process executes as interrupted here, so that the release duty ends
    /// it.
    fn give_up_unclaimed_run(&mut self, item: ShardingItem, shown: &Ledger) {
        self.local.give_up(item, shown, self.view.may_have_lasting_mark(item));
    }

    /// Forgets unknown claims that the view shows as failed, or that have started here.
    fn forget_settled_claims(&mut self, me: &InstanceId) {
        let (view, started) = (&self.view, &self.local.claims.started);
        self.local.claims.unstarted.retain(|item, claim| {
            let Some(ledger) = view.item(*item).ledger.as_ref() else { return true };
            let held_here = ledger.value.is_running_on(me);
            let waits = held_here && started.get(item) < Some(&ledger.value.token);
            waits || ledger.version <= claim.before
        });
    }

    /// Returns the configuration that a claim has checked. The record names its version, and this
    /// instance knew that version when it sent the claim.
    fn config_of_claim(
        &self,
        item: ShardingItem,
        claimed: &Ledger,
    ) -> Option<&Versioned<Arc<JobConfig>>> {
        let flights = self.in_flight.values().filter_map(|flight| flight.config.as_ref());
        let claim = self.local.claims.unstarted.get(&item);
        let unknown_claims = claim.into_iter().flat_map(|claim| &claim.configs);
        let mut known = flights.chain(unknown_claims).chain(self.view.config_in_force());
        known.find(|config| claimed.config.is_none_or(|version| version == config.version))
    }

    /// Records that the view has reached a claim: each later state of the record follows the claim.
    fn note_shown_claims(&mut self) {
        let is_later = |before: Version, item| {
            self.view.item(item).ledger.as_ref().is_some_and(|ledger| ledger.version > before)
        };
        for &item in &self.dirty_items {
            let before = self.local.runs.get(item).and_then(|run| run.unseen_after);
            if before.is_some_and(|before| is_later(before, item)) {
                self.local.runs.change(item, |run| run.unseen_after = None);
            }
        }
    }

    /// Asks each run whose record has a request to cancel it to end, once.
    fn cancel_requested_runs(&mut self, out: &mut Vec<Command>) {
        for &item in &self.dirty_items {
            let Some(run) = self.local.runs.get(item) else { continue };
            let Some(token) = run.token.filter(|_| run.outcome.is_none() && !run.cancelling) else {
                continue;
            };
            let ledger = self.view.item(item).record();
            let held = ledger.filter(|ledger| ledger.is_held(&run.holder, token));
            let wanted = held.filter(|ledger| ledger.cancels().is_some());
            let Some(request) = wanted.and_then(|ledger| ledger.cancel.clone()) else { continue };
            self.local.runs.change(item, |run| run.cancelling = true);
            let Slot { item, number: slot } = Slot::of(item);
            out.push(Command::Cancel(CancelItem { item, slot, token, request }));
        }
    }

    fn forget_settled_runs(&mut self, out: &mut Vec<Command>) {
        let has_ended = |item: &&ShardingItem| {
            self.local.runs.get(**item).is_some_and(|run| run.outcome.is_some())
        };
        let ended: Vec<_> = self.dirty_items.iter().filter(has_ended).copied().collect();
        for item in ended {
            let Some(run) = self.local.runs.get(item) else { continue };
            let (Some(outcome), Some(token)) = (run.outcome, run.token) else { continue };
            let ledger = self.view.item(item).record();
            let caught_up = ledger.is_some_and(|ledger| ledger.token >= token);
            let held = ledger.is_some_and(|ledger| ledger.is_held(&run.holder, token));
            // Marks that are left need another release, so the run is still needed.
            let marks = run.shown_marks(self.view.item(item), self.session);
            if !caught_up || held || !marks.is_empty() {
                continue;
            }
            out.push(Command::Emit(ending(item, run, token, outcome, ledger)));
            let ended = EndedRun { holder: run.holder.clone(), fire: run.fire, source: run.source };
            let cancelled = ledger.filter(|ledger| ledger.outcome == Some(Outcome::Cancelled));
            let cancelled = cancelled.cloned();
            self.local.runs.remove(item);
            if let Some(ledger) = cancelled {
                self.report_cancelled(item, ended, &ledger, out);
            }
        }
    }

    /// Starts runs that this instance has claimed, each once. Starts none without a lease, or while
    /// the instance leaves.
    pub(super) fn start_runs<'a>(
        &mut self,
        claimed: impl Iterator<Item = (ShardingItem, &'a Ledger)>,
        config: &Versioned<Arc<JobConfig>>,
        out: &mut Vec<Command>,
    ) {
        if !self.connected || !self.local.session.lease || self.is_leaving() {
            return;
        }
        let lasting = self.view.has_lasting_marks(&config.value);
        let mut starts = Vec::new();
        for (item, ledger) in claimed {
            let Some(start) = start_item(item, ledger, config) else { continue };
            let unseen_after = self.unseen_claim_of(item);
            let begun = self.local.begin(item, ledger, lasting, unseen_after);
            let waits = !begun && !self.local.claims.has_started(item, ledger.token);
            // A claim that waits for the end of the item's former run stays noted, with the
            // configuration that it checked.
            if !waits {
                self.local.claims.unstarted.remove(&item);
            }
            if begun {
                let StartItem { item, fire, source, token, past_fire, .. } = start;
                let claimed = JobEvent::Claimed { item, fire, source, token, past_fire };
                out.push(Command::Emit(claimed));
                starts.push(start);
            }
        }
        if !starts.is_empty() {
            out.push(Command::Start(starts));
        }
    }

    /// Returns the version that a claim of the item replaces, unless the view shows a later one.
    fn unseen_claim_of(&self, item: ShardingItem) -> Option<Version> {
        let shown = self.view.item(item).ledger.as_ref().map(|ledger| ledger.version);
        let before = self.local.claims.unstarted.get(&item).map(|claim| claim.before);
        before.filter(|before| shown <= Some(*before))
    }

    /// Returns true if the instance has left, or a commit that removes its registration is in
    /// flight.
    pub(super) fn is_leaving(&self) -> bool {
        let leaves = |plan: &Plan| plan.steps.iter().any(Step::deregisters);
        let under_way = self.in_flight.get(&Duty::Membership);
        self.local.phase == Phase::Left || under_way.is_some_and(|flight| leaves(&flight.plan))
    }
}

/// Returns the command to start the run of a claim.
fn start_item(
    key: ShardingItem,
    claimed: &Ledger,
    config: &Versioned<Arc<JobConfig>>,
) -> Option<StartItem> {
    let run = claimed.running()?;
    let Slot { item, number: slot } = Slot::of(key);
    Some(StartItem {
        item,
        slot,
        token: claimed.token,
        fire: run.fire,
        source: run.source,
        merged: run.merged,
        request_parameter: run.parameter.clone(),
        past_fire: run.past_fire,
        holder: run.holder.clone(),
        config: Arc::clone(&config.value),
        config_version: config.version,
    })
}

/// Returns the event for the end of a run: `Settled` if the record shows this end, or `Fenced` if
/// another instance changed the record first.
fn ending(
    key: ShardingItem,
    run: &LocalRun,
    token: FencingToken,
    outcome: Outcome,
    ledger: Option<&Ledger>,
) -> JobEvent {
    let LocalRun { fire, source, .. } = *run;
    let item = Slot::of(key).item;
    let Some(ledger) = ledger.filter(|ledger| ledger.token == token) else {
        return JobEvent::Fenced { item, token };
    };
    let recorded = ledger.outcome.filter(|_| !ledger.is_busy());
    let outcome = match recorded {
        // The record decides whether a run that was cut short was cancelled.
        Some(recorded) if outcome.is_cut_short() && recorded.is_cut_short() => recorded,
        Some(_) | None if outcome.is_cut_short() => Outcome::Interrupted,
        Some(recorded) if recorded == outcome => outcome,
        Some(_) | None => return JobEvent::Fenced { item, token },
    };
    JobEvent::Settled { item, fire, source, token, outcome }
}
