//! Path, lifetime and data of each node of a job, as literals in both dialects. The registry in
//! memory executes the writes.

use std::collections::BTreeSet;

use coordination::internals::{
    AssignmentRecord, Data, LayoutEncoding as _, OnceRecord, Step, StepOp, TriggerRecord, number_of,
};
use coordination::{
    Dialect, FencingToken, FireTime, GroupName, GroupPermit, JobName, Latch, Layout, Ledger,
    NodeKind, OnceCall, PermitHolder, ServerIp, WaitingRuns,
};
use reg_center::model::Model;
use reg_center::{Expect, Lifetime, Node, NodePath, Op, Txn, Version};
use sharding::{InstanceAttributes, InstanceId, ShardingItem};

const ITEM: ShardingItem = ShardingItem::new(12);
const LATCH: &str = "_c_8d2a-latch-0000000007";

fn id() -> InstanceId {
    InstanceId::new("10.0.0.1@-@7-x")
}

fn ip() -> ServerIp {
    ServerIp::new("10.0.0.1").unwrap()
}

fn layout(dialect: Dialect) -> Layout {
    Layout::new(&JobName::new("j").unwrap()).speaking(dialect)
}

fn job() -> JobName {
    JobName::new("j").unwrap()
}

fn group() -> GroupName {
    GroupName::new("db").unwrap()
}

fn group_permit() -> GroupPermit {
    GroupPermit { group: group(), number: 3 }
}

fn permit_holder() -> PermitHolder {
    PermitHolder { job: job(), item: ITEM, holder: id(), token: FencingToken(7) }
}

const GROUP_PERMIT: &str = r#"{"v":1,"job":"j","item":12,"by":"10.0.0.1@-@7-x","token":7}"#;
const PLACE: &str = r#"{"v":1,"by":"10.0.0.1@-@7-x"}"#;

/// The path of each kind of node, in the order of [`number_of`].
const PATHS: [&str; 47] = [
    "/j/config",
    "/j/instances/10.0.0.1@-@7-x",
    "/j/trigger/10.0.0.1@-@7-x",
    "/j/servers/10.0.0.1",
    "/j/leader/election/instance",
    "/j/leader/election/latch/_c_8d2a-latch-0000000007",
    "/j/leader/failover/latch/_c_8d2a-latch-0000000007",
    "/j/leader/sharding/necessary",
    "/j/leader/sharding/processing",
    "/j/leader/failover/items/12",
    "/j/sharding/12/instance",
    "/j/sharding/12/running",
    "/j/coordination/runs/12",
    "/j/sharding/12/misfire",
    "/j/sharding/12/failovering",
    "/j/sharding/12/failover",
    "/j/sharding/12/disabled",
    "/j/systemTime/current",
    "/j/ledger/12",
    "/j/coordination/term",
    "/j/coordination/servers",
    "/j/coordination/request",
    "/j/coordination/assignment",
    "/j/coordination/draining/10.0.0.1@-@7-x",
    "/j/coordination/names/10.0.0.1@-@7-x",
    "/j/coordination/triggers/request-1",
    "/j/coordination/once",
    "/j/coordination/checkpoints/12",
    "/j/coordination/audit",
    "/j/sharding/12",
    "/j/sharding/12/completed",
    "/j/guarantee/started/12",
    "/j/guarantee/completed/12",
    "/j/coordination/template",
    "/j/leader/failover",
    "/j/coordination/former-configs",
    "/j/coordination/waiting/10.0.0.1@-@7-x",
    "/j/coordination/progress/12",
    "/j/coordination/permits/3",
    "/j/coordination/backfills",
    "/j/coordination/starts",
    "/j/next-job-instance-ip",
    "/job@-@groups/db/limits",
    "/job@-@groups/db/permits/3",
    "/job@-@groups/db/starts",
    "/job@-@groups/db/waiting/j",
    "/job@-@groups/db/audit",
];

#[test]
fn each_kind_of_node_has_its_path() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let layout = layout(dialect);
        for (expected, text) in PATHS.iter().enumerate() {
            let path = NodePath::parse(text).unwrap();
            let kind = layout.parse(&path).unwrap_or_else(|| panic!("{text} is not parsed"));
            assert_eq!(number_of(&kind), expected, "{text} is parsed as {kind:?}");
            assert_eq!(layout.path(&kind), path, "{kind:?}");
        }
    }
}

