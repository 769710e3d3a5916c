//! Test harness: a cluster of coordinators on the registry model, driven step by step.
//!
//! No step happens by itself. Changes wait in each instance's feed, commits wait to be executed,
//! replies wait to be delivered, and the clocks stand still. A test takes single steps where the
//! order matters, and calls [`Cluster::run_for`] where it does not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use coordination::{
    CancelItem, CancelRequest, Command, Coordinator, Dialect, Duty, Event, FencingToken, FireTime,
    Identity, JobConfig, JobEvent, JobName, JobView, Layout, Ledger, MissReason, Now, OnceStage,
    OperatorStep, Outcome, Reply, ServerIp, Slot, StartItem, Ticket, encode_config, instance_id,
};
use reg_center::model::Model;
use reg_center::{Change, Lifetime, NodePath, Scope, SessionId, Txn, TxnOutcome};
use sharding::{
    Assignment, InstanceId, ShardingItem, ShardingStrategy, StrategyInput, StrategyRegistry,
};

/// Number of log lines that a trace shows.
const TRACE_LINES: usize = 60;
/// Length at which a trace cuts each log line, in characters.
const TRACE_WIDTH: usize = 200;
/// Upper bound of the number of rounds until a cluster is idle, far above what any test needs.
const MAX_ROUNDS: usize = 20_000;

/// How the feed groups the changes of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// Each change by itself, so that other steps can happen in between.
    ChangeByChange,
    /// All changes of a transaction together.
    WholeTransactions,
}

/// Number of commits, and of those among them that the registry rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) commits: usize,
    pub(crate) conflicts: usize,
}

/// A commit that an instance has planned and that has not reached the registry.
pub(crate) struct Commit {
    instance: usize,
    ticket: Ticket,
    duty: Duty,
    txn: Txn,
    confirm_absent: Vec<NodePath>,
}

impl Commit {
    /// Returns true if an operation of the commit names a path that contains `node`.
    pub(crate) fn writes_to(&self, node: &str) -> bool {
        self.txn.ops().iter().any(|op| op.to_string().contains(node))
    }
}

/// One process with its session, its feed and its queues.
struct Instance {
    coordinator: Coordinator,
    server: ServerIp,
    session: SessionId,
    alive: bool,
    /// How far its wall clock is ahead of the registry's, in milliseconds.
    ahead_ms: i64,
    /// True once the instance knows the registry's time.
    knows_time: bool,
    /// The part of the job that the feed covers.
    scope: Scope,
    feed: VecDeque<Vec<Change>>,
    /// Number of changes that the registry has sent to the instance.
    n_changes_sent: usize,
    n_reads: usize,
    commits: VecDeque<Commit>,
    replies: VecDeque<(Ticket, Reply)>,
    executing: Vec<StartItem>,
    calls: Vec<Call>,
    events: Vec<JobEvent>,
    interrupts: usize,
    cancelled: Vec<CancelItem>,
    /// The configuration of the latest [`Command::Schedule`].
    scheduled: Option<Arc<JobConfig>>,
    left: bool,
}

/// A once-per-cluster callback that has begun and not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) stage: OnceStage,
    pub(crate) fire: FireTime,
    pub(crate) token: FencingToken,
}

/// Sets the options of a coordinator; the number is that of its instance.
type Options = fn(Coordinator, usize) -> Coordinator;

/// The cluster. Instances are numbered from 0; number `n` is on server `10.0.0.{n + 1}`, from 255
/// on in the next subnet.
pub(crate) struct Cluster {
    registry: Model,
    layout: Layout,
    operator: SessionId,
    delivery: Delivery,
    instances: Vec<Instance>,
    /// Receives every change at once and decides nothing, so its view is the registry's state.
    observer: Coordinator,
    now: Now,
    traffic: Traffic,
    max_operations: usize,
    max_bytes: usize,
    started: Vec<(usize, StartItem)>,
    options: Options,
    log: Vec<String>,
}

fn job() -> JobName {
    JobName::new("report").unwrap()
}

/// Returns a job with this many items, a fire each second and failover.
pub(crate) fn job_of(items: u32) -> JobConfig {
    JobConfig::new(job(), items).with(|it| {
        it.cron = Some("* * * * * ?".into());
        it.failover = true;
    })
}

fn coordinator_on(server: &ServerIp) -> Coordinator {
    let identity = Identity { job: job(), server: server.clone() };
    let mut strategies = StrategyRegistry::default();
    strategies.register(Arc::new(UnknownOwnerStrategy));
    Coordinator::new(identity, strategies)
}

/// A strategy that gives every item to an instance that is not registered.
#[derive(Debug)]
struct UnknownOwnerStrategy;

