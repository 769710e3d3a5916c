//! A cluster of coordinators on the registry model, in which a test says what happens and in which order.
//!
//! Nothing happens by itself: changes wait in each instance's feed, commits wait to be executed, replies wait to be
//! delivered, and time stands still. A test moves single steps where the order matters and calls
//! [`Cluster::run_for`] where it does not.

#![allow(dead_code, reason = "every file of stories uses another part of it")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use coordination::{
    Command, Coordinator, Dialect, Duty, Event, FencingToken, FireTime, Identity, JobConfig,
    JobEvent, JobName, JobView, Layout, Ledger, Now, OnceStage, Outcome, Reply, ServerIp,
    StartItem, Ticket, encode_config, instance_id,
};
use reg_center::model::Model;
use reg_center::{Change, Lifetime, NodePath, Scope, SessionId, Txn, TxnOutcome};
use sharding::{
    Assignment, InstanceId, ShardingItem, ShardingStrategy, StrategyInput, StrategyRegistry,
};

/// How many lines of the log a story tells.
const STORY_LINES: usize = 60;
/// How much of each line a story tells, in characters.
const STORY_WIDTH: usize = 200;
/// How many rounds may pass before nothing is left to do: far more than any test needs.
const MAX_ROUNDS: usize = 20_000;

/// How the feed hands over what one transaction has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Each change by itself, so that other things can happen in between.
    ChangeByChange,
    /// All changes of a transaction at once.
    WholeTransactions,
}

/// How many commits there were, and how many of them were refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) commits: usize,
    pub(crate) conflicts: usize,
}

/// A commit that an instance wants and that has yet to reach the registry.
pub(crate) struct Commit {
    instance: usize,
    ticket: Ticket,
    duty: Duty,
    txn: Txn,
    confirm_absent: Vec<NodePath>,
}

impl Commit {
    /// Returns true if it writes something below a node.
    pub(crate) fn is_about(&self, node: &str) -> bool {
        self.txn.ops().iter().any(|op| op.to_string().contains(node))
    }
}

/// One process.
struct Instance {
    coordinator: Coordinator,
    server: ServerIp,
    session: SessionId,
    alive: bool,
    /// How far its wall clock is ahead of the registry's, in milliseconds.
    ahead_ms: i64,
    /// Whether a reply has carried the registry's time.
    knows_time: bool,
    /// What its feed is about.
    scope: Scope,
    feed: VecDeque<Vec<Change>>,
    /// How many changes the registry had to tell it.
    n_told: usize,
    commits: VecDeque<Commit>,
    replies: VecDeque<(Ticket, Reply)>,
    executing: Vec<StartItem>,
    calls: Vec<Call>,
    events: Vec<JobEvent>,
    interrupts: usize,
    /// The configuration whose schedule it was last asked to fire by.
    scheduled: Option<Arc<JobConfig>>,
    left: bool,
}

/// A once-per-cluster callback that an instance was told to call and that has yet to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) stage: OnceStage,
    pub(crate) fire: FireTime,
    pub(crate) token: FencingToken,
}

/// What every coordinator of a cluster is told about itself; the number is that of its instance.
type Options = fn(Coordinator, usize) -> Coordinator;

/// The cluster. Instances are numbered from 0; number `n` is on server `10.0.0.{n + 1}`.
pub(crate) struct Cluster {
    registry: Model,
    layout: Layout,
    operator: SessionId,
    delivery: Delivery,
    instances: Vec<Instance>,
    /// Sees every change at once and decides nothing; its view is the truth.
    observer: Coordinator,
    now: Now,
    traffic: Traffic,
    most_operations: usize,
    most_bytes: usize,
    started: Vec<(usize, StartItem)>,
    options: Options,
    log: Vec<String>,
}

fn job() -> JobName {
    JobName::new("report").unwrap()
}

/// A job with this many items that fires on schedule and takes over what lost instances left unfinished.
pub(crate) fn job_of(items: u32) -> JobConfig {
    JobConfig { cron: Some("* * * * * ?".into()), failover: true, ..JobConfig::new(job(), items) }
}

fn coordinator_on(server: &ServerIp) -> Coordinator {
    let identity = Identity { job: job(), server: server.clone() };
    let mut strategies = StrategyRegistry::default();
    strategies.register(Arc::new(Stranger));
    Coordinator::new(identity, strategies)
}

/// A strategy that gives every item to somebody who is not there.
#[derive(Debug)]
struct Stranger;

impl ShardingStrategy for Stranger {
    fn name(&self) -> &'static str {
        STRANGER
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let stranger = InstanceId::new("10.0.9.9@-@1");
        Assignment::from_owners((0..input.total_count).map(|_| Some(stranger.clone())))
    }
}

/// The name of a strategy that gives every item to somebody who is not there.
pub(crate) const STRANGER: &str = "STRANGER";