#[test]
fn paths_of_a_job_are_not_parsed_for_a_job_with_a_similar_name() {
    let named = |name: &str| Layout::new(&JobName::new(name).unwrap());
    for (reader, writer) in [("j", "ji"), ("ji", "j"), ("j", "报告 a+b[1]")] {
        // The nodes of groups belong to no job.
        for text in PATHS.into_iter().filter(|text| text.starts_with("/j/")) {
            let path = NodePath::parse(&text.replacen("/j/", &format!("/{writer}/"), 1)).unwrap();
            let kind = named(writer).parse(&path);
            assert_eq!(kind.map(|kind| named(writer).path(&kind)), Some(path.clone()), "{path}");
            assert_eq!(named(reader).parse(&path), None, "{path} for {reader}");
        }
    }
}

/// The node at the path of a step after the step.
enum After {
    /// A node that the session owns, with its data in 2.1.5 and in 3.x.
    Ephemeral(&'static str, &'static str),
    /// A persistent node, with its data in 2.1.5 and in 3.x.
    Persistent(&'static str, &'static str),
    /// No node.
    Nothing,
}

const YAML: &str = "jobInstanceId: 10.0.0.1@-@7-x\nserverIp: 10.0.0.1\n# RUST\n";
const ID: &str = "10.0.0.1@-@7-x";
const LEDGER: &str = r#"{"v":1,"state":"idle","token":0,"last":1000}"#;
const ASSIGNMENT: &str =
    r#"{"v":1,"members":["10.0.0.1@-@7-x"],"total":13,"strategy":"","handled":2}"#;
const REQUEST: &str = r#"{"v":1,"by":"10.0.0.1@-@7-x","at":1001,"items":[[12,12]]}"#;
const ONCE: &str =
    r#"{"v":1,"started":{"fire":1000,"token":3,"holder":"10.0.0.1@-@7-x","done":true}}"#;

const WAITING: &str = r#"{"v":1,"limit":4,"since":1000,"count":1,"items":[12]}"#;

fn once() -> OnceRecord {
    let call = OnceCall { fire: FireTime(1_000), token: FencingToken(3), holder: id(), done: true };
    OnceRecord { started: Some(call), ..OnceRecord::default() }
}

fn assignment() -> AssignmentRecord {
    let mut record = AssignmentRecord::default();
    record.members = vec![id()];
    record.total_count = 13;
    record.handled = 2;
    record
}

