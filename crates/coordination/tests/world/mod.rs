//! The simulated cluster: nodes, a registry model, a scheduler of steps, and the properties that must hold.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use coordination::{
    Command, Coordinator, Event, FencingToken, FireTime, Identity, ItemView, JobConfig, JobEvent,
    JobName, JobView, Layout, LedgerState, Now, Outcome, Phase, Reply, Run, RunSource, ServerIp,
    Ticket, encode_config, instance_id,
};
use reg_center::model::Model;
use reg_center::{Change, Lifetime, NodePath, SessionId, Txn, TxnOutcome};
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

const PERIOD_MS: i64 = 1_000;

/// A small generator with a full period: the same seed, the same run, on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % u64::try_from(n).unwrap()).unwrap()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.roll().is_multiple_of(n)
    }
}

/// What may happen in a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chaos {
    pub(crate) faults: bool,
    pub(crate) operators: bool,
    pub(crate) failover: bool,
    pub(crate) steps: usize,
}

/// What has happened in runs: a run whose faults hit nothing proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coverage {
    pub(crate) runs: usize,
    pub(crate) failovers: usize,
    pub(crate) misfires: usize,
    pub(crate) reshards: usize,
    pub(crate) elections: usize,
    pub(crate) lost_replies: usize,
    pub(crate) expiries_while_running: usize,
    pub(crate) fenced: usize,
    pub(crate) conflicts: usize,
    pub(crate) manual: usize,
    pub(crate) left: usize,
    pub(crate) deferred_moves: usize,
}

impl Coverage {
    pub(crate) fn rows(&self) -> [(&'static str, usize); 12] {
        [
            ("a run", self.runs),
            ("a failover", self.failovers),
            ("a misfire", self.misfires),
            ("a resharding", self.reshards),
            ("an election", self.elections),
            ("a lost reply", self.lost_replies),
            ("an expiry while running", self.expiries_while_running),
            ("a fenced run", self.fenced),
            ("a conflict", self.conflicts),
            ("a manual run", self.manual),
            ("a graceful leave", self.left),
            ("a deferred move", self.deferred_moves),
        ]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.failovers += other.failovers;
        self.misfires += other.misfires;
        self.reshards += other.reshards;
        self.elections += other.elections;
        self.lost_replies += other.lost_replies;
        self.expiries_while_running += other.expiries_while_running;
        self.fenced += other.fenced;
        self.conflicts += other.conflicts;
        self.manual += other.manual;
        self.left += other.left;
        self.deferred_moves += other.deferred_moves;
    }
}

struct PendingCommit {
    ticket: Ticket,
    txn: Txn,
    confirm_absent: Vec<NodePath>,
}

/// One process.
struct Node {
    coordinator: Coordinator,
    server: ServerIp,
    session: Option<SessionId>,
    /// The network lets requests and changes through.
    linked: bool,
    feed: VecDeque<Change>,
    commits: VecDeque<PendingCommit>,
    replies: VecDeque<(Ticket, Reply)>,
    fires: VecDeque<FireTime>,
    /// The ids that this process has had.
    lives: BTreeSet<InstanceId>,
    executing: BTreeSet<(ShardingItem, FencingToken)>,
    interrupted: bool,
    left: bool,
}

impl Node {
    /// Appends a change; or, as the contract promises order per node only, puts it some places earlier, yet never
    /// before another change of the same node, nor into a snapshot.
    fn enqueue(&mut self, change: Change, earlier: Option<usize>) {
        let path = |change: &Change| match change {
            Change::Entry(node) | Change::Put(node) => Some(node.path.clone()),
            Change::Gone { path, .. } => Some(path.clone()),
            Change::Init | Change::Ready => None,
        };
        let mine = path(&change);
        let movable = |other: &&Change| path(other).is_some_and(|other| Some(other) != mine);
        let room = self.feed.iter().rev().take_while(movable).count();
        let at = self.feed.len() - earlier.unwrap_or_default().min(room);
        self.feed.insert(at, change);
    }
}

/// The cluster.
pub(crate) struct World {
    seed: u64,
    dice: Dice,
    chaos: Chaos,
    model: Model,
    layout: Layout,
    nodes: Vec<Node>,
    /// Sees every change at once; its view is the truth.
    observer: Coordinator,
    operator: SessionId,
    now: Now,
    lives: u32,
    /// The session of each life.
    sessions: BTreeMap<InstanceId, SessionId>,
    /// Sessions of processes that have left.
    lingering: Vec<SessionId>,
    next_fire: i64,
    total: u32,
    started: BTreeSet<(ShardingItem, FencingToken)>,
    done: BTreeMap<(ShardingItem, FireTime), Vec<RunSource>>,
    log: VecDeque<String>,
    digest: u64,
    pub(crate) missed: usize,
    pub(crate) coverage: Coverage,
}

fn job() -> JobName {
    JobName::new("sim").unwrap()
}

impl World {
    pub(crate) fn new(seed: u64, nodes: usize, total: u32, chaos: Chaos) -> Self {
        let mut model = Model::new();
        let operator = model.open_session();
        let observer = Coordinator::new(
            Identity { job: job(), server: ServerIp::new("192.0.2.1").unwrap() },
            StrategyRegistry::default(),
        );
        let mut world = Self {
            seed,
            dice: Dice(seed),
            chaos,
            model,
            layout: Layout::new(&job()),
            nodes: Vec::new(),
            observer,
            operator,
            now: Now { wall_ms: 1_700_000_000_000, mono: Duration::ZERO },
            lives: 0,
            sessions: BTreeMap::new(),
            lingering: Vec::new(),
            next_fire: 1_700_000_001_000,
            total,
            started: BTreeSet::new(),
            done: BTreeMap::new(),
            log: VecDeque::new(),
            digest: 0,
            missed: 0,
            coverage: Coverage::default(),
        };
        for change in [Change::Init, Change::Ready] {
            world.observer.handle(world.now, Event::Registry(vec![change]), &mut Vec::new());
        }
        world.write_config(true);
        for index in 0..nodes {
            let node = world.new_node(index);
            world.nodes.push(node);
            world.connect(index);
        }
        world
    }

