//! Scenes for the tests of duties: a small cluster on the registry model, built in a few calls.
//!
//! Instances are numbered: instance 1 is `10.0.0.1@-@1`, and the tests plan its duties. All nodes
//! are written to the model and read through the view, so that each plan can also be committed.

use std::time::Duration;

use reg_center::model::Model;
use reg_center::{Change, Lifetime, SessionId, Txn, TxnOutcome, Version};
use sharding::{InstanceAttributes, InstanceId, ShardingItem, StrategyRegistry};

use super::Context;
use crate::duty::expiry::IdleServers;
use crate::duty::settings::Settings;
use crate::local::Local;
use crate::local::fires::Due;
use crate::local::session::SessionState;
use crate::plan::Plan;
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::once::OnceRecord;
use crate::protocol::trigger_record::TriggerRecord;
use crate::runs::LocalRun;
use crate::view::JobView;
use crate::wire::latch::name_of;
use crate::wire::{self, GroupNode, Layout, NodeKind};
use crate::{
    CancelRequest, Claimant, Dialect, Duty, FireTime, GroupLimits, GroupName, JavaSettings,
    JobConfig, JobName, Ledger, Now, Outcome, ServerIp, ServerState, WaitingRuns, encode_config,
};
use crate::{Latch, java};

/// Present time by the clock of the instance, in milliseconds.
pub(crate) const NOW_MS: i64 = 1_000;

pub(crate) fn id(n: u32) -> InstanceId {
    InstanceId::new(format!("10.0.0.{n}@-@{n}"))
}

pub(crate) fn ip(n: u32) -> ServerIp {
    ServerIp::new(&format!("10.0.0.{n}")).unwrap()
}

/// Group of the job in scenes.
pub(crate) fn group() -> GroupName {
    GroupName::new("db").unwrap()
}

pub(crate) fn of_group(node: GroupNode) -> NodeKind {
    NodeKind::Group(group(), node)
}

pub(crate) fn item(i: u32) -> ShardingItem {
    ShardingItem::new(i)
}

pub(crate) fn idle() -> Ledger {
    Ledger::new(Some(FireTime(100)))
}

/// Record of an item that instance `n` runs for fire 200.
pub(crate) fn running_by(n: u32) -> Ledger {
    idle().claim(&by(n), FireTime(200), None).unwrap()
}

/// The same record, with a request to cancel its run.
pub(crate) fn to_be_cancelled(ledger: Ledger) -> Ledger {
    let request = CancelRequest::new(ledger.token, "anna", "wrong month", 900);
    request.and_then(|request| ledger.with_cancel_request(request)).unwrap()
}

/// Claimant of instance `n`.
pub(crate) fn by(n: u32) -> Claimant {
    Claimant { holder: id(n), config: Version(0), now_ms: 1_000 }
}

/// Record of an item that has ended this fire.
pub(crate) fn done(fire: i64) -> Ledger {
    let claimed = idle().claim(&by(1), FireTime(fire), None).unwrap();
    claimed.complete(Outcome::Succeeded, 1_100).unwrap()
}

pub(crate) struct Scene {
    model: Model,
    session: SessionId,
    layout: Layout,
    view: JobView,
    pub(crate) local: Local,
    pub(crate) idle_servers: IdleServers,
    now: Duration,
    config: JobConfig,
    settings: Settings,
}

impl Scene {
    /// A job with this many items and without instances.
    pub(crate) fn job(total: u32) -> Self {
        Self::job_in(Dialect::V2, total)
    }

    pub(crate) fn job_in(dialect: Dialect, total: u32) -> Self {
        let name = JobName::new("job").unwrap();
        let layout = Layout::new(&name).speaking(dialect);
        let java = JavaSettings::of(dialect);
        let mut model = Model::new();
        let session = model.open_session();
        let mut scene = Self {
            model,
            session,
            view: JobView::new(layout.clone()),
            layout,
            local: Local {
                session: SessionState { lease: true, ..SessionState::default() },
                ..Local::default()
            },
            idle_servers: IdleServers::default(),
            now: Duration::from_secs(1),
            config: JobConfig { failover: true, java, ..JobConfig::new(name, total) },
            settings: Settings::default(),
        };
        scene.view.apply(Change::Init).unwrap();
        scene.view.apply(Change::Ready).unwrap();
        scene.configure(|_| {})
    }