impl ShardingStrategy for UnknownOwnerStrategy {
    fn name(&self) -> &'static str {
        UNKNOWN_OWNER
    }

    fn assign(&self, input: &StrategyInput<'_>) -> Assignment {
        let unknown = InstanceId::new("10.0.9.9@-@1");
        Assignment::from_owners((0..input.total_count).map(|_| Some(unknown.clone())))
    }
}

/// Name of the strategy that gives every item to an instance that is not registered.
pub(crate) const UNKNOWN_OWNER: &str = "UNKNOWN_OWNER";

impl Cluster {
    /// Returns a cluster whose instances have just connected, with empty views.
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
            max_operations: 0,
            max_bytes: 0,
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

    /// Returns a cluster whose items are assigned and that is idle.
    pub(crate) fn settled(instances: usize, config: &JobConfig) -> Self {
        let mut cluster = Self::starting(instances, config, Delivery::ChangeByChange);
        cluster.run_for(Duration::from_secs(2));
        cluster
    }

    /// Returns an assigned and idle cluster whose coordinators have these options.
    pub(crate) fn settled_with(instances: usize, config: &JobConfig, options: Options) -> Self {
        let delivery = Delivery::ChangeByChange;
        let mut cluster = Self::starting_with(instances, config, delivery, options);
        cluster.run_for(Duration::from_secs(2));
        cluster
    }

    /// Returns a job without instances.
    pub(crate) fn without_instances(config: &JobConfig) -> Self {
        Self::starting(0, config, Delivery::ChangeByChange)
    }

    /// Starts one more instance, on a server of its own.
    pub(crate) fn join(&mut self) {
        self.join_as(self.instances.len());
    }

    /// Starts one more instance, on a server of its own, with the options of instance
    /// `options_of`.
    pub(crate) fn join_as(&mut self, options_of: usize) {
        let number = self.instances.len() + 1;
        let (high, low) = (number / 256, number % 256);
        let server = ServerIp::new(&format!("10.0.{high}.{low}")).unwrap();
        let incarnation = instance_id(&server, &number.to_string()).unwrap();
        self.start(server, incarnation, options_of);
    }

    /// Starts one more instance, on the server of another one. Returns its number.
    pub(crate) fn join_on_server_of(&mut self, instance: usize) -> usize {
        let number = self.instances.len() + 1;
        let server = self.instances[instance].server.clone();
        let incarnation = instance_id(&server, &number.to_string()).unwrap();
        self.start(server, incarnation, instance);
        self.instances.len() - 1
    }

    /// Kills an instance and starts it again on the same server with the same id, while the first
    /// session is still alive. Returns the number of the new instance.
    pub(crate) fn restart_with_same_id(&mut self, instance: usize) -> usize {
        let id = self.id_of(instance).clone();
        let Instance { server, alive, .. } = &mut self.instances[instance];
        *alive = false;
        let server = server.clone();
        self.log.push(format!("{server} is killed and restarts"));
        self.start(server, id, instance);
        self.instances.len() - 1
    }

    fn start(&mut self, server: ServerIp, incarnation: InstanceId, options_of: usize) {
        let session = self.registry.open_session();
        let scope = Scope::all_of(self.layout.root());
        let feed = self.snapshot(&scope);
        self.instances.push(Instance {
            coordinator: (self.options)(coordinator_on(&server), options_of),
            server,
            session,
            alive: true,
            ahead_ms: 0,
            knows_time: false,
            scope,
            feed,
            n_changes_sent: 0,
            n_reads: 0,
            commits: VecDeque::new(),
            replies: VecDeque::new(),
            executing: Vec::new(),
            calls: Vec::new(),
            events: Vec::new(),
            interrupts: 0,
            cancelled: Vec::new(),
            scheduled: None,
            left: false,
        });
        let instance = self.instances.len() - 1;
        self.send_event(instance, Event::Connected { session, incarnation });
    }

    /// Returns the snapshot of a scope with which a feed begins.
    fn snapshot(&self, scope: &Scope) -> VecDeque<Vec<Change>> {
        self.delivery.batches(self.registry.snapshot(scope)).into()
    }
}

/// Single steps. The steps of an instance return false if nothing was waiting.
impl Cluster {
    /// Passes an event to an instance and applies the commands that it returns.
    pub(crate) fn send_event(&mut self, instance: usize, event: Event) {
        let server = self.instances[instance].server.clone();
        self.log.push(format!("{server} <- {event}"));
        let mut commands = Vec::new();
        let now = self.now_of(instance);
        self.instances[instance].coordinator.handle(now, event, &mut commands);
        for command in commands {
            self.log.push(format!("{server} -> {command}"));
            self.apply_command(instance, command);
        }
    }

