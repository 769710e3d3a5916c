//! What must be true after every write. The ids are those of the project's guarantees.
//!
//! The history of a run is judged as a whole by the checker; these checks stop a run at the first bad write.

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

/// What is remembered of the run so far.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// The session and the process of each life: the node and which of its processes.
    lives: BTreeMap<InstanceId, (SessionId, (usize, u32))>,
    /// The runs that were started under a token.
    started: BTreeSet<(ShardingItem, FencingToken)>,
    /// The lives that have left in order.
    left: BTreeSet<InstanceId>,
    /// The tokens of the once-per-cluster calls that were made.
    calls: BTreeSet<FencingToken>,
    /// The token of the last once-per-cluster call that was recorded.
    pub(crate) last_call: u64,
    /// How often each item was started for a fire without being claimed.
    pub(crate) unclaimed: BTreeMap<(ShardingItem, FireTime), u32>,
    /// The scheduled fires of each item that ended in a run, those that were merged into others included.
    pub(crate) done: BTreeSet<(ShardingItem, FireTime)>,
    /// The items that have run for an operator's request, by its id.
    answered: BTreeSet<(ShardingItem, Arc<str>)>,
    /// The requests of each moment, of which there may be several.
    asked: BTreeMap<(ShardingItem, FireTime), Asked>,
    /// What each request that was left tells its runs, by its id.
    pub(crate) requests: BTreeMap<String, Option<String>>,
    /// The scheduled fires that were claimed and whose run nobody finished.
    pub(crate) abandoned: BTreeSet<(ShardingItem, FireTime)>,
}

/// How often an item ran for requests of one moment.
#[derive(Debug, Default)]
struct Asked {
    /// How many requests were answered with a run.
    answered: u32,
    /// How many runs were finished.
    done: u32,
}

impl Truth {
    pub(crate) fn note_life(&mut self, life: InstanceId, session: SessionId, of: (usize, u32)) {
        self.lives.insert(life, (session, of));
    }
}

/// An item before and after a write.
struct Step {
    item: ShardingItem,
    before: ItemView,
    after: ItemView,
}