    /// A job whose idle items belong to instances 1..=n in turn; instance 1 leads.
    pub(crate) fn cluster(total: u32, n: u32) -> Self {
        Self::cluster_in(Dialect::V2, total, n)
    }

    pub(crate) fn cluster_in(dialect: Dialect, total: u32, n: u32) -> Self {
        let scene = (1..=n).fold(Self::job_in(dialect, total), Self::member);
        let scene = scene.led_by(1).requested();
        let owned = (0..total).fold(scene, |scene, i| scene.owned(i, 1 + i % n).ledger(i, idle()));
        owned.assigned_to(n, total)
    }

    pub(crate) fn configure(mut self, change: impl FnOnce(&mut JobConfig)) -> Self {
        change(&mut self.config);
        let text = encode_config(&self.config);
        self.write(&NodeKind::Config, text, Lifetime::Persistent)
    }

    /// A job whose configuration was never usable.
    pub(crate) fn poisoned(mut self) -> Self {
        self.view = JobView::new(self.layout.clone());
        self.view.apply(Change::Init).unwrap();
        self.view.apply(Change::Ready).unwrap();
        let path = self.layout.path(&NodeKind::Config);
        let txn = Txn::new().put(path, "{");
        let (_, changes) = self.model.commit(self.session, txn.ops()).unwrap();
        changes.into_iter().for_each(|change| self.view.apply(change).unwrap());
        self
    }

    /// Makes the stored configuration unusable.
    pub(crate) fn broken_config(self) -> Self {
        self.write(&NodeKind::Config, "{".to_owned(), Lifetime::Persistent)
    }

    pub(crate) fn server(self, n: u32, data: &str) -> Self {
        self.write(&NodeKind::Server(ip(n)), data.to_owned(), Lifetime::Persistent)
    }

    /// Registers instance `n` on an enabled server.
    pub(crate) fn member(self, n: u32) -> Self {
        let data = self.layout.instance_data(&id(n), &InstanceAttributes::default());
        let enabled = self.layout.server_data(ServerState::Enabled);
        self.server(n, enabled).write(&NodeKind::Instance(id(n)), data, Lifetime::Ephemeral)
    }

    /// Registers instance `n` with these attributes on an enabled server.
    pub(crate) fn member_with(self, n: u32, attributes: &str) -> Self {
        let data = self.layout.instance_data(&id(n), &attributes.parse().unwrap());
        let enabled = self.layout.server_data(ServerState::Enabled);
        self.server(n, enabled).write(&NodeKind::Instance(id(n)), data, Lifetime::Ephemeral)
    }

    /// Registers Java instance `n` on an enabled server.
    pub(crate) fn java(self, n: u32) -> Self {
        let enabled = self.layout.server_data(ServerState::Enabled);
        let scene = self.server(n, enabled);
        scene.write(&NodeKind::Instance(id(n)), String::new(), Lifetime::Ephemeral)
    }

    /// Makes Java instance `n` the leader. It begins no term.
    pub(crate) fn led_by_java(self, n: u32) -> Self {
        self.write(&NodeKind::Leader, id(n).to_string(), Lifetime::Ephemeral)
    }

    /// Creates the node of an instance that no session owns.
    pub(crate) fn leftover_instance(self, n: u32) -> Self {
        let data = wire::TRIGGER.to_owned();
        self.write(&NodeKind::Instance(id(n)), data, Lifetime::Persistent)
    }

    /// Creates a persistent mark that names instance `n`.
    pub(crate) fn named_mark(self, kind: &NodeKind, n: u32) -> Self {
        self.write(kind, id(n).to_string(), Lifetime::Persistent)
    }

    /// Adds a contender with this node name to a latch.
    pub(crate) fn in_line(self, latch: Latch, name: &str) -> Self {
        let node = NodeKind::Latch(latch, name.to_owned());
        self.write(&node, String::new(), Lifetime::Ephemeral)
    }

    pub(crate) fn without(mut self, kind: &NodeKind) -> Self {
        self.remove(kind);
        self
    }