    fn apply_command(&mut self, instance: usize, command: Command) {
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
            Command::Read(scope) => {
                this.n_reads += 1;
                let nodes = self.registry.within(&scope).cloned().collect();
                self.send_event(instance, Event::Read(nodes));
            }
            Command::Left => this.left = true,
            Command::LeaveRequested => self.send_event(instance, Event::Drain),
            Command::Cancel(cancel) => this.cancelled.push(cancel),
            Command::Interrupt(_) => {}
        }
    }

    /// Delivers the next batch of an instance's feed.
    pub(crate) fn deliver(&mut self, instance: usize) -> bool {
        let Some(changes) = self.instances[instance].feed.pop_front() else { return false };
        self.send_event(instance, Event::Registry(changes));
        true
    }

    /// Executes the oldest commit of an instance; the reply then waits for delivery.
    pub(crate) fn execute(&mut self, instance: usize) -> bool {
        let Some(commit) = self.instances[instance].commits.pop_front() else { return false };
        let reply = self.commit(&commit);
        let rejected = matches!(reply, Reply::Conflict(_) | Reply::HolderAlive);
        self.traffic.commits += 1;
        self.traffic.conflicts += usize::from(rejected);
        self.instances[instance].replies.push_back((commit.ticket, reply));
        true
    }

    fn commit(&mut self, commit: &Commit) -> Reply {
        if commit.confirm_absent.iter().any(|path| self.registry.read(path).is_some()) {
            return Reply::HolderAlive;
        }
        self.max_operations = self.max_operations.max(commit.txn.ops().len());
        self.max_bytes = self.max_bytes.max(commit.txn.size());
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
        self.send_event(instance, Event::Replied { ticket, reply });
        true
    }

    /// Replaces the oldest reply to an instance by an unknown outcome.
    pub(crate) fn lose_reply(&mut self, instance: usize) {
        let (ticket, _) = self.instances[instance].replies.pop_front().unwrap();
        self.send_event(instance, Event::Replied { ticket, reply: Reply::Unknown });
    }
}

/// Sequences of steps.
impl Cluster {
    /// Delivers all batches of an instance's feed, one after the other.
    pub(crate) fn deliver_all(&mut self, instance: usize) {
        while self.deliver(instance) {}
    }

    /// Delivers all batches of an instance's feed as one.
    pub(crate) fn deliver_together(&mut self, instance: usize) {
        let changes = self.instances[instance].feed.drain(..).flatten().collect();
        self.send_event(instance, Event::Registry(changes));
    }

    /// Drops the undelivered changes of an instance, as a registry does that reads only the newest
    /// state of a node: the caller changes the same nodes again.
    pub(crate) fn lose_undelivered(&mut self, instance: usize) {
        self.instances[instance].feed.clear();
    }

    /// Executes all commits of an instance.
    pub(crate) fn execute_all(&mut self, instance: usize) {
        while self.execute(instance) {}
    }

    /// Delivers all replies to an instance.
    pub(crate) fn reply_all(&mut self, instance: usize) {
        while self.reply(instance) {}
    }

    /// Moves the latest batch of an instance's feed to the front. The registry promises the order
    /// of changes for each node only.
    pub(crate) fn move_latest_change_to_front(&mut self, instance: usize) {
        let feed = &mut self.instances[instance].feed;
        let latest = feed.pop_back().unwrap();
        feed.push_front(latest);
    }

    /// Delivers the next batch with a change of this node, before all other batches.
    pub(crate) fn deliver_only(&mut self, instance: usize, node: &str) {
        let path = self.path(node);
        let about = |change: &Change| change.path() == Some(&path);
        let feed = &mut self.instances[instance].feed;
        let place = feed.iter().position(|changes| changes.iter().any(about));
        let changes = place.and_then(|place| feed.remove(place));
        let changes =
            changes.unwrap_or_else(|| panic!("no change of {node} is waiting\n{}", self.trace()));
        self.send_event(instance, Event::Registry(changes));
    }

    /// Takes all commits that have not reached the registry; see [`requeue`](Self::requeue).
    pub(crate) fn hold_all_commits(&mut self) -> Vec<Commit> {
        self.instances.iter_mut().flat_map(|instance| instance.commits.drain(..)).collect()
    }

    /// Delivers the whole feed of an instance, and takes the commit that it then plans for a duty.
    pub(crate) fn plan_and_hold(&mut self, instance: usize, duty: Duty) -> Commit {
        self.deliver_all(instance);
        self.hold_commit(instance, duty)
    }

    /// Takes the waiting commit of an instance for a duty.
    pub(crate) fn hold_commit(&mut self, instance: usize, duty: Duty) -> Commit {
        let commits = &mut self.instances[instance].commits;
        let place = commits.iter().position(|commit| commit.duty == duty);
        let commit = place.and_then(|place| commits.remove(place));
        commit.unwrap_or_else(|| panic!("no commit of {duty} is waiting\n{}", self.trace()))
    }

    /// Commits a held commit and returns true if the registry rejects it. The instance gets no
    /// reply.
    pub(crate) fn is_rejected(&mut self, commit: Commit) -> bool {
        let reply = self.commit(&commit);
        self.log.push(format!("a late commit of {}: {reply:?}", commit.duty));
        !matches!(reply, Reply::Committed(_))
    }

