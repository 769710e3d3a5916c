//! Invariants that must hold after every write. The ids are those of the project's guarantees.
//!
//! The checker judges the complete history. These checks stop a run at the first wrong write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::{
    FencingToken, FireTime, ItemView, Ledger, LedgerState, Outcome, Run, RunSource, ServerState,
    StartItem,
};
use reg_center::{Change, SessionId};
use sharding::{InstanceId, ShardingItem};

use super::product::{self, Subject};
use super::world::World;

/// State of the run so far that the checks need.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    /// Session and process (node and incarnation) of each instance.
    instances: BTreeMap<InstanceId, (SessionId, (usize, u32))>,
    /// Runs that were started under a token.
    started: BTreeSet<(ShardingItem, FencingToken)>,
    /// Instances that have left gracefully.
    left: BTreeSet<InstanceId>,
    /// Tokens of the once-per-cluster calls so far.
    calls: BTreeSet<FencingToken>,
    /// Token of the last recorded once-per-cluster call.
    pub(crate) last_call: u64,
    /// Number of unclaimed starts of each item for a fire.
    pub(crate) unclaimed: BTreeMap<(ShardingItem, FireTime), u32>,
    /// Scheduled fires of each item that ended in a run, including merged fires.
    pub(crate) done: BTreeSet<(ShardingItem, FireTime)>,
    /// Items that have run for a manual request, by the request's id.
    answered: BTreeSet<(ShardingItem, Arc<str>)>,
    /// Requests of each moment, of which there can be several.
    asked: BTreeMap<(ShardingItem, FireTime), Asked>,
    /// Parameter of each request, by its id.
    pub(crate) requests: BTreeMap<String, Option<String>>,
    /// Scheduled fires that were claimed and whose run was interrupted.
    pub(crate) abandoned: BTreeSet<(ShardingItem, FireTime)>,
}

/// Number of runs of an item for the requests of one moment.
#[derive(Debug, Default)]
struct Asked {
    /// Number of requests that a run has answered.
    answered: u32,
    /// Number of completed runs.
    done: u32,
}

impl Tracked {
    pub(crate) fn note_instance(
        &mut self,
        instance: InstanceId,
        session: SessionId,
        of: (usize, u32),
    ) {
        self.instances.insert(instance, (session, of));
    }
}

/// An item before and after a write.
struct Step {
    item: ShardingItem,
    before: ItemView,
    after: ItemView,
}

impl World {
    /// Checks the invariants after a write.
    pub(crate) fn check_write(&mut self, writer: Option<SessionId>, changes: Vec<Change>) {
        let mut items = BTreeSet::new();
        self.check_abdication(writer, &changes);
        self.check_callbacks(&changes);
        for change in &changes {
            let (Change::Put(node) | Change::Entry(node)) = change else {
                if let Change::Gone { path, .. } = change
                    && let Subject::Ledger(item) | Subject::Owner(item) = self.paths.subject(path)
                {
                    items.insert(item);
                }
                continue;
            };
            if let Subject::Ledger(item) | Subject::Owner(item) = self.paths.subject(&node.path) {
                items.insert(item);
            }
            if let Some((id, parameter)) = self.paths.new_request(node) {
                self.tracked.requests.insert(id, parameter);
            }
        }
        let before: Vec<_> =
            items.into_iter().map(|item| (item, self.observer.view().item(item).clone())).collect();
        let leader = (!before.is_empty()).then(|| self.observer.view().leader().cloned()).flatten();
        self.observe_changes(changes);
        let mut moved = false;
        for (item, before) in before {
            let after = self.observer.view().item(item).clone();
            let step = Step { item, before, after };
            moved |= step.moves() || step.is_taken_at_once();
            self.check_item(writer, &step);
        }
        if moved {
            self.check_leader(writer, leader);
        }
    }

    /// Checks that only the leader of the current term assigns items, and that it is not deposed in
    /// the view.
    fn check_leader(&mut self, writer: Option<SessionId>, leader: Option<InstanceId>) {
        let instance =
            writer.and_then(|id| self.sessions.get(&id)).map(|session| session.instance.clone());
        let term = self.paths.term(&self.model);
        if instance.is_none()
            || instance != term
            || leader.is_some_and(|leader| Some(leader) != instance)
        {
            self.fail(
                "S8",
                format!(
                    "items were assigned or taken over by {instance:?} in the term of {term:?}"
                ),
            );
        }
    }

    /// Checks that no instance deletes the leader node of another instance.
    fn check_abdication(&mut self, writer: Option<SessionId>, changes: &[Change]) {
        let leader = self.paths.leader();
        let gone = |change: &Change| matches!(change, Change::Gone { path, .. } if *path == leader);
        let instance =
            writer.and_then(|id| self.sessions.get(&id)).map(|session| session.instance.clone());
        let Some(instance) = instance.filter(|_| changes.iter().any(gone)) else { return };
        let leads = self.observer.view().leader().cloned();
        if leads.as_ref() != Some(&instance) {
            self.fail("S8", format!("{instance} has deleted the node of the leader {leads:?}"));
        }
    }