    fn config(&self) -> JobConfig {
        JobConfig {
            cron: Some("* * * * * ?".into()),
            failover: self.chaos.failover,
            ..JobConfig::new(job(), self.total)
        }
    }

    fn write_config(&mut self, first: bool) {
        let text = encode_config(&self.config());
        let path = self.layout.config_path();
        let txn = if first {
            Txn::new().create(path, text, Lifetime::Persistent)
        } else {
            Txn::new().put(path, text)
        };
        self.operate(&txn);
    }

    fn new_node(&mut self, index: usize) -> Node {
        let server = ServerIp::new(&format!("10.0.0.{}", index + 1)).unwrap();
        let identity = Identity { job: job(), server: server.clone() };
        Node {
            coordinator: Coordinator::new(identity, StrategyRegistry::default()),
            server,
            session: None,
            linked: true,
            feed: VecDeque::new(),
            commits: VecDeque::new(),
            replies: VecDeque::new(),
            fires: VecDeque::new(),
            lives: BTreeSet::new(),
            executing: BTreeSet::new(),
            interrupted: false,
            left: false,
        }
    }

    // ---- telling nodes ----

    fn tell(&mut self, index: usize, event: Event) {
        self.note(format!("{index} <- {event}"));
        let mut commands = Vec::new();
        self.nodes[index].coordinator.handle(self.now, event, &mut commands);
        for command in commands {
            self.note(format!("{index} -> {command}"));
            self.obey(index, command);
        }
    }

    fn note(&mut self, line: String) {
        for byte in line.bytes() {
            self.digest = self.digest.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte);
        }
        self.log.push_back(line);
        if self.log.len() > 120 {
            self.log.pop_front();
        }
    }

    fn obey(&mut self, index: usize, command: Command) {
        match command {
            Command::Commit { ticket, txn, confirm_absent, .. } => {
                self.nodes[index].commits.push_back(PendingCommit { ticket, txn, confirm_absent });
            }
            Command::Start(items) => {
                for start in items {
                    self.coverage.runs += 1;
                    let run = (start.item, start.token);
                    assert!(self.started.insert(run), "{run:?} started twice; {}", self.story());
                    self.nodes[index].executing.insert(run);
                }
            }
            Command::Interrupt(_) => self.nodes[index].interrupted = true,
            Command::CallOnce { stage, token, .. } => {
                self.tell(index, Event::OnceReturned { stage, token });
            }
            Command::Left => {
                self.nodes[index].left = true;
                self.coverage.left += 1;
            }
            Command::LeaveRequested => self.tell(index, Event::Drain),
            Command::Schedule(_) => {}
            Command::Emit(event) => self.witness(event),
        }
    }