    /// Reports an unknown outcome of a commit to the instance that planned it.
    pub(crate) fn report_unknown(&mut self, commit: &Commit) {
        let event = Event::Replied { ticket: commit.ticket, reply: Reply::Unknown };
        self.send_event(commit.instance, event);
    }

    /// Raises the version of a node without a change of its data, as an operator.
    pub(crate) fn touch(&mut self, node: &str) {
        let data = self.data_of(node).unwrap_or_else(|| panic!("no {node}\n{}", self.trace()));
        self.write(node, &data);
    }

    /// Removes the leader's node and elects `instance`. No other instance sees either change.
    pub(crate) fn elect(&mut self, instance: usize) {
        self.remove("leader/election/instance");
        let election = self.plan_and_hold(instance, Duty::Election);
        assert!(!self.is_rejected(election), "{instance} is not elected\n{}", self.trace());
    }

    /// Puts held commits back into the queues of their instances.
    pub(crate) fn requeue(&mut self, commits: Vec<Commit>) {
        for commit in commits {
            self.instances[commit.instance].commits.push_back(commit);
        }
    }

    /// Runs an instance until it is idle, with replies before changes.
    pub(crate) fn settle_with_replies_first(&mut self, instance: usize) {
        while self.reply(instance) || self.execute(instance) || self.deliver(instance) {}
    }

    /// Runs all live instances in turn for a time. No fire comes and no run ends.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now.mono + time;
        for _ in 0..MAX_ROUNDS {
            self.settle();
            let wakes =
                self.live_instances().filter_map(|of| self.instances[of].coordinator.next_wake());
            let Some(wake) = wakes.min().filter(|at| *at <= end) else {
                self.advance_clocks(end.saturating_sub(self.now.mono));
                return;
            };
            self.advance_clocks(wake.saturating_sub(self.now.mono));
            for instance in self.live_instances() {
                self.send_event(instance, Event::Wake);
            }
        }
        panic!("the instances wake without end\n{}", self.trace());
    }

    fn settle(&mut self) {
        for _ in 0..MAX_ROUNDS {
            let mut busy = false;
            for instance in self.live_instances() {
                busy |= self.deliver(instance);
                busy |= self.execute(instance);
                busy |= self.reply(instance);
            }
            if !busy {
                return;
            }
        }
        panic!("the instances never become idle\n{}", self.trace());
    }

    /// Returns the time of the wall clocks, in milliseconds since 1970 UTC.
    pub(crate) fn wall_ms(&self) -> i64 {
        self.now.wall_ms
    }

    /// Advances all clocks, without a wake-up of any instance.
    pub(crate) fn advance_clocks(&mut self, time: Duration) {
        self.now.mono += time;
        self.now.wall_ms += i64::try_from(time.as_millis()).unwrap();
        self.set_registry_clock();
    }

    fn set_registry_clock(&mut self) {
        let since_epoch = Duration::from_millis(self.now.wall_ms.unsigned_abs());
        self.registry.set_clock(Some(SystemTime::UNIX_EPOCH + since_epoch));
    }

    /// Sets the wall clocks back, without a wake-up of any instance.
    pub(crate) fn set_clocks_back(&mut self, time: Duration) {
        self.now.wall_ms -= i64::try_from(time.as_millis()).unwrap();
        self.set_registry_clock();
    }

    fn live_instances(&self) -> impl Iterator<Item = usize> + use<> {
        let living: Vec<_> = (0..self.instances.len()).filter(|of| self.is_alive(*of)).collect();
        living.into_iter()
    }

    fn is_alive(&self, instance: usize) -> bool {
        self.instances[instance].alive
    }
}

/// Events from outside the cluster.
impl Cluster {
    /// Passes a fire that is scheduled for the present moment to all instances.
    pub(crate) fn fire(&mut self) -> FireTime {
        self.fire_after(&[])
    }

    /// Returns the time by the clocks of an instance.
    fn now_of(&self, instance: usize) -> Now {
        let Instance { ahead_ms, knows_time, .. } = self.instances[instance];
        let registry_ms = knows_time.then_some(self.now.wall_ms);
        Now { wall_ms: self.now.wall_ms + ahead_ms, registry_ms, ..self.now }
    }

    /// Sets the wall clock of an instance ahead of the registry's by this many milliseconds.
    pub(crate) fn set_clock_ahead(&mut self, instance: usize, ahead_ms: i64) {
        self.instances[instance].ahead_ms = ahead_ms;
    }

    /// Lets an instance know the registry's time from now on.
    pub(crate) fn show_registry_time(&mut self, instance: usize) {
        self.instances[instance].knows_time = true;
        self.send_event(instance, Event::Wake);
    }