/// Returns all steps that write, in the order of [`Step`], each with its path and the node
/// afterwards.
fn writes() -> Vec<(Step, &'static str, After)> {
    use After::{Ephemeral, Nothing, Persistent};
    let v1 = Version(1);
    let latch = |latch| (latch, LATCH.to_owned());
    let (election, failover) = (latch(Latch::Election), latch(Latch::Failover));
    let items = Some(BTreeSet::from([ITEM]));
    let request = TriggerRecord::new(ID.to_owned(), FireTime(1_001), items);
    let waiting = WaitingRuns::of_items(4, 1_000, vec![ITEM]).unwrap();
    let running = |lasting| {
        let data = Data::Holder(id());
        let lifetime = if lasting { Lifetime::Persistent } else { Lifetime::Ephemeral };
        Step { node: NodeKind::Running(ITEM), op: StepOp::Create(lifetime, data) }
    };
    let join = |(latch, name)| Step::join_latch(latch, name);
    let leave = |(latch, name)| Step::leave_latch(latch, name);
    let request_id = || "request-1".to_owned();
    let server = |disabled| Step::add_server(ip(), disabled);
    vec![
        (server(false), "/j/servers/10.0.0.1", Persistent("", "ENABLED")),
        (server(true), "/j/servers/10.0.0.1", Persistent("DISABLED", "DISABLED")),
        (
            Step::register(id(), InstanceAttributes::default()),
            "/j/instances/10.0.0.1@-@7-x",
            Ephemeral("RUST", YAML),
        ),
        (Step::deregister(id()), "/j/instances/10.0.0.1@-@7-x", Nothing),
        (Step::mark_draining(id()), "/j/coordination/draining/10.0.0.1@-@7-x", Ephemeral("", "")),
        (Step::unmark_draining(id()), "/j/coordination/draining/10.0.0.1@-@7-x", Nothing),
        (
            Step::set_name(id(), "east".to_owned()),
            "/j/coordination/names/10.0.0.1@-@7-x",
            Ephemeral("east", "east"),
        ),
        (Step::clear_name(id()), "/j/coordination/names/10.0.0.1@-@7-x", Nothing),
        (
            Step::set_waiting(id(), None, waiting.clone()),
            "/j/coordination/waiting/10.0.0.1@-@7-x",
            Ephemeral(WAITING, WAITING),
        ),
        (
            Step::set_waiting(id(), Some(v1), waiting),
            "/j/coordination/waiting/10.0.0.1@-@7-x",
            Ephemeral(WAITING, WAITING),
        ),
        (
            Step::take_permit(3, ITEM, &id()),
            "/j/coordination/permits/3",
            Ephemeral("12 10.0.0.1@-@7-x", "12 10.0.0.1@-@7-x"),
        ),
        (Step::return_permit(3), "/j/coordination/permits/3", Nothing),
        (
            Step::take_group_permit(group_permit(), permit_holder()),
            "/job@-@groups/db/permits/3",
            Ephemeral(GROUP_PERMIT, GROUP_PERMIT),
        ),
        (Step::return_group_permit(group_permit()), "/job@-@groups/db/permits/3", Nothing),
        (
            Step::join_line(&group(), job(), id()),
            "/job@-@groups/db/waiting/j",
            Ephemeral(PLACE, PLACE),
        ),
        (
            Step::rejoin_line(&group(), job(), v1, id()),
            "/job@-@groups/db/waiting/j",
            Ephemeral(PLACE, PLACE),
        ),
        (Step::leave_line(&group(), job(), v1), "/job@-@groups/db/waiting/j", Nothing),
        (Step::clear_waiting(id()), "/j/coordination/waiting/10.0.0.1@-@7-x", Nothing),
        (
            Step::set_request(request_id(), None, request.clone()),
            "/j/coordination/triggers/request-1",
            Persistent(REQUEST, REQUEST),
        ),
        (
            Step::set_request(request_id(), Some(v1), request),
            "/j/coordination/triggers/request-1",
            Persistent(REQUEST, REQUEST),
        ),
        (Step::clear_request(request_id(), v1), "/j/coordination/triggers/request-1", Nothing),
        (Step::set_once(None, once()), "/j/coordination/once", Persistent(ONCE, ONCE)),
        (Step::count_server(true), "/j/coordination/servers", Persistent("", "")),
        (Step::count_server(false), "/j/coordination/servers", Persistent("", "")),
        (Step::request_resharding(true), "/j/coordination/request", Persistent("", "")),
        (Step::request_resharding(false), "/j/coordination/request", Persistent("", "")),
        (Step::lead(id()), "/j/leader/election/instance", Ephemeral(ID, ID)),
        (Step::seal_leader(id()), "/j/leader/election/instance", Ephemeral(ID, ID)),
        (
            join(election.clone()),
            "/j/leader/election/latch/_c_8d2a-latch-0000000007",
            Ephemeral("", ""),
        ),
        (
            join(failover.clone()),
            "/j/leader/failover/latch/_c_8d2a-latch-0000000007",
            Ephemeral("", ""),
        ),
        (leave(election), "/j/leader/election/latch/_c_8d2a-latch-0000000007", Nothing),
        (leave(failover), "/j/leader/failover/latch/_c_8d2a-latch-0000000007", Nothing),
        (
            Step::set_term(None, id()),
            "/j/coordination/term",
            Persistent(
                r#"{"v":1,"leader":"10.0.0.1@-@7-x"}"#,
                r#"{"v":1,"leader":"10.0.0.1@-@7-x"}"#,
            ),
        ),
        (Step::abdicate(), "/j/leader/election/instance", Nothing),
        (
            Step::set_assignment(Some(v1), assignment()),
            "/j/coordination/assignment",
            Persistent(ASSIGNMENT, ASSIGNMENT),
        ),
        (Step::set_owner(ITEM, None, id()), "/j/sharding/12/instance", Persistent(ID, ID)),
        (Step::set_owner(ITEM, Some(v1), id()), "/j/sharding/12/instance", Persistent(ID, ID)),
        (Step::clear_owner(ITEM, v1), "/j/sharding/12/instance", Nothing),
        (
            Step::set_ledger(ITEM, None, Ledger::new(Some(FireTime(1_000)))),
            "/j/ledger/12",
            Persistent(LEDGER, LEDGER),
        ),
        // Without failover, and always in 2.1.5.
        (running(false), "/j/sharding/12/running", Ephemeral("", ID)),
        // With failover in 3.x. No plan has this step in 2.1.5.
        (running(true), "/j/sharding/12/running", Persistent("", ID)),
        (Step::mark_alive(ITEM), "/j/coordination/runs/12", Ephemeral("", "")),
        (Step::unmark_alive(ITEM), "/j/coordination/runs/12", Nothing),
        (Step::mark_failovering(ITEM, id()), "/j/sharding/12/failovering", Persistent(ID, ID)),
        (Step::unmark_failovering(ITEM), "/j/sharding/12/failovering", Nothing),
        (Step::unmark_running(ITEM), "/j/sharding/12/running", Nothing),
        (Step::mark_misfire(ITEM), "/j/sharding/12/misfire", Persistent("", "")),
        (Step::unmark_misfire(ITEM), "/j/sharding/12/misfire", Nothing),
        (Step::mark_failover(ITEM, id()), "/j/sharding/12/failover", Ephemeral(ID, ID)),
        (Step::unmark_failover(ITEM), "/j/sharding/12/failover", Nothing),
        (Step::queue(ITEM), "/j/leader/failover/items/12", Persistent("", "")),
        (Step::dequeue(ITEM), "/j/leader/failover/items/12", Nothing),
        (Step::announce_resharding(), "/j/leader/sharding/necessary", Persistent("", "")),
        (Step::end_announcement(), "/j/leader/sharding/necessary", Nothing),
        (Step::remove_leftover_instance(id(), v1), "/j/instances/10.0.0.1@-@7-x", Nothing),
    ]
}