    fn check_item(&mut self, writer: Option<SessionId>, step: &Step) {
        let (item, before) = (step.item, step.before.ledger.as_ref().map(|l| &l.value));
        self.check_future(step);
        let Some(old) = before else { return };
        let Some(new) = step.after.ledger.as_ref().map(|ledger| &ledger.value) else {
            return self.fail("S1", format!("the record of item {item} was deleted"));
        };
        if new.token < old.token || new.last_fire < old.last_fire {
            self.fail(
                "S1",
                format!(
                    "the record of item {item} went backwards from {} to {}",
                    old.summary(),
                    new.summary()
                ),
            );
        }
        if step.moves() && old.is_busy() {
            self.fail(
                "S5",
                format!("item {item} changed its owner during a run: {}", old.summary()),
            );
        }
        self.check_kept(step, old, new);
        self.check_parameter(item, old, new);
        match (&old.state, &new.state) {
            (LedgerState::Running(from), LedgerState::Running(to))
                if from.holder != to.holder || old.token != new.token =>
            {
                let same = to.fire == from.fire && to.merged == from.merged;
                if to.source != RunSource::Failover || !same {
                    self.fail(
                        "S1",
                        format!(
                            "item {item} was claimed during a run of another holder: {}",
                            new.summary()
                        ),
                    );
                }
                self.check_dead("S6", item, &from.holder);
                self.check_claim(step.item, old, new, to);
                self.coverage.count("taken_at_once");
            }
            (LedgerState::Idle, LedgerState::Running(run)) => {
                let owner = step.before.owner.as_ref().map(|owner| &owner.value);
                if owner != Some(&run.holder) {
                    let text = format!(
                        "item {item} of {owner:?} was claimed by another instance: {}",
                        new.summary()
                    );
                    self.fail("S2", text);
                }
                self.check_claim(step.item, old, new, run);
                self.check_caught_up(step.item, old, new, run);
            }
            (LedgerState::Orphan(_), LedgerState::Running(run)) => {
                self.check_claim(step.item, old, new, run);
            }
            (LedgerState::Running(run), LedgerState::Orphan(_)) => {
                self.check_end(writer, "S6", item, run);
            }
            (LedgerState::Running(run), LedgerState::Idle) => {
                self.check_end(writer, "S7", item, run);
                self.note_end(item, run, new.outcome);
            }
            (LedgerState::Orphan(run), LedgerState::Idle) => {
                self.note_end(item, run, new.outcome);
            }
            _ => {}
        }
    }

    /// Checks that no record accounts for a fire further in the future than clocks may differ, so
    /// that wrong clocks have no lasting effect.
    fn check_future(&mut self, step: &Step) {
        let settled = |view: &ItemView| view.ledger.as_ref()?.value.settled_until();
        let after = settled(&step.after).filter(|after| Some(*after) != settled(&step.before));
        let ahead_ms = after.map_or(0, |FireTime(after)| after - self.true_wall());
        if ahead_ms > product::MAX_TIME_DIFF_MS {
            let text = format!(
                "the record of item {} accounts for a fire {ahead_ms} ms in the future",
                step.item
            );
            self.fail("S14", text);
        }
    }

    /// Checks that waiting requests and noted fires leave a record only with their run, or if the
    /// item may not run.
    fn check_kept(&mut self, step: &Step, old: &Ledger, new: &Ledger) {
        let begun = new.running().filter(|_| new.token > old.token);
        let dropped = new.state == LedgerState::Retired || step.before.is_disabled();
        if let Some(asked) = old.request.as_ref().filter(|_| new.request != old.request) {
            let answered =
                begun.is_some_and(|run| run.source == RunSource::Manual && run.fire == asked.at);
            if answered {
                self.tracked.asked.entry((step.item, asked.at)).or_default().answered += 1;
                if !self.tracked.answered.insert((step.item, asked.id.clone())) {
                    let text = format!("item {} ran twice for request {}", step.item, asked.id);
                    self.fail("S1a", text);
                }
            }
            if !answered && !dropped {
                let text = format!(
                    "the request of {} for item {} was dropped without a run",
                    asked.at, step.item
                );
                self.fail("S3", text);
            }
        }
        if let Some(noted) = old.misfire.filter(|_| new.misfire.is_none()) {
            let merged = begun.and_then(|run| run.merged);
            let played = merged.is_some_and(|m| m.first <= noted.first && noted.last <= m.last);
            if !played && !dropped {
                let text = format!(
                    "the noted fires of item {} were dropped without a run: {noted:?}",
                    step.item
                );
                self.fail("S3", text);
            }
        }
    }