    /// Passes one instance the fire that its own clock shows as due now.
    pub(crate) fn fire_by_own_clock(&mut self, instance: usize) -> FireTime {
        let at = FireTime(self.now_of(instance).wall_ms);
        let next = Some(FireTime(at.0 + 1_000));
        self.send_event(instance, Event::Fire { at, next, missed: Vec::new() });
        at
    }

    /// Passes a fire that is scheduled for the present moment to all instances, with the fires
    /// missed before it. The next fire is one second later.
    pub(crate) fn fire_after(&mut self, missed: &[FireTime]) -> FireTime {
        let at = FireTime(self.now.wall_ms);
        let next = Some(FireTime(at.0 + 1_000));
        for instance in self.live_instances() {
            self.send_event(instance, Event::Fire { at, next, missed: missed.to_vec() });
        }
        at
    }

    /// Ends all once-per-cluster callbacks. Returns them with their instances.
    pub(crate) fn return_callbacks(&mut self) -> Vec<(usize, Call)> {
        let mut returned = Vec::new();
        for instance in self.live_instances() {
            for call in std::mem::take(&mut self.instances[instance].calls) {
                let Call { stage, token, .. } = call;
                self.send_event(instance, Event::OnceReturned { stage, token });
                returned.push((instance, call));
            }
        }
        returned
    }

    /// Ends all runs of an instance successfully, at the same moment.
    pub(crate) fn end_runs(&mut self, instance: usize) {
        for StartItem { item, slot, token, .. } in
            std::mem::take(&mut self.instances[instance].executing)
        {
            let outcome = Outcome::Succeeded;
            self.send_event(instance, ended(Slot { item, number: slot }, token, outcome));
        }
    }

    /// Ends the run of an item successfully. Returns false if the instance does not run it.
    pub(crate) fn end_run(&mut self, instance: usize, item: u32) -> bool {
        let executing = &mut self.instances[instance].executing;
        let Some(place) = executing.iter().position(|start| start.item.index() == item) else {
            return false;
        };
        let StartItem { item, slot, token, .. } = executing.remove(place);
        let outcome = Outcome::Succeeded;
        self.send_event(instance, ended(Slot { item, number: slot }, token, outcome));
        true
    }

    /// Requests the cancellation of the run of an item, as an operator.
    pub(crate) fn request_cancel(&mut self, item: u32, why: &str) {
        let txn = self.cancel_request(item, why);
        self.operate(&txn);
    }

    /// Returns the write of an operator who has read the record of an item.
    pub(crate) fn cancel_request(&self, item: u32, why: &str) -> Txn {
        let item = ShardingItem::new(item);
        let record = self.registry_view().item(item).ledger.as_ref().unwrap();
        let token = record.value.token;
        let request = CancelRequest::new(token, "anna", why, self.wall_ms()).unwrap();
        let ledger = Box::new(record.value.with_cancel_request(request).unwrap());
        let step = OperatorStep::RequestCancel { item, ledger, version: record.version };
        self.layout.change(&[step])
    }

    /// Returns true if the registry rejects a transaction of an operator.
    pub(crate) fn rejects(&mut self, txn: &Txn) -> bool {
        let (outcome, changes) = self.registry.commit(self.operator, txn.ops()).unwrap();
        self.publish(changes);
        !outcome.is_committed()
    }

    /// Ends the runs that an instance was asked to cancel, as its driver does.
    pub(crate) fn end_cancelled_runs(&mut self, instance: usize) {
        for CancelItem { item, slot, token, .. } in
            std::mem::take(&mut self.instances[instance].cancelled)
        {
            self.instances[instance]
                .executing
                .retain(|run| (run.item, run.slot, run.token) != (item, slot, token));
            let outcome = Outcome::Cancelled;
            self.send_event(instance, ended(Slot { item, number: slot }, token, outcome));
        }
    }

    /// Returns the runs that an instance was asked to cancel and that have not ended.
    pub(crate) fn cancels(&self, instance: usize) -> &[CancelItem] {
        &self.instances[instance].cancelled
    }

    /// Ends all runs successfully, at the same moment.
    pub(crate) fn end_all_runs(&mut self) {
        for instance in self.live_instances() {
            self.end_runs(instance);
        }
    }

    /// Kills an instance and ends its session.
    pub(crate) fn crash(&mut self, instance: usize) {
        let Instance { server, alive, .. } = &mut self.instances[instance];
        self.log.push(format!("{server} crashes"));
        *alive = false;
        self.end_session(instance);
    }

    /// Ends the session of an instance in the registry.
    pub(crate) fn end_session(&mut self, instance: usize) {
        let Instance { server, session, .. } = &self.instances[instance];
        self.log.push(format!("the session of {server} ends"));
        let changes = self.registry.end_session(*session);
        self.publish(changes);
    }