/// Creates the node that a step expects, with puts up to the expected version.
fn prepare(model: &mut Model, op: &Op, lifetime: Lifetime) {
    let (path, expect) = match op {
        Op::Put { path, expect, .. } | Op::Delete { path, expect } => (path.clone(), expect),
        Op::Create { .. } | Op::Check { .. } | Op::CheckAbsent { .. } => return,
    };
    let puts = if let Expect::Version(Version(version)) = expect { *version } else { 1 };
    let owner = model.open_session();
    let mut txn = Txn::new().create(path.clone(), "before", lifetime);
    for n in 0..puts {
        txn = txn.put(path.clone(), format!("before, {n}"));
    }
    let (outcome, _) = model.commit(owner, txn.ops()).unwrap();
    assert!(outcome.is_committed(), "{path}: {outcome:?}");
}

/// Executes a step and returns the node at the path afterwards.
fn execute(layout: &Layout, step: &Step, path: &NodePath, lifetime: Lifetime) -> Option<Node> {
    let mut model = Model::new();
    let op = layout.encode_step(step);
    prepare(&mut model, &op, lifetime);
    let session = model.open_session();
    let (outcome, changes) = model.commit(session, std::slice::from_ref(&op)).unwrap();
    assert!(outcome.is_committed(), "{step:?}: {outcome:?}");
    assert!(!changes.is_empty(), "{step:?} is a write");
    let node = model.read(path).cloned();
    if let Some(node) = &node {
        assert_ne!(node.data, "before", "{step:?} wrote to another node");
    }
    node
}