    pub(crate) fn without_server(mut self, n: u32) -> Self {
        self.remove(&NodeKind::Server(ip(n)));
        self
    }

    pub(crate) fn gone(mut self, n: u32) -> Self {
        self.remove(&NodeKind::Instance(id(n)));
        self
    }

    pub(crate) fn led_by(self, n: u32) -> Self {
        self.write(&NodeKind::Leader, id(n).to_string(), Lifetime::Ephemeral).write(
            &NodeKind::Term,
            wire::encode_term(&id(n)),
            Lifetime::Persistent,
        )
    }

    pub(crate) fn with_text(self, kind: &NodeKind, text: &str) -> Self {
        self.write(kind, text.to_owned(), Lifetime::Persistent)
    }

    /// A job in the group `db`, whose nodes the view shows. These limits are stored.
    pub(crate) fn in_group(self, limits: GroupLimits) -> Self {
        let mut scene = self.configure(|config| config.group = Some(group()));
        scene.view.follow_group(Some(group()));
        scene.view.apply(Change::Init).unwrap();
        let nodes: Vec<_> = scene.model.subtree(&scene.layout.root()).cloned().collect();
        for node in nodes {
            scene.view.apply(Change::Entry(node)).unwrap();
        }
        scene.view.apply(Change::Ready).unwrap();
        scene.with_text(&of_group(GroupNode::Limits), &wire::encode_group_limits(&limits))
    }

    /// Writes an ephemeral node of another session.
    pub(crate) fn of_other(mut self, kind: &NodeKind, text: &str) -> Self {
        let own = std::mem::replace(&mut self.session, SessionId(0));
        self.session = self.model.open_session();
        let mut scene = self.write(kind, text.to_owned(), Lifetime::Ephemeral);
        scene.session = own;
        scene
    }

    /// Writes an ephemeral node of this session.
    pub(crate) fn of_session(self, kind: &NodeKind, text: &str) -> Self {
        self.write(kind, text.to_owned(), Lifetime::Ephemeral)
    }

    pub(crate) fn requested(self) -> Self {
        self.write(&NodeKind::Request, String::new(), Lifetime::Persistent)
    }

    /// Gives instance `n` a stable name.
    pub(crate) fn named(self, n: u32, name: &str) -> Self {
        self.write(&NodeKind::Name(id(n)), name.to_owned(), Lifetime::Ephemeral)
    }

    /// Returns the available instances.
    pub(crate) fn available(&self) -> Vec<InstanceId> {
        self.view.available()
    }

    /// Returns the hash of the present rules and attributes.
    pub(crate) fn placement_hash(&self) -> Option<u64> {
        let config = self.view.config().expect("the scene has a configuration");
        self.view.placement_hash(config, &self.view.available())
    }

    /// Returns the stable names that the plan for resharding would record, as `id name`.
    pub(crate) fn planned_names(&self) -> Vec<String> {
        let plan = self.plan(Duty::Resharding).expect("the leader reshards");
        let (_, record) = plan.assignment().expect("every resharding writes the record");
        record.names.iter().map(|(id, name)| format!("{id} {name}")).collect()
    }

    pub(crate) fn trigger(self, request: &str, record: TriggerRecord) -> Self {
        let text = wire::encode_trigger(&record);
        self.write(&NodeKind::TriggerRequest(request.into()), text, Lifetime::Persistent)
    }

    /// Stores the waiting runs of instance `n`.
    pub(crate) fn waiting(self, n: u32, waiting: &WaitingRuns) -> Self {
        let text = wire::encode_waiting(waiting);
        self.write(&NodeKind::Waiting(id(n)), text, Lifetime::Ephemeral)
    }

    pub(crate) fn once(self, record: OnceRecord) -> Self {
        self.write(&NodeKind::Once, wire::encode_once(&record), Lifetime::Persistent)
    }

    /// Gives instance 1 once-per-cluster callbacks.
    pub(crate) fn calling_back(mut self) -> Self {
        self.settings.calls_back = true;
        self
    }

    /// Sets the number of items that one transaction takes, if their requests have no parameters.
    pub(crate) fn items_per_plan(mut self, most: usize) -> Self {
        self.settings.items_per_plan = most;
        self
    }