    fn witness(&mut self, event: JobEvent) {
        match event {
            JobEvent::Missed { .. } => self.missed += 1,
            JobEvent::Fenced { .. } => self.coverage.fenced += 1,
            JobEvent::Resharded { deferred, .. } => {
                self.coverage.reshards += 1;
                self.coverage.deferred_moves += deferred;
            }
            JobEvent::BecameLeader { .. } => self.coverage.elections += 1,
            JobEvent::Claimed { source: RunSource::Failover, .. } => self.coverage.failovers += 1,
            JobEvent::Claimed { source: RunSource::Misfire, .. } => self.coverage.misfires += 1,
            JobEvent::Claimed { source: RunSource::Manual, .. } => self.coverage.manual += 1,
            _ => {}
        }
    }

    fn connect(&mut self, index: usize) {
        let live = self.nodes[index].session.filter(|session| self.model.is_live(*session));
        if live.is_none() && self.nodes[index].session.is_some() {
            self.tell(index, Event::Lost);
        }
        let session = live.unwrap_or_else(|| self.model.open_session());
        self.nodes[index].session = Some(session);
        self.nodes[index].linked = true;
        self.lives += 1;
        let incarnation =
            instance_id(&self.nodes[index].server, &format!("7-{}", self.lives)).unwrap();
        if live.is_none() {
            self.sessions.insert(incarnation.clone(), session);
            self.nodes[index].lives.insert(incarnation.clone());
        }
        self.tell(index, Event::Connected { session, incarnation });
        self.relist(index);
    }

    fn relist(&mut self, index: usize) {
        let root = self.layout.root();
        let entries = self.model.subtree(&root).cloned().map(Change::Entry);
        let snapshot = std::iter::once(Change::Init).chain(entries).chain([Change::Ready]);
        self.nodes[index].feed = snapshot.collect();
    }

    // ---- the registry ----

    fn operate(&mut self, txn: &Txn) {
        let (_, changes) = self.model.commit(self.operator, txn.ops()).unwrap();
        self.publish(None, changes);
    }

    fn publish(&mut self, writer: Option<usize>, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let before = self.observer.view().clone();
        for change in changes {
            for node in self.nodes.iter_mut().filter(|node| node.linked) {
                let late = self.chaos.faults && self.dice.one_in(3);
                node.enqueue(change.clone(), late.then(|| self.dice.below(8)));
            }
            self.observer.handle(self.now, Event::Registry(vec![change]), &mut Vec::new());
        }
        self.check(writer, &before);
    }

    fn execute(&mut self, index: usize) {
        let Some(commit) = self.nodes[index].commits.pop_front() else { return };
        let session = self.nodes[index].session;
        let bound = commit.txn.session();
        if !self.nodes[index].linked || bound != session {
            self.nodes[index].replies.push_back((commit.ticket, Reply::NotExecuted));
            return;
        }
        if commit.confirm_absent.iter().any(|path| self.model.read(path).is_some()) {
            self.nodes[index].replies.push_back((commit.ticket, Reply::HolderAlive));
            return;
        }
        if self.chaos.faults && self.dice.one_in(40) {
            self.nodes[index].replies.push_back((commit.ticket, Reply::Unknown));
            self.coverage.lost_replies += 1;
            return;
        }
        let result = self.model.commit(session.unwrap(), commit.txn.ops());
        let reply = match result {
            Ok((TxnOutcome::Committed(committed), changes)) => {
                self.publish(Some(index), changes);
                Reply::Committed(committed.revision)
            }
            Ok((TxnOutcome::Conflict(conflict), _)) => {
                self.coverage.conflicts += 1;
                Reply::Conflict(conflict)
            }
            Err(_) => Reply::NotExecuted,
        };
        let lost = self.chaos.faults && self.dice.one_in(40);
        self.coverage.lost_replies += usize::from(lost);
        let reply = if lost { Reply::Unknown } else { reply };
        self.nodes[index].replies.push_back((commit.ticket, reply));
    }