    /// Ends the session of an instance and reports the loss to it. The process continues, without
    /// changes and replies until [`open_new_session`](Self::open_new_session).
    pub(crate) fn lose_session(&mut self, instance: usize) {
        self.end_session(instance);
        let this = &mut self.instances[instance];
        this.alive = false;
        this.feed.clear();
        this.commits.clear();
        this.replies.clear();
        self.send_event(instance, Event::Lost);
    }

    /// Connects an instance that has lost its session in a new one, with a new incarnation.
    pub(crate) fn open_new_session(&mut self, instance: usize) {
        let session = self.registry.open_session();
        let feed = self.snapshot(&self.instances[instance].scope);
        let this = &mut self.instances[instance];
        (this.session, this.feed, this.alive) = (session, feed, true);
        let incarnation = instance_id(&this.server, &session.0.to_string()).unwrap();
        self.send_event(instance, Event::Connected { session, incarnation });
    }

    /// Reports to an instance that its connection is back, in the same session.
    pub(crate) fn resume(&mut self, instance: usize) {
        let session = self.instances[instance].session;
        let incarnation = self.id_of(instance).clone();
        self.send_event(instance, Event::Connected { session, incarnation });
    }

    /// Ends the session of an instance and connects its process in a new one.
    pub(crate) fn replace_session(&mut self, instance: usize) {
        self.lose_session(instance);
        self.open_new_session(instance);
    }

    /// Creates a node of the job, as an operator.
    pub(crate) fn create(&mut self, node: &str, data: &str) {
        self.log.push(format!("an operator creates {node}: {data:?}"));
        let path = self.path(node);
        self.operate(&Txn::new().create(path, data.to_owned(), Lifetime::Persistent));
    }

    /// Overwrites a node of the job, as an operator.
    pub(crate) fn write(&mut self, node: &str, data: &str) {
        self.log.push(format!("an operator writes {node}: {data:?}"));
        let path = self.path(node);
        self.operate(&Txn::new().put(path, data.to_owned()));
    }

    /// Writes a node of the job, as an operator, whether it exists or not.
    pub(crate) fn create_or_write(&mut self, node: &str, data: &str) {
        match self.registry.read(&self.path(node)).is_some() {
            true => self.write(node, data),
            false => self.create(node, data),
        }
    }

    /// Removes a node of the job, as an operator.
    pub(crate) fn remove(&mut self, node: &str) {
        self.log.push(format!("an operator removes {node}"));
        let path = self.path(node);
        self.operate(&Txn::new().delete(path));
    }

    /// Writes the configuration, as an operator.
    pub(crate) fn configure(&mut self, config: &JobConfig) {
        self.write("config", &encode_config(config));
    }

    /// Commits an operator's transaction.
    pub(crate) fn operate(&mut self, txn: &Txn) {
        let (outcome, changes) = self.registry.commit(self.operator, txn.ops()).unwrap();
        assert!(
            outcome.is_committed(),
            "the operator's commit is rejected: {outcome:?}\n{}",
            self.trace()
        );
        self.publish(changes);
    }

    /// Returns the path of a node of the job, or, for a text with a leading `/`, of another node.
    fn path(&self, node: &str) -> NodePath {
        if node.starts_with('/') {
            return NodePath::parse(node).unwrap();
        }
        NodePath::parse(&format!("{}/{node}", self.layout.root())).unwrap()
    }

    fn publish(&mut self, changes: Vec<Change>) {
        for instance in &mut self.instances {
            let followed =
                |change: &&Change| change.path().is_none_or(|path| instance.scope.contains(path));
            let sent: Vec<_> = changes.iter().filter(followed).cloned().collect();
            instance.n_changes_sent += sent.len();
            instance.feed.extend(self.delivery.batches(sent));
        }
        self.observer.handle(self.now, Event::Registry(changes), &mut Vec::new());
    }
}

/// A Java instance: a session that writes the nodes of ElasticJob and reads no records.
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