impl Cluster {
    /// Returns a cluster whose instances have just connected and know nothing yet.
    pub(crate) fn starting(instances: usize, config: &JobConfig, delivery: Delivery) -> Self {
        Self::starting_with(instances, config, delivery, |coordinator, _| coordinator)
    }

    fn starting_with(
        instances: usize,
        config: &JobConfig,
        delivery: Delivery,
        options: Options,
    ) -> Self {
        let mut registry = Model::new();
        let operator = registry.open_session();
        let mut cluster = Self {
            registry,
            layout: Layout::new(&job()).speaking(config.java.dialect()),
            operator,
            delivery,
            instances: Vec::new(),
            observer: coordinator_on(&ServerIp::new("192.0.2.1").unwrap())
                .speaking(config.java.dialect()),
            now: Now { wall_ms: 1_700_000_000_000, registry_ms: None, mono: Duration::ZERO },
            traffic: Traffic::default(),
            most_operations: 0,
            most_bytes: 0,
            started: Vec::new(),
            options,
            log: Vec::new(),
        };
        cluster.set_registry_clock();
        let empty = Event::Registry(vec![Change::Init, Change::Ready]);
        cluster.observer.handle(cluster.now, empty, &mut Vec::new());
        cluster.create("config", &encode_config(config));
        for _ in 0..instances {
            cluster.join();
        }
        cluster
    }

    /// Returns a cluster whose items are assigned and in which nothing is under way.
    pub(crate) fn settled(instances: usize, config: &JobConfig) -> Self {
        let mut cluster = Self::starting(instances, config, Delivery::ChangeByChange);
        cluster.run_for(Duration::from_secs(2));
        cluster
    }

    /// Returns a settled cluster whose coordinators are told something about themselves.
    pub(crate) fn settled_with(instances: usize, config: &JobConfig, options: Options) -> Self {
        let delivery = Delivery::ChangeByChange;
        let mut cluster = Self::starting_with(instances, config, delivery, options);
        cluster.run_for(Duration::from_secs(2));
        cluster
    }

    /// Returns a job with nobody in it.
    pub(crate) fn unstarted(config: &JobConfig) -> Self {
        Self::starting(0, config, Delivery::ChangeByChange)
    }

    /// Starts one more instance, on a server of its own.
    pub(crate) fn join(&mut self) {
        self.join_as(self.instances.len());
    }

    /// Starts one more instance, on a server of its own, that is told what instance `told_as` is.
    pub(crate) fn join_as(&mut self, told_as: usize) {
        let number = self.instances.len() + 1;
        let server = ServerIp::new(&format!("10.0.0.{number}")).unwrap();
        let incarnation = instance_id(&server, &number.to_string()).unwrap();
        self.start(server, incarnation, told_as);
    }

    /// Kills an instance and starts it again on the same server under the same id, while the session of the first lives
    /// on. Returns the number of the new one.
    pub(crate) fn restart_under_the_same_id(&mut self, instance: usize) -> usize {
        let id = self.id_of(instance).clone();
        let Instance { server, alive, .. } = &mut self.instances[instance];
        *alive = false;
        let server = server.clone();
        self.log.push(format!("{server} is killed and comes back"));
        self.start(server, id, instance);
        self.instances.len() - 1
    }

    fn start(&mut self, server: ServerIp, incarnation: InstanceId, told_as: usize) {
        let session = self.registry.open_session();
        let scope = Scope::all_of(self.layout.root());
        let feed = self.snapshot(&scope);
        self.instances.push(Instance {
            coordinator: (self.options)(coordinator_on(&server), told_as),
            server,
            session,
            alive: true,
            ahead_ms: 0,
            knows_time: false,
            scope,
            feed,
            n_told: 0,
            commits: VecDeque::new(),
            replies: VecDeque::new(),
            executing: Vec::new(),
            calls: Vec::new(),
            events: Vec::new(),
            interrupts: 0,
            scheduled: None,
            left: false,
        });
        let instance = self.instances.len() - 1;
        self.tell(instance, Event::Connected { session, incarnation });
    }

    /// Returns what there is now in a scope, as a feed begins with it.
    fn snapshot(&self, scope: &Scope) -> VecDeque<Vec<Change>> {
        self.delivery.portions(self.registry.snapshot(scope)).into()
    }
}

/// Single steps; those of an instance return false if there was nothing to do.
impl Cluster {
    /// Tells an instance of an event and notes what it answers.
    pub(crate) fn tell(&mut self, instance: usize, event: Event) {
        let server = self.instances[instance].server.clone();
        self.log.push(format!("{server} <- {event}"));
        let mut commands = Vec::new();
        let now = self.now_of(instance);
        self.instances[instance].coordinator.handle(now, event, &mut commands);
        for command in commands {
            self.log.push(format!("{server} -> {command}"));
            self.obey(instance, command);
        }
    }