    // ---- the properties ----

    /// Whoever moves items leads, or led last.
    fn check_leader(&self, writer: Option<usize>, before: &JobView) {
        let owners = |view: &JobView| {
            let owner = |of: &ItemView| of.owner.as_ref().map(|owner| owner.value.clone());
            view.items().map(|(item, of)| (item, owner(of))).collect::<Vec<_>>()
        };
        let (Some(index), Some(leader)) = (writer, before.leader()) else { return };
        if owners(before) != owners(self.observer.view()) {
            let me = self.nodes[index].coordinator.instance();
            assert_eq!(me, Some(leader), "S8: resharded by another; {}", self.story());
        }
    }

    /// Compares the truth before and after a write. Property ids are those of the project's guarantees.
    fn check(&mut self, writer: Option<usize>, before: &JobView) {
        self.check_leader(writer, before);
        let after = self.observer.view();
        let mut finished = Vec::new();
        for index in 0..64 {
            let item = ShardingItem::new(index);
            let (old, new) = (before.item(item), after.item(item));
            let (old_ledger, new_ledger) = match (&old.ledger, &new.ledger) {
                (Some(old), Some(new)) => (&old.value, &new.value),
                (Some(_), None) => panic!("the record of {item} was deleted; {}", self.story()),
                (None, _) => continue,
            };
            assert!(
                new_ledger.token >= old_ledger.token
                    && new_ledger.last_fire >= old_ledger.last_fire,
                "S1: {item} went back; {}",
                self.story()
            );
            if old.owner.as_ref().map(|o| &o.value) != new.owner.as_ref().map(|o| &o.value) {
                assert!(!old_ledger.is_busy(), "S5: {item} moved under a run; {}", self.story());
            }
            match (&old_ledger.state, &new_ledger.state) {
                (LedgerState::Running(from), LedgerState::Running(to)) => {
                    assert_eq!(from.holder, to.holder, "S1: {item} stolen; {}", self.story());
                    assert_eq!(old_ledger.token, new_ledger.token, "S1; {}", self.story());
                }
                (LedgerState::Idle, LedgerState::Running(run)) => {
                    let owns = old.owner.as_ref().is_some_and(|owner| owner.value == run.holder);
                    assert!(owns, "S2: {item} claimed by {}; {}", run.holder, self.story());
                    assert!(after.is_registered(&run.holder), "S2: dead claim; {}", self.story());
                    assert!(self.is_enabled(before, run), "S10: disabled server; {}", self.story());
                    assert!(new_ledger.token > old_ledger.token, "S1; {}", self.story());
                }
                (LedgerState::Orphan(_), LedgerState::Running(run)) => {
                    assert!(after.is_registered(&run.holder), "S2: dead taker; {}", self.story());
                    assert!(self.is_enabled(before, run), "S10: disabled server; {}", self.story());
                    assert!(new_ledger.token > old_ledger.token, "S1; {}", self.story());
                }
                (LedgerState::Running(run), LedgerState::Orphan(_)) => {
                    let own = self.is_life_of(writer, &run.holder);
                    let dead = self.is_dead(&run.holder);
                    assert!(own || dead, "S6: {item} taken from the living; {}", self.story());
                }
                (LedgerState::Running(run), LedgerState::Idle) => {
                    let own = self.is_life_of(writer, &run.holder);
                    let dead = self.is_dead(&run.holder);
                    assert!(own || dead, "S7: {item} completed by another; {}", self.story());
                    finished.push((item, run.fire, run.source, new_ledger.outcome));
                }
                _ => {}
            }
        }
        for (item, fire, source, outcome) in finished {
            if outcome != Some(Outcome::Interrupted) && source != RunSource::Manual {
                let runs = self.done.entry((item, fire)).or_default();
                runs.push(source);
                assert_eq!(runs.len(), 1, "S1a: {item} done twice for {fire}; {}", self.story());
            }
        }
    }

    fn is_enabled(&self, view: &JobView, run: &Run) -> bool {
        coordination::server_of(&run.holder).is_some_and(|server| view.is_enabled(&server))
    }