/// Writes of Java instances.
impl Cluster {
    /// Registers a Java instance.
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
        assert!(
            outcome.is_committed(),
            "the Java commit is rejected: {outcome:?}\n{}",
            self.trace()
        );
        self.publish(changes);
    }

    /// Creates the leader's node for a Java instance.
    pub(crate) fn java_becomes_leader(&mut self, java: &JavaPeer) {
        let node = self.path("leader/election/instance");
        let txn = Txn::new().create(node, java.id.clone(), Lifetime::Ephemeral);
        self.java_writes(java, &txn);
    }

    /// Replaces the leader's node, as a Java instance does that looked before the node existed.
    pub(crate) fn java_replaces_leader(&mut self, java: &JavaPeer) {
        let node = self.path("leader/election/instance");
        self.java_writes(java, &Txn::new().delete(node));
        self.java_becomes_leader(java);
    }

    /// Assigns an item as a Java leader does: it deletes the owner and creates the next one.
    pub(crate) fn java_assigns(&mut self, java: &JavaPeer, item: u32, owner: &str) {
        let node = self.path(&format!("sharding/{item}/instance"));
        if self.registry.read(&node).is_some() {
            self.java_writes(java, &Txn::new().delete(node.clone()));
        }
        let txn = Txn::new().create(node, owner.to_owned(), Lifetime::Persistent);
        self.java_writes(java, &txn);
    }

    /// Marks a run of a Java instance.
    pub(crate) fn java_starts_run(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        self.java_writes(java, &Txn::new().create(node, "", Lifetime::Ephemeral));
    }

    /// Marks a run of a Java instance of 3.x in a job with failover, by a persistent node.
    pub(crate) fn java_starts_run_with_persistent_mark(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        self.java_writes(java, &Txn::new().create(node, java.id.clone(), Lifetime::Persistent));
    }

    /// Marks a run of a Java instance although the item has a mark. An ephemeral mark is replaced,
    /// a persistent one gets the instance's id.
    pub(crate) fn java_starts_run_over_mark(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        let mark = self.registry.read(&node).unwrap_or_else(|| panic!("no mark at {node}"));
        if mark.stat.owner.is_none() {
            self.java_writes(java, &Txn::new().put(node, java.id.clone()));
            return;
        }
        self.java_writes(java, &Txn::new().delete(node));
        self.java_starts_run(java, item);
    }

    /// Adds a Java contender to a latch, `election` or `failover`, with a sequence number.
    pub(crate) fn java_joins_latch(&mut self, java: &JavaPeer, latch: &str, number: u32) {
        let node = self.path(&latch_node(java, latch, number));
        self.java_writes(java, &Txn::new().create(node, "", Lifetime::Ephemeral));
    }

    /// Removes a Java contender from a latch.
    pub(crate) fn java_leaves_latch(&mut self, java: &JavaPeer, latch: &str, number: u32) {
        let node = self.path(&latch_node(java, latch, number));
        self.java_writes(java, &Txn::new().delete(node));
    }

    /// Removes the mark of a Java run that has ended.
    pub(crate) fn java_ends_run(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/running"));
        self.java_writes(java, &Txn::new().delete(node));
    }

    /// Takes an item over as a Java instance: it writes its id, removes the queue entry and begins.
    pub(crate) fn java_takes_over(&mut self, java: &JavaPeer, item: u32) {
        let node = self.path(&format!("sharding/{item}/failover"));
        let txn = Txn::new().create(node, java.id.clone(), Lifetime::Ephemeral);
        self.java_writes(java, &txn);
        let queued = self.path(&format!("leader/failover/items/{item}"));
        self.java_writes(java, &Txn::new().delete(queued));
        self.java_starts_run(java, item);
    }

    /// Removes the marks of a takeover by a Java instance.
    pub(crate) fn java_ends_takeover(&mut self, java: &JavaPeer, item: u32) {
        self.java_ends_run(java, item);
        let node = self.path(&format!("sharding/{item}/failover"));
        self.java_writes(java, &Txn::new().delete(node));
    }

    /// Ends the session of a Java instance.
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

/// State of the registry and of the instances, for assertions.
impl Cluster {
    /// Returns a view of the registry's present state.
    pub(crate) fn registry_view(&self) -> &JobView {
        self.observer.view()
    }

    /// Returns the record of an item.
    pub(crate) fn ledger(&self, item: ShardingItem) -> &Ledger {
        &self.registry_view().item(item).ledger.as_ref().unwrap().value
    }

    /// Returns the owner of an item.
    pub(crate) fn owner(&self, item: u32) -> Option<&InstanceId> {
        self.registry_view().item(ShardingItem::new(item)).owner.as_ref().map(|owner| &owner.value)
    }

    /// Returns the misses that an instance has reported: the item, or `None` for all of them, the
    /// fire and the reason.
    pub(crate) fn misses(&self, instance: usize) -> Vec<(Option<u32>, FireTime, MissReason)> {
        let missed = |event: &JobEvent| match event {
            JobEvent::Missed { item, fire, reason } => {
                Some((item.map(|item| item.index()), *fire, *reason))
            }
            _ => None,
        };
        self.events(instance).iter().filter_map(missed).collect()
    }

    /// Returns the id of an instance.
    pub(crate) fn id_of(&self, instance: usize) -> &InstanceId {
        self.instances[instance].coordinator.instance().unwrap()
    }

    /// Returns true if the registry has the instance's node.
    pub(crate) fn is_registered(&self, instance: usize) -> bool {
        self.registry_view().is_registered(self.id_of(instance))
    }

    /// Returns the data of a node of the job, or `None` if it does not exist.
    pub(crate) fn data_of(&self, node: &str) -> Option<String> {
        let node = self.registry.read(&self.path(node))?;
        Some(String::from_utf8(node.data.to_vec()).unwrap())
    }