    fn obey(&mut self, instance: usize, command: Command) {
        let this = &mut self.instances[instance];
        this.interrupts += usize::from(matches!(command, Command::Interrupt(_)));
        match command {
            Command::Commit { ticket, duty, txn, confirm_absent, .. } => {
                this.commits.push_back(Commit { instance, ticket, duty, txn, confirm_absent });
            }
            Command::Start(items) => {
                self.started.extend(items.iter().cloned().map(|start| (instance, start)));
                this.executing.extend(items);
            }
            Command::CallOnce { stage, fire, token } => {
                this.calls.push(Call { stage, fire, token });
            }
            Command::Emit(event) => this.events.push(event),
            Command::Schedule(config) => this.scheduled = Some(config),
            Command::Follow(scope) => {
                let feed = self.snapshot(&scope);
                let this = &mut self.instances[instance];
                (this.scope, this.feed) = (scope, feed);
            }
            Command::Left => this.left = true,
            Command::LeaveRequested => self.tell(instance, Event::Drain),
            Command::Interrupt(_) => {}
        }
    }

    /// Delivers the next portion of an instance's feed.
    pub(crate) fn deliver(&mut self, instance: usize) -> bool {
        let Some(changes) = self.instances[instance].feed.pop_front() else { return false };
        self.tell(instance, Event::Registry(changes));
        true
    }

    /// Executes the oldest commit of an instance; the reply has yet to be delivered.
    pub(crate) fn execute(&mut self, instance: usize) -> bool {
        let Some(commit) = self.instances[instance].commits.pop_front() else { return false };
        let reply = self.commit(&commit);
        let refused = matches!(reply, Reply::Conflict(_) | Reply::HolderAlive);
        self.traffic.commits += 1;
        self.traffic.conflicts += usize::from(refused);
        self.instances[instance].replies.push_back((commit.ticket, reply));
        true
    }

    fn commit(&mut self, commit: &Commit) -> Reply {
        if commit.confirm_absent.iter().any(|path| self.registry.read(path).is_some()) {
            return Reply::HolderAlive;
        }
        self.most_operations = self.most_operations.max(commit.txn.ops().len());
        self.most_bytes = self.most_bytes.max(commit.txn.size());
        let session = self.instances[commit.instance].session;
        if commit.txn.session().is_some_and(|wanted| wanted != session) {
            return Reply::NotExecuted;
        }
        match self.registry.commit(session, commit.txn.ops()) {
            Ok((TxnOutcome::Committed(committed), changes)) => {
                self.publish(changes);
                Reply::Committed(committed.revision)
            }
            Ok((TxnOutcome::Conflict(conflict), _)) => Reply::Conflict(conflict),
            Err(_) => Reply::NotExecuted,
        }
    }

    /// Delivers the oldest reply to an instance.
    pub(crate) fn reply(&mut self, instance: usize) -> bool {
        let reply = self.instances[instance].replies.pop_front();
        let Some((ticket, reply)) = reply else { return false };
        self.tell(instance, Event::Replied { ticket, reply });
        true
    }

    /// Loses the oldest reply to an instance, which learns only that it does not know the outcome.
    pub(crate) fn lose_reply(&mut self, instance: usize) {
        let (ticket, _) = self.instances[instance].replies.pop_front().unwrap();
        self.tell(instance, Event::Replied { ticket, reply: Reply::Unknown });
    }
}

/// Many steps.
impl Cluster {
    /// Delivers everything that waits in an instance's feed.
    pub(crate) fn deliver_all(&mut self, instance: usize) {
        while self.deliver(instance) {}
    }

    /// Delivers everything that waits in an instance's feed at once.
    pub(crate) fn deliver_together(&mut self, instance: usize) {
        let changes = self.instances[instance].feed.drain(..).flatten().collect();
        self.tell(instance, Event::Registry(changes));
    }

    /// Executes all commits of an instance.
    pub(crate) fn execute_all(&mut self, instance: usize) {
        while self.execute(instance) {}
    }

    /// Delivers all replies to an instance.
    pub(crate) fn reply_all(&mut self, instance: usize) {
        while self.reply(instance) {}
    }

    /// Lets the latest portion of an instance's feed overtake the others: order is promised per node only.
    pub(crate) fn let_the_latest_change_overtake(&mut self, instance: usize) {
        let feed = &mut self.instances[instance].feed;
        let latest = feed.pop_back().unwrap();
        feed.push_front(latest);
    }

    /// Delivers what waits in an instance's feed about this node of the job, before everything else.
    pub(crate) fn deliver_only(&mut self, instance: usize, node: &str) {
        let path = self.path(node);
        let about = |change: &Change| change.path() == Some(&path);
        let feed = &mut self.instances[instance].feed;
        let place = feed.iter().position(|changes| changes.iter().any(about));
        let changes = place.and_then(|place| feed.remove(place));
        let changes = changes.unwrap_or_else(|| panic!("no change of {node}\n{}", self.story()));
        self.tell(instance, Event::Registry(changes));
    }