    fn is_life_of(&self, writer: Option<usize>, holder: &InstanceId) -> bool {
        writer.is_some_and(|index| self.nodes[index].lives.contains(holder))
    }

    /// Its session is over; that its node is gone proves nothing.
    fn is_dead(&self, holder: &InstanceId) -> bool {
        self.sessions.get(holder).is_none_or(|session| !self.model.is_live(*session))
    }

    // ---- what can happen ----

    fn step(&mut self) {
        let index = self.dice.below(self.nodes.len());
        match self.dice.below(12) {
            0..=3 => self.deliver(index),
            4 | 5 => self.execute(index),
            6 | 7 => self.reply(index),
            8 => self.finish_one(index),
            9 => self.deliver_fire(index),
            _ => self.advance(Duration::from_millis(20)),
        }
    }

    fn deliver(&mut self, index: usize) {
        let ready = self.nodes[index].feed.len().min(1 + self.dice.below(4));
        if self.nodes[index].linked && ready > 0 {
            let batch = self.nodes[index].feed.drain(..ready).collect();
            self.tell(index, Event::Registry(batch));
        }
    }

    fn reply(&mut self, index: usize) {
        if let Some((ticket, reply)) = self.nodes[index].replies.pop_front() {
            self.tell(index, Event::Replied { ticket, reply });
        }
    }

    fn finish_one(&mut self, index: usize) {
        let executing: Vec<_> = self.nodes[index].executing.iter().copied().collect();
        if executing.is_empty() {
            return;
        }
        let (item, token) = executing[self.dice.below(executing.len())];
        let outcome = if self.nodes[index].interrupted {
            Outcome::Interrupted
        } else if self.chaos.faults && self.dice.one_in(10) {
            Outcome::Failed
        } else {
            Outcome::Succeeded
        };
        self.end_run(index, item, token, outcome);
    }

    fn end_run(&mut self, index: usize, item: ShardingItem, token: FencingToken, outcome: Outcome) {
        self.nodes[index].executing.remove(&(item, token));
        if self.nodes[index].executing.is_empty() {
            self.nodes[index].interrupted = false;
        }
        self.tell(index, Event::ItemFinished { item, token, outcome });
    }

    fn deliver_fire(&mut self, index: usize) {
        if let Some(at) = self.nodes[index].fires.pop_front() {
            self.tell(index, Event::Fire { at, next: None, missed: Vec::new() });
        }
    }

    fn advance(&mut self, by: Duration) {
        self.now.mono += by;
        self.now.wall_ms += i64::try_from(by.as_millis()).unwrap();
        while self.next_fire <= self.now.wall_ms {
            let at = FireTime(self.next_fire);
            self.next_fire += PERIOD_MS;
            for node in &mut self.nodes {
                node.fires.push_back(at);
            }
        }
        for index in 0..self.nodes.len() {
            let due = self.nodes[index].coordinator.next_wake();
            if due.is_some_and(|at| at <= self.now.mono) {
                self.tell(index, Event::Wake);
            }
        }
    }

    fn fault(&mut self) {
        let index = self.dice.below(self.nodes.len());
        match self.dice.below(6) {
            0 => self.expire(index),
            1 => self.cut(index),
            2 => self.crash(index),
            3 => self.expire_unnoticed(index),
            _ => self.restore(index),
        }
    }

    /// The registry ends the session and the node learns it at once.
    fn expire(&mut self, index: usize) {
        self.note(format!("! session of {index} expires"));
        self.end_session(index);
        self.connect(index);
    }

    fn end_session(&mut self, index: usize) {
        let running = !self.nodes[index].executing.is_empty();
        self.coverage.expiries_while_running += usize::from(running);
        self.nodes[index].linked = false;
        if let Some(session) = self.nodes[index].session {
            let changes = self.model.end_session(session);
            self.publish(None, changes);
        }
    }

    fn cut(&mut self, index: usize) {
        if self.nodes[index].linked {
            self.note(format!("! {index} is cut off"));
            self.nodes[index].linked = false;
            self.tell(index, Event::Suspended);
        }
    }

    fn expire_unnoticed(&mut self, index: usize) {
        self.cut(index);
        self.end_session(index);
        if self.dice.one_in(2) {
            self.tell(index, Event::LeaseExpired);
        }
    }