    /// Returns the view of an instance.
    pub(crate) fn view_of(&self, instance: usize) -> &JobView {
        self.instances[instance].coordinator.view()
    }

    /// Returns the condition that an instance waits for.
    pub(crate) fn waits_for(&self, instance: usize) -> Option<&'static str> {
        self.instances[instance].coordinator.status().waiting_for
    }

    /// Returns true if an instance has left the job.
    pub(crate) fn has_left(&self, instance: usize) -> bool {
        self.instances[instance].left
    }

    /// Returns the Rust instance that leads.
    pub(crate) fn leader(&self) -> Option<usize> {
        let leader = self.registry_view().leader()?;
        self.live_instances().find(|instance| self.id_of(*instance) == leader)
    }

    /// Returns true if a commit of a duty waits to reach the registry.
    pub(crate) fn has_queued_commit(&self, instance: usize, duty: Duty) -> bool {
        self.instances[instance].commits.iter().any(|commit| commit.duty == duty)
    }

    /// Steps an instance until a commit of a duty waits. Fails if the instance is idle before.
    pub(crate) fn step_until_queued(&mut self, instance: usize, duty: Duty) {
        while !self.has_queued_commit(instance, duty) {
            let stepped = self.deliver(instance) || self.execute(instance) || self.reply(instance);
            assert!(stepped, "instance {instance} plans nothing for {duty}\n{}", self.trace());
        }
    }

    /// Returns true if an instance has a run that has not ended.
    pub(crate) fn is_executing(&self, instance: usize) -> bool {
        !self.instances[instance].executing.is_empty()
    }

    /// Returns the number of runs of an instance that have not ended.
    pub(crate) fn n_executing(&self, instance: usize) -> usize {
        self.instances[instance].executing.len()
    }

    /// Returns how often an instance was asked to cancel runs.
    pub(crate) fn interrupts(&self, instance: usize) -> usize {
        self.instances[instance].interrupts
    }

    /// Returns the configuration whose schedule an instance fires by.
    pub(crate) fn scheduled_by(&self, instance: usize) -> Option<&JobConfig> {
        self.instances[instance].scheduled.as_deref()
    }

    /// Returns the events that an instance has emitted.
    pub(crate) fn events(&self, instance: usize) -> &[JobEvent] {
        &self.instances[instance].events
    }

    /// Returns all runs with the instances that started them, in order.
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
    pub(crate) fn max_operations(&self) -> usize {
        self.max_operations
    }

    /// Returns the size of the largest transaction so far, in bytes.
    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Returns the instance that runs a once-per-cluster callback.
    pub(crate) fn callback_instance(&self) -> Option<usize> {
        self.live_instances().find(|instance| !self.instances[*instance].calls.is_empty())
    }

    /// Returns the names of a node's children.
    pub(crate) fn nodes_below(&self, node: &str) -> Vec<String> {
        self.registry.children(&self.path(node)).unwrap_or_default()
    }

    /// Returns how often the instance has read the job apart from its feed.
    pub(crate) fn n_reads(&self, instance: usize) -> usize {
        self.instances[instance].n_reads
    }

    /// Returns the number of changes that the registry has sent to an instance.
    pub(crate) fn n_changes_sent(&self, instance: usize) -> usize {
        self.instances[instance].n_changes_sent
    }

    /// Returns the number of commits and conflicts so far.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Returns the latest log lines and the registry's state, for the message of an assertion.
    pub(crate) fn trace(&self) -> String {
        let skipped = self.log.len().saturating_sub(TRACE_LINES);
        let cut = |line: &String| line.chars().take(TRACE_WIDTH).collect::<String>();
        let last: Vec<_> = self.log[skipped..].iter().map(cut).collect();
        format!("{}\n\n{}", last.join("\n"), self.registry_view())
    }
}

/// Returns the event for the end of a run.
pub(crate) fn ended(slot: Slot, token: FencingToken, outcome: Outcome) -> Event {
    let Slot { item, number: slot } = slot;
    Event::ItemFinished { item, slot, token, outcome, reason: None }
}

fn sorted<'a>(runs: impl Iterator<Item = (usize, &'a StartItem)>) -> Vec<u32> {
    let mut items: Vec<_> = runs.map(|(_, start)| start.item.index()).collect();
    items.sort_unstable();
    items
}

impl Delivery {
    /// Groups the changes of one transaction as the feed delivers them.
    fn batches(self, changes: Vec<Change>) -> Vec<Vec<Change>> {
        match self {
            Self::ChangeByChange => changes.into_iter().map(|change| vec![change]).collect(),
            Self::WholeTransactions if changes.is_empty() => Vec::new(),
            Self::WholeTransactions => vec![changes],
        }
    }
}

impl Traffic {
    /// Returns the difference to an earlier count.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            commits: self.commits - earlier.commits,
            conflicts: self.conflicts - earlier.conflicts,
        }
    }
}