    fn check_claim(&mut self, item: ShardingItem, old: &Ledger, new: &Ledger, run: &Run) {
        let view = self.observer.view();
        let registered = view.is_registered(&run.holder);
        let enabled =
            coordination::server_of(&run.holder).is_some_and(|server| view.is_enabled(&server));
        let state =
            coordination::server_of(&run.holder).and_then(|server| view.server_state(&server));
        let paused = state == Some(ServerState::Paused);
        if !registered {
            self.fail(
                "S2",
                format!("item {item} was claimed by an unregistered instance: {}", new.summary()),
            );
        }
        if !enabled {
            let text = format!("item {item} was claimed on a disabled server: {}", new.summary());
            self.fail("S10", text);
        }
        if paused {
            let text = format!("item {item} was claimed on a paused server: {}", new.summary());
            self.fail("S10", text);
        }
        if old.disabled && run.source != RunSource::Failover {
            self.fail("S10", format!("disabled item {item} was claimed: {}", new.summary()));
        }
        if self.tracked.left.contains(&run.holder) {
            let text = format!("item {item} was claimed by {}, which has left", run.holder);
            self.fail("S12", text);
        }
        if new.token <= old.token {
            self.fail("S1", format!("item {item} was claimed under an old token"));
        }
    }

    /// Checks that the holder itself ended the run, or that its session has ended. A missing
    /// instance node proves nothing.
    fn check_end(&mut self, writer: Option<SessionId>, id: &str, item: ShardingItem, run: &Run) {
        let process = writer.and_then(|id| self.sessions.get(&id)).map(|session| session.process);
        let instance = self.tracked.instances.get(&run.holder);
        let own = instance.is_some_and(|(_, of)| Some(*of) == process);
        if !own {
            self.check_dead(id, item, &run.holder);
        }
    }

    /// Checks that the session of an instance has ended, before a run is taken from it.
    fn check_dead(&mut self, id: &str, item: ShardingItem, holder: &InstanceId) {
        let instance = self.tracked.instances.get(holder);
        if instance.is_some_and(|(session, _)| self.sessions.contains_key(session)) {
            self.fail(
                id,
                format!("a run of item {item} was taken from {holder}, whose session lives"),
            );
        }
    }

    fn note_end(&mut self, item: ShardingItem, run: &Run, outcome: Option<Outcome>) {
        if let Some(asked) = self.tracked.asked.get_mut(&(item, run.fire)) {
            asked.done += u32::from(outcome != Some(Outcome::Interrupted));
            if asked.done > asked.answered {
                self.fail("S1a", format!("item {item} was completed again for {}", run.fire));
            }
            return;
        }
        if outcome == Some(Outcome::Interrupted) {
            self.coverage.count("abandoned");
            self.tracked.abandoned.insert((item, run.fire));
            return;
        }
        if !self.tracked.done.insert((item, run.fire)) {
            self.fail("S1a", format!("item {item} was completed twice for {}", run.fire));
        }
        if let Some(range) = run.merged {
            let period = i64::from(self.settings.period) * 1_000;
            let mut fire = range.first.0;
            while fire < range.last.0 {
                self.tracked.done.insert((item, FireTime(fire)));
                fire += period;
            }
        }
    }

    /// Checks that an instance that has left is unregistered and holds no run, unless its session
    /// has ended anyway.
    pub(crate) fn check_leave(&mut self, index: usize) {
        let node = &self.nodes[index];
        let session_lives = node.session.is_some_and(|id| self.sessions.contains_key(&id));
        let Some(instance) = node.instance.clone().filter(|_| session_lives) else { return };
        let view = self.observer.view();
        let runs = |of: &ItemView| {
            let ledger = of.ledger.as_ref().map(|ledger| &ledger.value);
            ledger.and_then(Ledger::running).is_some_and(|run| run.holder == instance)
        };
        let running = view.items().find(|(_, of)| runs(of)).map(|(item, _)| item);
        let is_registered = view.is_registered(&instance);
        if is_registered || running.is_some() {
            let text = format!(
                "{instance} has left, but: registered {is_registered}, holds a run of {running:?}"
            );
            self.fail("S12", text);
        }
        self.tracked.left.insert(instance);
    }

    pub(crate) fn check_call(&mut self, token: FencingToken) {
        if !self.tracked.calls.insert(token) {
            self.fail("S13", format!("a callback was called twice under token {token}"));
        }
    }

    /// Checks that a claimed run starts once, and that no run starts where the item is running
    /// already.
    pub(crate) fn check_start(&mut self, index: usize, start: &StartItem) {
        let (item, token) = (start.item, start.token);
        if token == FencingToken::UNFENCED {
            *self.tracked.unclaimed.entry((item, start.fire)).or_default() += 1;
        } else if !self.tracked.started.insert((item, token)) {
            self.fail("S1", format!("item {item} under token {token} was started twice"));
        }
        self.check_begin(index, start);
        self.check_parameter_at_start(start);
        if self.nodes[index].runs.iter().any(|exec| exec.item == item) {
            self.fail("S1", format!("item {item} was started while it runs in the same process"));
        }
    }
}

impl Step {
    fn moves(&self) -> bool {
        let owner = |view: &ItemView| view.owner.as_ref().map(|owner| owner.value.clone());
        owner(&self.before) != owner(&self.after)
    }

    /// Returns true if a run was replaced by another run in one write.
    fn is_taken_at_once(&self) -> bool {
        let run = |view: &ItemView| {
            let ledger = &view.ledger.as_ref()?.value;
            ledger.running().is_some().then_some(ledger.token)
        };
        run(&self.before).zip(run(&self.after)).is_some_and(|(before, after)| before != after)
    }
}