    fn restore(&mut self, index: usize) {
        if !self.nodes[index].linked {
            self.note(format!("! {index} is back"));
            // Requests that were under way when the connection broke have an unknown outcome.
            let lost: Vec<_> = self.nodes[index].commits.drain(..).map(|c| c.ticket).collect();
            self.nodes[index].replies.extend(lost.into_iter().map(|t| (t, Reply::Unknown)));
            self.connect(index);
        }
    }

    /// The process is gone with everything in it; another one starts on the same server.
    fn crash(&mut self, index: usize) {
        self.note(format!("! {index} crashes"));
        self.end_session(index);
        self.nodes[index] = self.new_node(index);
        self.connect(index);
    }

    fn operate_somehow(&mut self) {
        let index = self.dice.below(self.nodes.len());
        let root = self.layout.root();
        let below = |rest: String| NodePath::parse(&format!("{root}/{rest}")).unwrap();
        let item = self.dice.below(5);
        let server = below(format!("servers/{}", self.nodes[index].server));
        let disabled = below(format!("sharding/{item}/disabled"));
        let leader = below("leader/election/instance".into());
        match self.dice.below(11) {
            9 => self.operate(&Txn::new().delete(leader)),
            10 => self.remove_instance(index, &root),
            0 => self.operate(&Txn::new().put(server, "DISABLED")),
            1 | 2 => self.operate(&Txn::new().put(server, "")),
            3 => self.operate(&Txn::new().create(disabled, "", Lifetime::Persistent)),
            4 => self.operate(&Txn::new().delete(disabled)),
            5 => {
                self.total = [3, 5, 8][self.dice.below(3)];
                self.write_config(false);
            }
            6 => self.tell(index, Event::TriggerRequested),
            7 => {
                let event = if self.dice.one_in(2) { Event::Paused } else { Event::Resumed };
                self.tell(index, event);
            }
            _ => self.tell(index, Event::Drain),
        }
        if self.nodes[index].left {
            self.rejoin(index);
        }
    }

    /// What the console of ElasticJob does to shut an instance down.
    fn remove_instance(&mut self, index: usize, root: &NodePath) {
        if let Some(id) = self.nodes[index].coordinator.instance() {
            let path = NodePath::parse(&format!("{root}/instances/{id}")).unwrap();
            self.operate(&Txn::new().delete(path));
        }
    }

    /// Another process starts in the place of one that has left; the session of the old one may live on, as it does
    /// where other jobs share it.
    fn rejoin(&mut self, index: usize) {
        match self.nodes[index].session {
            Some(session) if self.dice.one_in(2) => self.lingering.push(session),
            Some(_) | None => self.end_session(index),
        }
        self.nodes[index] = self.new_node(index);
        self.connect(index);
    }

    // ---- runs ----

    pub(crate) fn run_chaos(&mut self) {
        for _ in 0..self.chaos.steps {
            self.step();
            if self.chaos.faults && self.dice.one_in(60) {
                self.fault();
            }
            if self.chaos.operators && self.dice.one_in(120) {
                self.operate_somehow();
            }
        }
    }

    /// Lets everything happen that is under way, with fair turns, until nothing is.
    pub(crate) fn run_until_quiet(&mut self) {
        for _ in 0..3_000 {
            for index in 0..self.nodes.len() {
                self.deliver_fire(index);
                self.deliver(index);
                self.execute(index);
                self.reply(index);
                self.finish_one(index);
                if self.nodes[index].left {
                    self.rejoin(index);
                }
            }
            let busy = |node: &Node| {
                !(node.feed.is_empty()
                    && node.commits.is_empty()
                    && node.replies.is_empty()
                    && node.fires.is_empty()
                    && node.executing.is_empty())
            };
            if !self.nodes.iter().any(busy) {
                let waits = self.nodes.iter().filter_map(|node| node.coordinator.next_wake());
                let soon = self.now.mono + Duration::from_secs(40);
                match waits.min().filter(|at| *at < soon) {
                    Some(at) => self.wake_at(at),
                    None => return,
                }
            }
        }
        panic!("it never becomes quiet; {}", self.story());
    }