    /// Takes all commits away that have yet to reach the registry; see [`send`](Self::send).
    pub(crate) fn hold_commits_back(&mut self) -> Vec<Commit> {
        self.instances.iter_mut().flat_map(|instance| instance.commits.drain(..)).collect()
    }

    /// Lets an instance decide on everything that it was told, and keeps back what it wants to write as this duty.
    pub(crate) fn hold_back(&mut self, instance: usize, duty: Duty) -> Commit {
        self.deliver_all(instance);
        self.take_back(instance, duty)
    }

    /// Keeps back what an instance has decided to write as this duty.
    pub(crate) fn take_back(&mut self, instance: usize, duty: Duty) -> Commit {
        let commits = &mut self.instances[instance].commits;
        let place = commits.iter().position(|commit| commit.duty == duty);
        let commit = place.and_then(|place| commits.remove(place));
        commit.unwrap_or_else(|| panic!("nothing to write for {duty}\n{}", self.story()))
    }

    /// Returns true if the registry refuses a commit that was held back. Nobody hears of it.
    pub(crate) fn refuses(&mut self, commit: Commit) -> bool {
        let reply = self.commit(&commit);
        self.log.push(format!("a late commit of {}: {reply:?}", commit.duty));
        !matches!(reply, Reply::Committed(_))
    }

    /// Tells who has sent a commit that nobody knows what became of it.
    pub(crate) fn report_unknown(&mut self, commit: &Commit) {
        let event = Event::Replied { ticket: commit.ticket, reply: Reply::Unknown };
        self.tell(commit.instance, event);
    }

    /// Somebody writes a node of the job again as it is.
    pub(crate) fn touch(&mut self, node: &str) {
        let data = self.data_of(node).unwrap_or_else(|| panic!("no {node}\n{}", self.story()));
        self.write(node, &data);
    }

    /// The leader's node is gone, and `instance` is elected; nobody else has heard of either.
    pub(crate) fn elect(&mut self, instance: usize) {
        self.remove("leader/election/instance");
        let election = self.hold_back(instance, Duty::Election);
        assert!(!self.refuses(election), "it is not elected\n{}", self.story());
    }

    /// Sends commits on that were held back.
    pub(crate) fn send(&mut self, commits: Vec<Commit>) {
        for commit in commits {
            self.instances[commit.instance].commits.push_back(commit);
        }
    }

    /// Lets an instance do what is under way, always hearing replies before changes.
    pub(crate) fn settle_with_replies_first(&mut self, instance: usize) {
        while self.reply(instance) || self.execute(instance) || self.deliver(instance) {}
    }

    /// Lets time pass in which all that is under way happens, in fair turns. No fire comes and no run ends.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now.mono + time;
        for _ in 0..MAX_ROUNDS {
            self.settle();
            let wakes = self.living().filter_map(|of| self.instances[of].coordinator.next_wake());
            let Some(wake) = wakes.min().filter(|at| *at <= end) else {
                self.let_time_pass(end.saturating_sub(self.now.mono));
                return;
            };
            self.let_time_pass(wake.saturating_sub(self.now.mono));
            for instance in self.living() {
                self.tell(instance, Event::Wake);
            }
        }
        panic!("it wakes without end\n{}", self.story());
    }

    fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let mut busy = false;
            for instance in self.living() {
                busy |= self.deliver(instance);
                busy |= self.execute(instance);
                busy |= self.reply(instance);
            }
            if !busy {
                return;
            }
        }
        panic!("it never comes to rest\n{}", self.story());
    }

    /// Returns the time of the wall clocks, in milliseconds since 1970 UTC.
    pub(crate) fn wall_ms(&self) -> i64 {
        self.now.wall_ms
    }

    /// Moves the clocks; nobody is told.
    pub(crate) fn let_time_pass(&mut self, time: Duration) {
        self.now.mono += time;
        self.now.wall_ms += i64::try_from(time.as_millis()).unwrap();
        self.set_registry_clock();
    }

    fn set_registry_clock(&mut self) {
        let since_epoch = Duration::from_millis(self.now.wall_ms.unsigned_abs());
        self.registry.set_clock(Some(SystemTime::UNIX_EPOCH + since_epoch));
    }

    /// Sets the wall clocks back; nobody is told.
    pub(crate) fn set_clocks_back(&mut self, time: Duration) {
        self.now.wall_ms -= i64::try_from(time.as_millis()).unwrap();
        self.set_registry_clock();
    }

    fn living(&self) -> impl Iterator<Item = usize> + use<> {
        let living: Vec<_> = (0..self.instances.len()).filter(|of| self.is_alive(*of)).collect();
        living.into_iter()
    }

    fn is_alive(&self, instance: usize) -> bool {
        self.instances[instance].alive
    }
}

