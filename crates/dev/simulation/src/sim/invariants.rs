//! Invariants that must hold after every write. The ids are those of the project's guarantees.
//!
//! These checks stop a run at the first wrong write. The crate `promises` has the rules that the
//! exhaustive model shares; this module adds those about time, repeated runs, calls and starts. The
//! checker judges the complete history by rules of its own, on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::internals::ViewQueries as _;
use coordination::{
    FencingToken, FireTime, ItemView, JobView, Ledger, LedgerState, Outcome, Run, ServerIp, Slot,
    StartItem,
};
use promises::{Finding, ItemChange, Leadership, Write};
use reg_center::{Change, Op, SessionId, Txn};
use sharding::{InstanceId, ShardingItem};

use super::product::{self, Subject};
use super::world::World;

/// State of the run so far that the checks need.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    /// Session and process (node and incarnation) of each instance.
    instances: BTreeMap<InstanceId, (SessionId, (usize, u32))>,
    /// Runs that were started under a token.
    started: BTreeSet<(Slot, FencingToken)>,
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
    /// Items that have run for a manual request, by the request's id and time. The requests of a
    /// backfill have one id.
    answered: BTreeSet<(ShardingItem, Arc<str>, FireTime)>,
    /// Requests of each moment, of which there can be several.
    asked: BTreeMap<(ShardingItem, FireTime), Asked>,
    /// Parameter of each request, by its id.
    pub(crate) requests: BTreeMap<String, Option<String>>,
    /// Scheduled fires that were claimed and whose run was interrupted.
    pub(crate) abandoned: BTreeSet<(ShardingItem, FireTime)>,
    /// Removals of servers that leaders decided by a torn view: it showed the counter of requests
    /// as an instance of the server had raised it, and not yet the instance.
    torn_expiries: BTreeSet<(SessionId, ServerIp)>,
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
    /// Returns the process that an instance belongs to.
    pub(crate) fn process_of(&self, instance: &InstanceId) -> Option<(usize, u32)> {
        self.instances.get(instance).map(|(_, process)| *process)
    }

    pub(crate) fn note_instance(
        &mut self,
        instance: InstanceId,
        session: SessionId,
        of: (usize, u32),
    ) {
        self.instances.insert(instance, (session, of));
    }
}

impl World {
    /// Checks the invariants after a write.
    pub(crate) fn check_write(&mut self, writer: Option<SessionId>, changes: Vec<Change>) {
        let (mut items, mut reports) = (BTreeSet::new(), Vec::new());
        self.check_callbacks(&changes);
        for change in &changes {
            let (Change::Put(node) | Change::Entry(node)) = change else {
                if let Change::Gone { path, .. } = change {
                    match self.paths.subject(path) {
                        Subject::Ledger(item) | Subject::Owner(item) => {
                            items.insert(item);
                        }
                        Subject::Server(server) => self.check_expiry(writer, &server),
                        Subject::Progress(_) | Subject::Other => {}
                    }
                }
                continue;
            };
            if let Subject::Ledger(item) | Subject::Owner(item) = self.paths.subject(&node.path) {
                items.insert(item);
            }
            if let Subject::Progress(item) = self.paths.subject(&node.path) {
                reports.push((item, node.clone()));
            }
            if let Some((id, parameter)) = self.paths.new_request(node) {
                self.tracked.requests.insert(id, parameter);
            }
        }
        let is_backfills =
            |change: &Change| change.path().is_some_and(|path| *path == self.paths.backfills());
        let before_log = changes.iter().any(is_backfills).then(|| self.observer.view().clone());
        let view = self.observer.view();
        let leadership = Leadership::of(view);
        let before: BTreeMap<_, _> =
            items.into_iter().map(|key| (key, view.item(key).clone())).collect();
        self.observe_changes(changes);
        self.check_election(writer, &leadership);
        for (item, node) in reports {
            self.check_progress(writer, item, &node);
        }
        if let Some(before) = before_log {
            self.check_backfills(&before);
        }
        let after = self.observer.view().clone();
        for key in before.keys() {
            let was = |of| before.get(&of).unwrap_or_else(|| after.item(of));
            let change = ItemChange::between(*key, was, |of| after.item(of));
            self.check_promises(writer, &leadership, &change);
            self.check_item(&change);
        }
    }

    /// Returns the instance that owns a session.
    fn instance_of(&self, session: Option<SessionId>) -> Option<&InstanceId> {
        self.sessions.get(&session?).map(|session| &session.instance)
    }

    /// Notes the servers that a node decides to remove, if it cannot know of an instance on them.
    pub(crate) fn note_expiries(&mut self, index: usize, txn: &Txn) {
        let (node, registry) = (&self.nodes[index], self.observer.view());
        let view = node.coordinator.view();
        let Some(session) = node.session else { return };
        let knows_counter = view.resharding_requests() == registry.resharding_requests();
        for op in txn.ops() {
            let Op::Delete { path, .. } = op else { continue };
            let Subject::Server(server) = self.paths.subject(path) else { continue };
            let is_there = |view: &JobView| {
                view.instances().any(|id| coordination::server_of(id).as_ref() == Some(&server))
            };
            if knows_counter && is_there(registry) && !is_there(view) {
                self.tracked.torn_expiries.insert((session, server));
            } else {
                self.tracked.torn_expiries.remove(&(session, server));
            }
        }
    }