    /// Moves the clock without firing: only retries happen.
    fn wake_at(&mut self, at: Duration) {
        self.now.mono = self.now.mono.max(at);
        for index in 0..self.nodes.len() {
            self.tell(index, Event::Wake);
        }
    }

    pub(crate) fn settle(&mut self) {
        let chaos = self.chaos;
        self.chaos = Chaos { faults: false, operators: false, ..chaos };
        self.run_until_quiet();
        self.chaos = chaos;
    }

    /// Fires once on every node and returns the fire.
    pub(crate) fn fire_all(&mut self) -> FireTime {
        let at = FireTime(self.next_fire);
        let ahead = u64::try_from(self.next_fire - self.now.wall_ms).unwrap();
        self.advance(Duration::from_millis(ahead));
        at
    }

    pub(crate) fn heal(&mut self) {
        self.note("! everything heals".into());
        self.chaos.faults = false;
        for session in std::mem::take(&mut self.lingering) {
            let changes = self.model.end_session(session);
            self.publish(None, changes);
        }
        let root = self.layout.root();
        for index in 0..self.nodes.len() {
            self.restore(index);
            self.tell(index, Event::Resumed);
            let server = format!("{root}/servers/{}", self.nodes[index].server);
            self.operate(&Txn::new().put(NodePath::parse(&server).unwrap(), ""));
        }
        for item in 0..8 {
            let path = NodePath::parse(&format!("{root}/sharding/{item}/disabled")).unwrap();
            self.operate(&Txn::new().delete(path));
        }
        self.run_until_quiet();
        for (item, of) in self.observer.view().items() {
            let noted = of.ledger.as_ref().and_then(|ledger| ledger.value.misfire);
            assert_eq!(noted, None, "{item} misfired and nobody runs it; {}", self.story());
        }
        for _ in 0..3 {
            self.fire_all();
            self.run_until_quiet();
        }
    }

    /// Everything is where it belongs: one leader, every item owned by somebody available, idle, and done with the
    /// last fire; nothing is queued, shown as running, or of a former life.
    pub(crate) fn assert_healed(&self) {
        let view = self.observer.view();
        let last = FireTime(self.next_fire - PERIOD_MS);
        let leader = view.leader().unwrap_or_else(|| panic!("L3: no leader; {}", self.story()));
        assert!(view.is_available(leader), "L3; {}", self.story());
        for (item, of) in view.items().filter(|(item, _)| item.index() < self.total) {
            let owner = &of.owner.as_ref().unwrap_or_else(|| panic!("L1; {}", self.story())).value;
            assert!(view.is_available(owner), "L1: {item} of {owner}; {}", self.story());
            let ledger = &of.ledger.as_ref().unwrap().value;
            assert!(ledger.is_idle(), "L2: {item} {}; {}", ledger.summary(), self.story());
            assert_eq!(ledger.last_fire, Some(last), "L0: {item} not fired; {}", self.story());
            assert_eq!(ledger.misfire, None, "{item}; {}", self.story());
        }
        for (item, of) in view.items() {
            let litter = of.running || of.queued || of.failover || of.misfire;
            assert!(!litter, "L7: {item} {of:?}; {}", self.story());
            let beyond = item.index() >= self.total && of.owner.is_some();
            assert!(!beyond, "L7: {item} still has an owner; {}", self.story());
        }
        for node in &self.nodes {
            let view_is_true = node.coordinator.view().to_string() == view.to_string();
            assert!(view_is_true, "a view differs from the truth; {}", self.story());
            assert_eq!(node.coordinator.status().phase, Phase::Active, "{}", self.story());
        }
    }

    pub(crate) fn assert_all_ran_since(&self, first: FireTime) {
        let mut fire = first.0;
        while fire < self.next_fire {
            for item in (0..self.total).map(ShardingItem::new) {
                let runs = self.done.get(&(item, FireTime(fire)));
                assert_eq!(runs.map(Vec::len), Some(1), "L0: {item} at {fire}; {}", self.story());
            }
            fire += PERIOD_MS;
        }
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns the seed, the last events and the truth, for the message of a failure.
    pub(crate) fn story(&self) -> String {
        let log: Vec<_> = self.log.iter().map(String::as_str).collect();
        format!("seed {}\n{}\n---- truth\n{}", self.seed, log.join("\n"), self.observer.view())
    }
}