/// What happens from outside.
impl Cluster {
    /// Tells all instances that a fire scheduled for this moment is due.
    pub(crate) fn fire(&mut self) -> FireTime {
        self.fire_after(&[])
    }

    /// Returns the time by the clocks of an instance.
    fn now_of(&self, instance: usize) -> Now {
        let Instance { ahead_ms, knows_time, .. } = self.instances[instance];
        let registry_ms = knows_time.then_some(self.now.wall_ms);
        Now { wall_ms: self.now.wall_ms + ahead_ms, registry_ms, ..self.now }
    }

    /// Sets the wall clock of an instance so far ahead of the registry's.
    pub(crate) fn set_clock_ahead(&mut self, instance: usize, ahead_ms: i64) {
        self.instances[instance].ahead_ms = ahead_ms;
    }

    /// Lets an instance know the registry's time from now on.
    pub(crate) fn show_registry_time(&mut self, instance: usize) {
        self.instances[instance].knows_time = true;
        self.tell(instance, Event::Wake);
    }

    /// Passes one instance the fire that is scheduled for this moment by its own clock.
    pub(crate) fn fire_by_own_clock(&mut self, instance: usize) -> FireTime {
        let at = FireTime(self.now_of(instance).wall_ms);
        let next = Some(FireTime(at.0 + 1_000));
        self.tell(instance, Event::Fire { at, next, missed: Vec::new() });
        at
    }

    /// Tells all instances that a fire scheduled for this moment is due, and which ones there were before it; the
    /// schedule has one each second.
    pub(crate) fn fire_after(&mut self, missed: &[FireTime]) -> FireTime {
        let at = FireTime(self.now.wall_ms);
        let next = Some(FireTime(at.0 + 1_000));
        for instance in self.living() {
            self.tell(instance, Event::Fire { at, next, missed: missed.to_vec() });
        }
        at
    }

    /// Lets all once-per-cluster callbacks that were called return; returns them with who called.
    pub(crate) fn return_calls(&mut self) -> Vec<(usize, Call)> {
        let mut returned = Vec::new();
        for instance in self.living() {
            for call in std::mem::take(&mut self.instances[instance].calls) {
                let Call { stage, token, .. } = call;
                self.tell(instance, Event::OnceReturned { stage, token });
                returned.push((instance, call));
            }
        }
        returned
    }

    /// Ends all runs of an instance successfully, at the same moment.
    pub(crate) fn end_runs(&mut self, instance: usize) {
        for StartItem { item, token, .. } in std::mem::take(&mut self.instances[instance].executing)
        {
            let outcome = Outcome::Succeeded;
            self.tell(instance, Event::ItemFinished { item, token, outcome, reason: None });
        }
    }

    /// Ends the run of an item successfully; returns false if it does not run there.
    pub(crate) fn end_run(&mut self, instance: usize, item: u32) -> bool {
        let executing = &mut self.instances[instance].executing;
        let Some(place) = executing.iter().position(|start| start.item.index() == item) else {
            return false;
        };
        let StartItem { item, token, .. } = executing.remove(place);
        let outcome = Outcome::Succeeded;
        self.tell(instance, Event::ItemFinished { item, token, outcome, reason: None });
        true
    }

    /// Ends all runs successfully, at the same moment.
    pub(crate) fn end_all_runs(&mut self) {
        for instance in self.living() {
            self.end_runs(instance);
        }
    }

    /// The process of an instance dies and the registry has noticed.
    pub(crate) fn crash(&mut self, instance: usize) {
        let Instance { server, alive, .. } = &mut self.instances[instance];
        self.log.push(format!("{server} crashes"));
        *alive = false;
        self.end_session(instance);
    }

    /// The registry ends the session of an instance.
    pub(crate) fn end_session(&mut self, instance: usize) {
        let Instance { server, session, .. } = &self.instances[instance];
        self.log.push(format!("the session of {server} ends"));
        let changes = self.registry.end_session(*session);
        self.publish(changes);
    }

    /// The session of an instance ends, its process lives on and hears of it, and of nothing else until
    /// [`connect_again`](Self::connect_again).
    pub(crate) fn lose_session(&mut self, instance: usize) {
        self.end_session(instance);
        let this = &mut self.instances[instance];
        this.alive = false;
        this.feed.clear();
        this.commits.clear();
        this.replies.clear();
        self.tell(instance, Event::Lost);
    }

    /// An instance that has lost its session goes on in another one, as another life.
    pub(crate) fn connect_again(&mut self, instance: usize) {
        let session = self.registry.open_session();
        let feed = self.snapshot(&self.instances[instance].scope);
        let this = &mut self.instances[instance];
        (this.session, this.feed, this.alive) = (session, feed, true);
        let incarnation = instance_id(&this.server, &session.0.to_string()).unwrap();
        self.tell(instance, Event::Connected { session, incarnation });
    }