    pub(crate) fn triggered(self, n: u32) -> Self {
        let data = wire::TRIGGER.to_owned();
        self.write(&NodeKind::Instance(id(n)), data, Lifetime::Ephemeral)
    }

    pub(crate) fn owned(self, i: u32, n: u32) -> Self {
        self.write(&NodeKind::Owner(item(i)), id(n).to_string(), Lifetime::Persistent)
    }

    pub(crate) fn ledger(self, i: u32, ledger: Ledger) -> Self {
        let text = wire::encode_ledger(&ledger);
        self.write(&NodeKind::Ledger(item(i)), text, Lifetime::Persistent)
    }

    pub(crate) fn marked(self, kind: &NodeKind) -> Self {
        self.write(kind, String::new(), Lifetime::Persistent)
    }

    pub(crate) fn marked_in_session(self, kind: &NodeKind) -> Self {
        self.write(kind, String::new(), Lifetime::Ephemeral)
    }

    /// Creates a mark that names instance `n`; an ephemeral one belongs to a session of its own.
    pub(crate) fn marked_by(mut self, kind: &NodeKind, n: u32, lifetime: Lifetime) -> Self {
        let own = std::mem::replace(&mut self.session, SessionId(0));
        self.session = self.model.open_session();
        let mut scene = self.write(kind, id(n).to_string(), lifetime);
        scene.session = own;
        scene
    }

    /// Makes instance `n` run item `i`, with its mark.
    pub(crate) fn running(self, i: u32, n: u32) -> Self {
        let mark = NodeKind::Running(item(i));
        self.ledger(i, running_by(n)).write(&mark, String::new(), Lifetime::Ephemeral)
    }

    fn assigned_to(self, n: u32, total: u32) -> Self {
        self.assigned(AssignmentRecord {
            members: (1..=n).rev().map(id).collect(),
            total_count: total,
            ..AssignmentRecord::default()
        })
    }

    pub(crate) fn plan_record(&self) -> AssignmentRecord {
        self.view.assignment().expect("a cluster has an assignment").value.clone()
    }

    pub(crate) fn assigned(self, record: AssignmentRecord) -> Self {
        let text = wire::encode_assignment(&record);
        self.write(&NodeKind::Assignment, text, Lifetime::Persistent)
    }

    pub(crate) fn local(mut self, change: impl FnOnce(&mut Local)) -> Self {
        change(&mut self.local);
        self
    }

    /// Adds a run to the process of instance 1. It has ended if it has an outcome.
    pub(crate) fn run_here(self, i: u32, outcome: Option<Outcome>) -> Self {
        let record = running_by(1);
        let claimed = record.running().map(|run| LocalRun::claimed(run, record.token, false));
        let run = LocalRun { outcome, ..claimed.expect("the record shows a run") };
        self.local(|local| local.runs.insert(item(i), run))
    }

    pub(crate) fn due(self, fire: i64) -> Self {
        self.local(|local| {
            local.fires.due =
                Some(Due { at: FireTime(fire), next: None, missed: Some(Vec::new()) });
            local.fires.last_seen = Some(FireTime(fire));
        })
    }

    /// Lets this time pass, and instance 1 look for idle servers at its start and at its end.
    pub(crate) fn passes(mut self, time: Duration) -> Self {
        self.idle_servers.observe(&self.view, self.now);
        self.now += time;
        self.idle_servers.observe(&self.view, self.now);
        self
    }

    /// Lets instance 1 observe the marks of Java instances.
    pub(crate) fn observed(mut self) -> Self {
        let fire = self.local.fires.last_seen;
        let now = Now { wall_ms: 1_000_000, registry_ms: None, mono: Duration::from_secs(1) };
        self.local.java.inference.observe(&self.view, fire, now);
        self
    }

    fn write(mut self, kind: &NodeKind, data: String, lifetime: Lifetime) -> Self {
        let path = self.layout.path(kind);
        let txn = if self.model.read(&path).is_some() {
            Txn::new().put(path, data)
        } else {
            Txn::new().create(path, data, lifetime)
        };
        assert!(self.commit(&txn).is_committed(), "{kind:?}");
        self
    }