#[test]
fn each_step_writes_the_node_of_the_release() {
    for (step, text, after) in writes() {
        let path = NodePath::parse(text).unwrap();
        for dialect in [Dialect::V2, Dialect::V3] {
            let layout = layout(dialect);
            let (lifetime, data) = match (&after, dialect) {
                (After::Ephemeral(data, _), Dialect::V2) => (Lifetime::Ephemeral, Some(*data)),
                (After::Ephemeral(_, data), Dialect::V3) => (Lifetime::Ephemeral, Some(*data)),
                (After::Persistent(data, _), Dialect::V2) => (Lifetime::Persistent, Some(*data)),
                (After::Persistent(_, data), Dialect::V3) => (Lifetime::Persistent, Some(*data)),
                (After::Nothing, _) => (Lifetime::Persistent, None),
            };
            let node = execute(&layout, &step, &path, lifetime);
            let found = node.as_ref().map(|node| std::str::from_utf8(&node.data).unwrap());
            assert_eq!(found, data, "{dialect}, {step:?}: data of {text}");
            let is_owned = node.as_ref().is_some_and(|node| node.stat.owner.is_some());
            assert_eq!(is_owned, lifetime == Lifetime::Ephemeral, "{dialect}, {step:?}: {text}");
        }
    }
}

/// Each dialect stores a manual request, and its acceptance, in a different node.
#[test]
fn manual_requests_are_written_and_accepted_as_by_the_release() {
    let (instance, v1) = (id(), Version(1));
    let request = |dialect| Step::ask_to_run(dialect, instance.clone(), v1);
    let none = InstanceAttributes::default();
    let accept = |dialect| Step::accept_run_request(dialect, instance.clone(), v1, none.clone());
    let seal = Step::seal_leftover_instance(id());
    let (node, trigger) = ("/j/instances/10.0.0.1@-@7-x", "/j/trigger/10.0.0.1@-@7-x");
    let rows = [
        (Dialect::V2, request(Dialect::V2), node, Lifetime::Ephemeral, Some("TRIGGER")),
        (Dialect::V2, accept(Dialect::V2), node, Lifetime::Ephemeral, Some("RUST")),
        (Dialect::V3, request(Dialect::V3), trigger, Lifetime::Persistent, Some("")),
        (Dialect::V3, accept(Dialect::V3), trigger, Lifetime::Persistent, None),
        (Dialect::V2, seal, node, Lifetime::Persistent, Some("")),
    ];
    for (dialect, step, text, lifetime, data) in rows {
        let path = NodePath::parse(text).unwrap();
        let node = execute(&layout(dialect), &step, &path, lifetime);
        let found = node.as_ref().map(|node| std::str::from_utf8(&node.data).unwrap());
        assert_eq!(found, data, "{dialect}, {step:?}: data of {text}");
        let is_owned = node.as_ref().is_some_and(|node| node.stat.owner.is_some());
        assert_eq!(is_owned, node.is_some() && lifetime == Lifetime::Ephemeral, "{step:?}");
    }
}

#[test]
fn each_check_guards_the_intended_node() {
    let version = Version(3);
    let exactly = Some(Expect::Version(version));
    let exists = Some(Expect::Exists);
    let rows = [
        (Step::instance_registered(id()), "/j/instances/10.0.0.1@-@7-x", exists),
        (Step::server_unchanged(ip(), version), "/j/servers/10.0.0.1", exactly),
        (Step::term_unchanged(version), "/j/coordination/term", exactly),
        (Step::config_unchanged(version), "/j/config", exactly),
        (Step::no_server_added(Some(version)), "/j/coordination/servers", exactly),
        (Step::no_server_added(None), "/j/coordination/servers", None),
        (Step::no_new_resharding_request(version), "/j/coordination/request", exactly),
        (Step::assignment_unchanged(version), "/j/coordination/assignment", exactly),
        (Step::owner_unchanged(ITEM, version), "/j/sharding/12/instance", exactly),
        (Step::ledger_unchanged(ITEM, version), "/j/ledger/12", exactly),
        (Step::leader_unchanged(version), "/j/leader/election/instance", exactly),
        (Step::absent(NodeKind::Running(ITEM)), "/j/sharding/12/running", None),
        (Step::resharding_announced(), "/j/leader/sharding/necessary", exists),
        (Step::item_disabled(ITEM, true), "/j/sharding/12/disabled", exists),
        (Step::item_disabled(ITEM, false), "/j/sharding/12/disabled", None),
    ];
    for (step, text, expect) in rows {
        let path = NodePath::parse(text).unwrap();
        let expected = match expect {
            Some(expect) => Op::Check { path, expect },
            None => Op::CheckAbsent { path },
        };
        for dialect in [Dialect::V2, Dialect::V3] {
            assert_eq!(layout(dialect).encode_step(&step), expected, "{step:?}");
        }
    }
}