    /// The connection of an instance is back, in its session.
    pub(crate) fn resume(&mut self, instance: usize) {
        let session = self.instances[instance].session;
        let incarnation = self.id_of(instance).clone();
        self.tell(instance, Event::Connected { session, incarnation });
    }

    /// The session of an instance ends, and its process goes on in another one, under another id.
    pub(crate) fn reconnect(&mut self, instance: usize) {
        self.lose_session(instance);
        self.connect_again(instance);
    }

    /// An operator creates a node of the job.
    pub(crate) fn create(&mut self, node: &str, data: &str) {
        self.log.push(format!("an operator creates {node}: {data:?}"));
        let path = self.path(node);
        self.operate(&Txn::new().create(path, data.to_owned(), Lifetime::Persistent));
    }

    /// An operator overwrites a node of the job.
    pub(crate) fn write(&mut self, node: &str, data: &str) {
        self.log.push(format!("an operator writes {node}: {data:?}"));
        let path = self.path(node);
        self.operate(&Txn::new().put(path, data.to_owned()));
    }

    /// Somebody makes a node of the job hold this, whether it exists or not.
    pub(crate) fn damage(&mut self, node: &str, data: &str) {
        match self.registry.read(&self.path(node)).is_some() {
            true => self.write(node, data),
            false => self.create(node, data),
        }
    }

    /// An operator removes a node of the job.
    pub(crate) fn remove(&mut self, node: &str) {
        self.log.push(format!("an operator removes {node}"));
        let path = self.path(node);
        self.operate(&Txn::new().delete(path));
    }

    /// An operator changes the configuration.
    pub(crate) fn configure(&mut self, config: &JobConfig) {
        self.write("config", &encode_config(config));
    }

    /// An operator's transaction.
    pub(crate) fn operate(&mut self, txn: &Txn) {
        let (outcome, changes) = self.registry.commit(self.operator, txn.ops()).unwrap();
        assert!(outcome.is_committed(), "the operator is refused: {outcome:?}\n{}", self.story());
        self.publish(changes);
    }

    fn path(&self, node: &str) -> NodePath {
        NodePath::parse(&format!("{}/{node}", self.layout.root())).unwrap()
    }

    fn publish(&mut self, changes: Vec<Change>) {
        for instance in &mut self.instances {
            let followed =
                |change: &&Change| change.path().is_none_or(|path| instance.scope.contains(path));
            let told: Vec<_> = changes.iter().filter(followed).cloned().collect();
            instance.n_told += told.len();
            instance.feed.extend(self.delivery.portions(told));
        }
        self.observer.handle(self.now, Event::Registry(changes), &mut Vec::new());
    }
}

/// A Java instance: a session that writes what Java instances write, and looks at no records.
#[derive(Debug)]
pub(crate) struct JavaPeer {
    session: SessionId,
    id: String,
}

impl JavaPeer {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

/// What Java instances do.
impl Cluster {
    /// A Java instance registers.
    pub(crate) fn java_joins(&mut self, ip: &str) -> JavaPeer {
        let java = JavaPeer { session: self.registry.open_session(), id: format!("{ip}@-@4123") };
        let enabled = self.layout.dialect() == Dialect::V3;
        let server = format!("servers/{ip}");
        if self.data_of(&server).is_none() {
            self.create(&server, if enabled { "ENABLED" } else { "" });
        }
        let node = self.path(&format!("instances/{}", java.id));
        self.java_writes(&java, &Txn::new().create(node, "", Lifetime::Ephemeral));
        java
    }

    fn java_writes(&mut self, java: &JavaPeer, txn: &Txn) {
        self.log.push(format!("java {} writes {txn:?}", java.id));
        let (outcome, changes) = self.registry.commit(java.session, txn.ops()).unwrap();
        assert!(outcome.is_committed(), "java is refused: {outcome:?}\n{}", self.story());
        self.publish(changes);
    }

    /// A Java instance finds nobody leading.
    pub(crate) fn java_leads(&mut self, java: &JavaPeer) {
        let node = self.path("leader/election/instance");
        let txn = Txn::new().create(node, java.id.clone(), Lifetime::Ephemeral);
        self.java_writes(java, &txn);
    }

    /// A Java instance has found nobody leading, and writes after somebody else has.
    pub(crate) fn java_replaces_the_leader(&mut self, java: &JavaPeer) {
        let node = self.path("leader/election/instance");
        self.java_writes(java, &Txn::new().delete(node));
        self.java_leads(java);
    }