impl World {
    /// Compares the truth before and after a write.
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
                self.truth.requests.insert(id, parameter);
            }
        }
        let before: Vec<_> =
            items.into_iter().map(|item| (item, self.observer.view().item(item).clone())).collect();
        let leader = (!before.is_empty()).then(|| self.observer.view().leader().cloned()).flatten();
        self.witness_changes(changes);
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

    /// Whoever moves items leads the current term, and is not known to lead no longer.
    fn check_leader(&mut self, writer: Option<SessionId>, leader: Option<InstanceId>) {
        let life = writer.and_then(|id| self.sessions.get(&id)).map(|session| session.life.clone());
        let term = self.paths.term(&self.model);
        if life.is_none() || life != term || leader.is_some_and(|leader| Some(leader) != life) {
            self.fail(
                "S8",
                format!(
                    "items were moved, or taken over at once, by {life:?} in the term of {term:?}"
                ),
            );
        }
    }

    /// Nobody but the leader, the end of its session and operators take the leader's node away.
    fn check_abdication(&mut self, writer: Option<SessionId>, changes: &[Change]) {
        let leader = self.paths.leader();
        let gone = |change: &Change| matches!(change, Change::Gone { path, .. } if *path == leader);
        let life = writer.and_then(|id| self.sessions.get(&id)).map(|session| session.life.clone());
        let Some(life) = life.filter(|_| changes.iter().any(gone)) else { return };
        let leads = self.observer.view().leader().cloned();
        if leads.as_ref() != Some(&life) {
            self.fail("S8", format!("{life} has taken the node of the leader {leads:?} away"));
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
                format!("item {item} went back: {} to {}", old.summary(), new.summary()),
            );
        }
        if step.moves() && old.is_busy() {
            self.fail("S5", format!("item {item} moved under a run: {}", old.summary()));
        }
        self.check_kept(step, old, new);
        self.check_told(item, old, new);
        match (&old.state, &new.state) {
            (LedgerState::Running(from), LedgerState::Running(to))
                if from.holder != to.holder || old.token != new.token =>
            {
                let same = to.fire == from.fire && to.merged == from.merged;
                if to.source != RunSource::Failover || !same {
                    self.fail("S1", format!("item {item} was stolen: {}", new.summary()));
                }
                self.check_dead("S6", item, &from.holder);
                self.check_claim(step.item, old, new, to);
                self.coverage.count("taken_at_once");
            }
            (LedgerState::Idle, LedgerState::Running(run)) => {
                let owner = step.before.owner.as_ref().map(|owner| &owner.value);
                if owner != Some(&run.holder) {
                    self.fail("S2", format!("item {item} of {owner:?}: {}", new.summary()));
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

    /// Nothing of a wrong clock spreads: no record says that a fire was settled which is further in the future than clocks may
    /// differ.
    fn check_future(&mut self, step: &Step) {
        let settled = |view: &ItemView| view.ledger.as_ref()?.value.settled_until();
        let after = settled(&step.after).filter(|after| Some(*after) != settled(&step.before));
        let ahead_ms = after.map_or(0, |FireTime(after)| after - self.true_wall());
        if ahead_ms > product::MAX_TIME_DIFF_MS {
            let text = format!("item {} has settled a fire that is {ahead_ms} ms ahead", step.item);
            self.fail("S14", text);
        }
    }

    /// What waits in a record, a request or noted fires, goes with the run that stands for it, or if the item may not run.
    fn check_kept(&mut self, step: &Step, old: &Ledger, new: &Ledger) {
        let begun = new.running().filter(|_| new.token > old.token);
        let dropped = new.state == LedgerState::Retired || step.before.is_disabled();
        if let Some(asked) = old.request.as_ref().filter(|_| new.request != old.request) {
            let answered =
                begun.is_some_and(|run| run.source == RunSource::Manual && run.fire == asked.at);
            if answered {
                self.truth.asked.entry((step.item, asked.at)).or_default().answered += 1;
                if !self.truth.answered.insert((step.item, asked.id.clone())) {
                    let text = format!("item {} ran twice for request {}", step.item, asked.id);
                    self.fail("S1a", text);
                }
            }
            if !answered && !dropped {
                let text = format!("the request of {} for item {} is gone", asked.at, step.item);
                self.fail("S3", text);
            }
        }
        if let Some(noted) = old.misfire.filter(|_| new.misfire.is_none()) {
            let merged = begun.and_then(|run| run.merged);
            let played = merged.is_some_and(|m| m.first <= noted.first && noted.last <= m.last);
            if !played && !dropped {
                let text = format!("the fires noted for item {} are gone: {noted:?}", step.item);
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
            self.fail("S2", format!("item {item} was claimed by the dead: {}", new.summary()));
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
        if self.truth.left.contains(&run.holder) {
            let text = format!("item {item} was claimed by {}, which has left", run.holder);
            self.fail("S12", text);
        }
        if new.token <= old.token {
            self.fail("S1", format!("item {item} was claimed under an old token"));
        }
    }

    /// A run ends by its holder, or once its holder's session is over; that its node is gone proves nothing.
    fn check_end(&mut self, writer: Option<SessionId>, id: &str, item: ShardingItem, run: &Run) {
        let process = writer.and_then(|id| self.sessions.get(&id)).map(|session| session.process);
        let life = self.truth.lives.get(&run.holder);
        let own = life.is_some_and(|(_, of)| Some(*of) == process);
        if !own {
            self.check_dead(id, item, &run.holder);
        }
    }

    /// The session in which an instance lived, from which an item is taken, is over.
    fn check_dead(&mut self, id: &str, item: ShardingItem, holder: &InstanceId) {
        let life = self.truth.lives.get(holder);
        if life.is_some_and(|(session, _)| self.sessions.contains_key(session)) {
            self.fail(id, format!("item {item} was taken from {holder}, which lives"));
        }
    }

    fn note_end(&mut self, item: ShardingItem, run: &Run, outcome: Option<Outcome>) {
        if let Some(asked) = self.truth.asked.get_mut(&(item, run.fire)) {
            asked.done += u32::from(outcome != Some(Outcome::Interrupted));
            if asked.done > asked.answered {
                self.fail("S1a", format!("item {item} was done again for {}", run.fire));
            }
            return;
        }
        if outcome == Some(Outcome::Interrupted) {
            self.coverage.count("abandoned");
            self.truth.abandoned.insert((item, run.fire));
            return;
        }
        if !self.truth.done.insert((item, run.fire)) {
            self.fail("S1a", format!("item {item} was done twice for {}", run.fire));
        }
        if let Some(range) = run.merged {
            let period = i64::from(self.settings.period) * 1_000;
            let mut fire = range.first.0;
            while fire < range.last.0 {
                self.truth.done.insert((item, FireTime(fire)));
                fire += period;
            }
        }
    }

    /// Whoever has left in order has left nothing, unless its session is over anyway.
    pub(crate) fn check_leave(&mut self, index: usize) {
        let node = &self.nodes[index];
        let lives = node.session.is_some_and(|id| self.sessions.contains_key(&id));
        let Some(life) = node.life.clone().filter(|_| lives) else { return };
        let view = self.observer.view();
        let runs = |of: &ItemView| {
            let ledger = of.ledger.as_ref().map(|ledger| &ledger.value);
            ledger.and_then(Ledger::running).is_some_and(|run| run.holder == life)
        };
        let running = view.items().find(|(_, of)| runs(of)).map(|(item, _)| item);
        let is_registered = view.is_registered(&life);
        if is_registered || running.is_some() {
            let text = format!("{life} has left: registered {is_registered}, runs {running:?}");
            self.fail("S12", text);
        }
        self.truth.left.insert(life);
    }

    pub(crate) fn check_call(&mut self, token: FencingToken) {
        if !self.truth.calls.insert(token) {
            self.fail("S13", format!("a callback was called twice under token {token}"));
        }
    }

    /// A claimed run begins once. A run that is not claimed begins where the item does not run already.
    pub(crate) fn check_start(&mut self, index: usize, start: &StartItem) {
        let (item, token) = (start.item, start.token);
        if token == FencingToken(0) {
            *self.truth.unclaimed.entry((item, start.fire)).or_default() += 1;
        } else if !self.truth.started.insert((item, token)) {
            self.fail("S1", format!("item {item} under token {token} was started twice"));
        }
        self.check_begin(index, start);
        self.check_told_at_start(start);
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

    /// A run was replaced by another one.
    fn is_taken_at_once(&self) -> bool {
        let run = |view: &ItemView| {
            let ledger = &view.ledger.as_ref()?.value;
            ledger.running().is_some().then_some(ledger.token)
        };
        run(&self.before).zip(run(&self.after)).is_some_and(|(before, after)| before != after)
    }
}