    /// Checks the removal of a server. Operators may remove any.
    ///
    /// The counter of requests guards the removal. A leader with a torn view may know a counter and
    /// not yet the instance that raised it, which then creates its server again.
    fn check_expiry(&mut self, writer: Option<SessionId>, server: &ServerIp) {
        if self.instance_of(writer).is_none() {
            return;
        }
        self.coverage.count("expired");
        let key = writer.map(|session| (session, server.clone()));
        if key.is_some_and(|key| self.tracked.torn_expiries.contains(&key)) {
            return self.coverage.count("expired_by_torn_view");
        }
        let found = promises::breach_of_expiry(self.observer.view(), server);
        self.report(found);
    }

    fn check_election(&mut self, writer: Option<SessionId>, before: &Leadership) {
        let Some(instance) = self.instance_of(writer) else { return };
        let after = Leadership::of(self.observer.view());
        let found = promises::breach_of_election(before, &after, instance);
        self.report(found);
    }

    /// Checks the change of an item by the rules that the exhaustive model shares.
    fn check_promises(
        &mut self,
        writer: Option<SessionId>,
        leadership: &Leadership,
        change: &ItemChange<'_>,
    ) {
        let instance = self.instance_of(writer);
        let process = writer.and_then(|id| self.sessions.get(&id)).map(|session| session.process);
        let instances = &self.tracked.instances;
        let is_alive = |id: &InstanceId| {
            instances.get(id).is_some_and(|(session, _)| self.sessions.contains_key(session))
        };
        // A process may end its run in a later session.
        let has_claimed = |_: ShardingItem, _: &Ledger, run: &Run| {
            instances.get(&run.holder).is_some_and(|(_, of)| Some(*of) == process)
        };
        let write = Write {
            view: self.observer.view(),
            writer: instance,
            leads: instance.is_some_and(|instance| leadership.permits(instance)),
            is_alive: &is_alive,
            has_claimed: &has_claimed,
        };
        let found = write.breach_of(change);
        self.report(found);
    }

    /// Records a violation of a rule that the exhaustive model shares.
    pub(crate) fn report(&mut self, found: Option<Finding>) {
        if let Some(Finding { breach, text }) = found {
            self.fail(breach.id(), text);
        }
    }

    /// Checks what only the whole run shows about the change of an item, and notes ended runs.
    fn check_item(&mut self, change: &ItemChange<'_>) {
        let item = change.slot.item;
        self.check_future(change);
        let Some((old, new)) = change.records() else { return };
        self.check_answer(change);
        self.check_parameter(item, old, new);
        if change.replaces_run() {
            self.coverage.count("taken_at_once");
        }
        if let Some(run) = change.begun() {
            self.check_not_left(item, run);
            if old.is_idle() && change.slot.number == 0 {
                self.check_caught_up(item, old, new, run);
            }
        }
        if let (Some(run), LedgerState::Idle) = (old.run(), &new.state) {
            self.note_end(item, run, new.outcome);
        }
    }

    /// Checks that no record accounts for a fire further in the future than clocks may differ, so
    /// that wrong clocks have no lasting effect.
    fn check_future(&mut self, change: &ItemChange<'_>) {
        let settled = |view: &ItemView| view.ledger.as_ref()?.value.settled_until();
        let after = settled(change.after).filter(|after| Some(*after) != settled(change.before));
        let ahead_ms = after.map_or(0, |FireTime(after)| after - self.true_wall());
        if ahead_ms > product::MAX_TIME_DIFF_MS {
            let text = format!(
                "the record of item {} accounts for a fire {ahead_ms} ms in the future",
                change.slot
            );
            self.fail("S14", text);
        }
    }

    /// Checks that only one run answers each request.
    fn check_answer(&mut self, change: &ItemChange<'_>) {
        let Some(request) = change.answered() else { return };
        let item = change.slot.item;
        self.tracked.asked.entry((item, request.at)).or_default().answered += 1;
        if !self.tracked.answered.insert((item, request.id.clone(), request.at)) {
            self.fail("S1a", format!("item {item} ran twice for request {}", request.id));
        }
    }

    fn check_not_left(&mut self, item: ShardingItem, run: &Run) {
        if self.tracked.left.contains(&run.holder) {
            let text = format!("item {item} was claimed by {}, which has left", run.holder);
            self.fail("S12", text);
        }
    }

    fn note_end(&mut self, item: ShardingItem, run: &Run, outcome: Option<Outcome>) {
        let is_cut_short = outcome.is_some_and(Outcome::is_cut_short);
        if let Some(asked) = self.tracked.asked.get_mut(&(item, run.fire)) {
            asked.done += u32::from(!is_cut_short);
            if asked.done > asked.answered {
                self.fail("S1a", format!("item {item} was completed again for {}", run.fire));
            }
            return;
        }
        if is_cut_short {
            let is_cancelled = outcome == Some(Outcome::Cancelled);
            self.coverage.count(if is_cancelled { "cancelled" } else { "abandoned" });
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
        let found = promises::leftover_of(self.observer.view(), &instance);
        self.report(found);
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
        let (item, slot, token) = (start.item, start.slot(), start.token);
        if token == FencingToken::UNFENCED {
            *self.tracked.unclaimed.entry((item, start.fire)).or_default() += 1;
        } else if !self.tracked.started.insert((slot, token)) {
            self.fail("S1", format!("item {slot} under token {token} was started twice"));
        }
        self.check_begin(index, start);
        self.check_parameter_at_start(start);
        if self.nodes[index].runs.iter().any(|exec| exec.slot() == slot) {
            self.fail("S1", format!("item {slot} was started while it runs in the same process"));
        }
    }
}