    /// A Java leader gives an item away: it removes the owner and writes another.
    pub(crate) fn java_assigns(&mut self, java: &JavaPeer, item: u32, owner: &str) {
        let node = self.path(&format!("sharding/{item}/instance"));
        if self.registry.read(&node).is_some() {
            self.java_writes(java, &Txn::new().delete(node.clone()));
        }
        let txn = Txn::new().create(node, owner.to_owned(), Lifetime::Persistent);
        self.java_writes(java, &txn);
    }

    /// A Java instance begins an item.
    pub(crate) fn java_begins(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        self.java_writes(java, &Txn::new().create(node, "", Lifetime::Ephemeral));
    }

    /// A Java instance of 3.x begins an item of a job with failover: its mark is there for good.
    pub(crate) fn java_begins_for_good(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        self.java_writes(java, &Txn::new().create(node, java.id.clone(), Lifetime::Persistent));
    }

    /// A Java instance begins an item that is marked already: it puts its own mark in the place of that one; where marks are
    /// there for good, it writes its name into it.
    pub(crate) fn java_begins_all_the_same(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        let there = self.registry.read(&node).unwrap_or_else(|| panic!("no mark at {node}"));
        if there.stat.owner.is_none() {
            self.java_writes(java, &Txn::new().put(node, java.id.clone()));
            return;
        }
        self.java_writes(java, &Txn::new().delete(node));
        self.java_begins(java, item);
    }

    /// A Java instance stands in line at a latch, `election` or `failover`, with a number of the registry's.
    pub(crate) fn java_stands_in_line(&mut self, java: &JavaPeer, latch: &str, number: u32) {
        let node = self.path(&latch_node(java, latch, number));
        self.java_writes(java, &Txn::new().create(node, "", Lifetime::Ephemeral));
    }

    /// A Java instance has had its turn.
    pub(crate) fn java_leaves_the_line(&mut self, java: &JavaPeer, latch: &str, number: u32) {
        let node = self.path(&latch_node(java, latch, number));
        self.java_writes(java, &Txn::new().delete(node));
    }

    /// A Java instance ends an item.
    pub(crate) fn java_ends(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        self.java_writes(java, &Txn::new().delete(node));
    }

    /// A Java instance takes an item out of the queue and runs it.
    pub(crate) fn java_takes_over(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/failover"));
        let txn = Txn::new().create(node, java.id.clone(), Lifetime::Ephemeral);
        self.java_writes(java, &txn);
        let queued = self.path(&format!("leader/failover/items/{item}"));
        self.java_writes(java, &Txn::new().delete(queued));
        self.java_begins(java, item);
    }

    /// A Java instance ends an item that it has taken over.
    pub(crate) fn java_ends_takeover(&mut self, java: &JavaPeer, item: u32) {
        self.java_ends(java, item);
        let node = self.path(&format!("sharding/{item}/failover"));
        self.java_writes(java, &Txn::new().delete(node));
    }

    /// A Java instance dies, and its session with it.
    pub(crate) fn java_crashes(&mut self, java: &JavaPeer) {
        self.log.push(format!("java {} crashes", java.id));
        let changes = self.registry.end_session(java.session);
        self.publish(changes);
    }
}

fn latch_node(java: &JavaPeer, latch: &str, number: u32) -> String {
    let host = java.session.0;
    format!("leader/{latch}/latch/_c_0e8b0a2c-3f41-4c15-9d3b-{host:012x}-latch-{number:010}")
}

/// What has come of it.
impl Cluster {
    /// Returns what the registry holds.
    pub(crate) fn truth(&self) -> &JobView {
        self.observer.view()
    }

    /// Returns the record of an item.
    pub(crate) fn ledger(&self, item: ShardingItem) -> &Ledger {
        &self.truth().item(item).ledger.as_ref().unwrap().value
    }

    /// Returns who owns an item.
    pub(crate) fn owner(&self, item: u32) -> Option<&InstanceId> {
        self.truth().item(ShardingItem::new(item)).owner.as_ref().map(|owner| &owner.value)
    }

    /// Returns the id of an instance.
    pub(crate) fn id_of(&self, instance: usize) -> &InstanceId {
        self.instances[instance].coordinator.instance().unwrap()
    }

    /// Returns true if the registry shows the instance as a member.
    pub(crate) fn is_registered(&self, instance: usize) -> bool {
        self.truth().is_registered(self.id_of(instance))
    }

    /// Returns what a node of the job holds; `None` if it does not exist.
    pub(crate) fn data_of(&self, node: &str) -> Option<String> {
        let node = self.registry.read(&self.path(node))?;
        Some(String::from_utf8(node.data.to_vec()).unwrap())
    }

    /// Returns what an instance knows.
    pub(crate) fn view_of(&self, instance: usize) -> &JobView {
        self.instances[instance].coordinator.view()
    }

    /// Returns what an instance waits for.
    pub(crate) fn waits_for(&self, instance: usize) -> Option<&'static str> {
        self.instances[instance].coordinator.status().waiting_for
    }