    fn remove(&mut self, kind: &NodeKind) {
        let txn = Txn::new().delete(self.layout.path(kind));
        assert!(self.commit(&txn).is_committed(), "{kind:?}");
    }

    fn commit(&mut self, txn: &Txn) -> TxnOutcome {
        let (outcome, changes) = self.model.commit(self.session, txn.ops()).unwrap();
        for change in changes {
            self.view.apply(change).unwrap();
        }
        outcome
    }

    /// Plans a duty of instance 1.
    pub(crate) fn plan(&self, duty: Duty) -> Option<Plan> {
        let plan = java::planner(&self.view, &self.local);
        self.with_context(|cx| plan(duty, cx))
    }

    /// Calls a function with the context of instance 1.
    pub(crate) fn with_context<T>(&self, ask: impl FnOnce(&Context<'_>) -> T) -> T {
        ask(&Context {
            now: Now { wall_ms: NOW_MS, registry_ms: None, mono: self.now },
            me: &id(1),
            session: Some(self.session),
            server: &ip(1),
            view: &self.view,
            local: &self.local,
            idle_servers: &self.idle_servers,
            strategies: &StrategyRegistry::default(),
            settings: &self.settings,
            assumes_full_group: false,
        })
    }

    /// Commits the plans of a duty until it has none, and returns them.
    pub(crate) fn settle(mut self, duty: Duty) -> Vec<String> {
        let mut plans = Vec::new();
        while let Some(plan) = self.plan(duty) {
            assert!(plans.len() < 10, "the duty never settles: {plans:?}");
            plans.push(plan.to_string());
            let txn = self.layout.encode(&plan, self.session);
            let outcome = self.commit(&txn);
            assert!(outcome.is_committed(), "{plan} conflicts on a fresh view: {outcome:?}");
        }
        plans
    }

    /// Commits the present plan of a duty.
    pub(crate) fn commit_once(mut self, duty: Duty) -> Self {
        let plan = self.plan(duty).expect("the duty has a plan");
        let txn = self.layout.encode(&plan, self.session);
        assert!(self.commit(&txn).is_committed(), "{plan}");
        self
    }

    /// Returns true if an earlier plan would commit now.
    pub(crate) fn would_commit(&self, plan: &Plan) -> bool {
        let txn = self.layout.encode(plan, self.session);
        self.model.clone().commit(self.session, txn.ops()).unwrap().0.is_committed()
    }

    /// Returns the plan of a duty as text, or `nothing`. Latch nodes of instance 1 are called
    /// `me-{number}`.
    pub(crate) fn wants(&self, duty: Duty) -> String {
        let first = name_of(&id(1), 0);
        let prefix = first.trim_end_matches('0');
        let text = |plan: Plan| plan.to_string().replace(prefix, "me-");
        self.plan(duty).map_or_else(|| "nothing".to_owned(), text)
    }

    /// Commits the plan of a duty and applies it to the local state. Afterwards the duty must plan
    /// nothing more.
    pub(crate) fn assert_fixpoint(mut self, case: &str, duty: Duty) {
        let Some(plan) = self.plan(duty) else { return };
        let txn = self.layout.encode(&plan, self.session);
        let outcome = self.commit(&txn);
        assert!(outcome.is_committed(), "{case}: {plan} conflicts on a fresh view: {outcome:?}");
        for (item, ledger) in plan.runs_of(&id(1)) {
            self.local.begin(item, ledger, false, None);
        }
        self.local.requests.wanted.clear();
        let ended: Vec<_> = self.local.runs.ended().map(|(item, _)| item).collect();
        ended.into_iter().for_each(|item| self.local.runs.remove(item));
        assert_eq!(self.wants(duty), "nothing", "{case}: not a fixpoint after {plan}");
    }
}

/// Checks rows of (case, scene, expected plan), and that each plan commits and is a fixpoint.
pub(crate) fn check(duty: Duty, rows: Vec<(&str, Scene, &str)>) {
    for (case, scene, expected) in rows {
        assert_eq!(scene.wants(duty), expected, "{case}");
        scene.assert_fixpoint(case, duty);
    }
}