    /// Returns true if an instance has said that it has left.
    pub(crate) fn has_left(&self, instance: usize) -> bool {
        self.instances[instance].left
    }

    /// Returns which instance leads.
    pub(crate) fn leader(&self) -> Option<usize> {
        let leader = self.truth().leader()?;
        self.living().find(|instance| self.id_of(*instance) == leader)
    }

    /// Returns true if an instance has sent a commit of this duty that has yet to reach the registry.
    pub(crate) fn is_sending(&self, instance: usize, duty: Duty) -> bool {
        self.instances[instance].commits.iter().any(|commit| commit.duty == duty)
    }

    /// Lets an instance do one thing after the other until it sends a plan of a duty; fails if it comes to rest before.
    pub(crate) fn step_until_sending(&mut self, instance: usize, duty: Duty) {
        while !self.is_sending(instance, duty) {
            let goes_on = self.deliver(instance) || self.execute(instance) || self.reply(instance);
            assert!(goes_on, "{instance} sends no plan of {duty}\n{}", self.story());
        }
    }

    /// Returns true if an instance has been told to run something and has not ended it.
    pub(crate) fn is_executing(&self, instance: usize) -> bool {
        !self.instances[instance].executing.is_empty()
    }

    /// Returns how many runs an instance was told to begin and has not ended.
    pub(crate) fn n_executing(&self, instance: usize) -> usize {
        self.instances[instance].executing.len()
    }

    /// Returns how often an instance was told to cancel its runs.
    pub(crate) fn interrupts(&self, instance: usize) -> usize {
        self.instances[instance].interrupts
    }

    /// Returns the configuration whose schedule an instance fires by.
    pub(crate) fn scheduled_by(&self, instance: usize) -> Option<&JobConfig> {
        self.instances[instance].scheduled.as_deref()
    }

    /// Returns what an instance has emitted.
    pub(crate) fn events(&self, instance: usize) -> &[JobEvent] {
        &self.instances[instance].events
    }

    /// Returns every run that was started, with the instance that started it, in order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (usize, &StartItem)> {
        self.started.iter().map(|(instance, start)| (*instance, start))
    }

    /// Returns the runs for a fire, in order.
    pub(crate) fn runs_for(&self, fire: FireTime) -> impl Iterator<Item = (usize, &StartItem)> {
        self.runs().filter(move |(_, start)| start.fire == fire)
    }

    /// Returns the items that ran for a fire, once for each run, in ascending order.
    pub(crate) fn items_run_for(&self, fire: FireTime) -> Vec<u32> {
        sorted(self.runs_for(fire))
    }

    /// Returns the items that ran, once for each run, in ascending order.
    pub(crate) fn items_run(&self) -> Vec<u32> {
        sorted(self.runs())
    }

    /// Returns the number of operations of the largest transaction so far.
    pub(crate) fn most_operations(&self) -> usize {
        self.most_operations
    }

    /// Returns the size of the largest transaction so far, in bytes.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Returns which instance calls a once-per-cluster callback.
    pub(crate) fn caller(&self) -> Option<usize> {
        self.living().find(|instance| !self.instances[*instance].calls.is_empty())
    }

    /// Returns the names of the nodes right below a node of the job.
    pub(crate) fn nodes_below(&self, node: &str) -> Vec<String> {
        self.registry.children(&self.path(node)).unwrap_or_default()
    }

    /// Returns how many changes the registry has had to tell an instance.
    pub(crate) fn n_told(&self, instance: usize) -> usize {
        self.instances[instance].n_told
    }

    /// Returns how many commits there were so far.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Tells what happened last and what the registry holds now, for the message of an assertion.
    pub(crate) fn story(&self) -> String {
        let skipped = self.log.len().saturating_sub(STORY_LINES);
        let cut = |line: &String| line.chars().take(STORY_WIDTH).collect::<String>();
        let last: Vec<_> = self.log[skipped..].iter().map(cut).collect();
        format!("{}\n\n{}", last.join("\n"), self.truth())
    }
}

fn sorted<'a>(runs: impl Iterator<Item = (usize, &'a StartItem)>) -> Vec<u32> {
    let mut items: Vec<_> = runs.map(|(_, start)| start.item.index()).collect();
    items.sort_unstable();
    items
}

impl Delivery {
    /// Splits what happened at once into what the feed hands over at once.
    fn portions(self, changes: Vec<Change>) -> Vec<Vec<Change>> {
        match self {
            Self::ChangeByChange => changes.into_iter().map(|change| vec![change]).collect(),
            Self::WholeTransactions if changes.is_empty() => Vec::new(),
            Self::WholeTransactions => vec![changes],
        }
    }
}

impl Traffic {
    /// Returns what came on top of an earlier count.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            commits: self.commits - earlier.commits,
            conflicts: self.conflicts - earlier.conflicts,
        }
    }
}
