//! A valid tree of a job, seen by the instance that leads it.

use bytes::Bytes;
use coordination::{
    Coordinator, Event, Identity, JobConfig, JobName, Layout, Now, ServerIp, encode_config,
};
use reg_center::{Change, Node, NodePath, Revision, SessionId, Stat, Version};
use sharding::{InstanceId, StrategyRegistry};

/// Instance whose coordinator is under test.
pub(crate) const ME: &str = "10.0.0.1@-@7-a";
/// Another instance.
pub(crate) const OTHER: &str = "10.0.0.2@-@9-b";
/// Session of the instance under test.
pub(crate) const SESSION: SessionId = SessionId(1);
/// Session of the other instance.
pub(crate) const OTHER_SESSION: SessionId = SessionId(2);

/// Returns the name of the job.
pub(crate) fn job() -> JobName {
    JobName::new("report").expect("a valid name")
}

pub(crate) fn layout() -> Layout {
    Layout::new(&job())
}

pub(crate) fn path(relative: &str) -> NodePath {
    NodePath::parse(&format!("{}/{relative}", layout().root())).expect("a valid path")
}

/// Returns a configuration with all options on.
pub(crate) fn config() -> JobConfig {
    let mut config = JobConfig::new(job(), 3);
    config.cron = Some("0/10 * * * * ?".to_owned());
    config.failover = true;
    config.excluded_days = Some("SAT..SUN,12-25".to_owned());
    config.jitter_ms = Some(500);
    config
}

/// Returns every kind of node, with valid data and the owning session.
pub(crate) fn good_nodes() -> Vec<(&'static str, String, Option<SessionId>)> {
    let own = Some(SESSION);
    let idle = r#"{"state":"idle","token":3,"last":1000,"previous":0,"next":11000}"#;
    let running = format!(
        r#"{{"state":"running","holder":"{OTHER}","fire":1000,"source":"NORMAL","token":4,"last":1000,"config":0,"misfire":{{"first":2000,"last":3000,"count":2}},"request":{{"id":"r","at":1501,"parameter":"february"}},"began":1002}}"#
    );
    let orphan = r#"{"state":"orphan","holder":"gone","fire":1000,"source":"FAILOVER","parameter":"march","merged":{"first":0,"last":1000,"count":2},"token":5,"last":1000,"disabled":true,"outcome":"failed","ended":900}"#;
    let assignment = format!(
        r#"{{"members":["{OTHER}","{ME}"],"names":{{"{OTHER}":"second"}},"total":3,"strategy":"","handled":1,"pending":{{"{ME}":[[2,2]]}}}}"#
    );
    let once = format!(
        r#"{{"started":{{"fire":1000,"token":4,"holder":"{ME}","done":false}},"completed":{{"fire":0,"token":3,"holder":"{OTHER}","done":true}}}}"#
    );
    let empty = String::new;
    vec![
        ("config", encode_config(&config()), None),
        ("servers/10.0.0.1", empty(), None),
        ("servers/10.0.0.2", "PAUSED".into(), None),
        ("instances/10.0.0.1@-@7-a", "RUST".into(), own),
        ("instances/10.0.0.2@-@9-b", "RUST".into(), Some(OTHER_SESSION)),
        ("leader/election/instance", ME.into(), own),
        ("leader/sharding/necessary", empty(), None),
        ("leader/failover/items/2", empty(), None),
        ("sharding/0/instance", ME.into(), None),
        ("sharding/1/instance", OTHER.into(), None),
        ("sharding/2/instance", OTHER.into(), None),
        ("sharding/1/running", empty(), Some(OTHER_SESSION)),
        ("sharding/1/misfire", empty(), None),
        ("sharding/2/failover", ME.into(), own),
        ("sharding/2/disabled", empty(), None),
        ("systemTime/current", empty(), None),
        ("ledger/0", idle.into(), None),
        ("ledger/1", running, None),
        ("ledger/2", orphan.into(), None),
        ("coordination/term", format!(r#"{{"leader":"{ME}"}}"#), None),
        ("coordination/request", empty(), None),
        ("coordination/assignment", assignment, None),
        ("coordination/draining/10.0.0.2@-@9-b", empty(), Some(OTHER_SESSION)),
        ("coordination/names/10.0.0.2@-@9-b", "second".into(), Some(OTHER_SESSION)),
        (
            "coordination/triggers/one",
            r#"{"by":"me","at":1501,"items":[[0,1]],"parameter":"february"}"#.into(),
            None,
        ),
        ("coordination/once", once, None),
    ]
}

pub(crate) fn node(
    relative: &str,
    data: impl Into<Bytes>,
    version: u32,
    modified: u64,
    owner: Option<SessionId>,
) -> Node {
    let stat = Stat {
        version: Version(version),
        created: Revision(1),
        modified: Revision(modified),
        modified_at: None,
        owner,
    };
    Node { path: path(relative), data: data.into(), stat }
}

/// Returns a coordinator that is connected and has no view yet.
pub(crate) fn connected() -> Coordinator {
    let server = ServerIp::new("10.0.0.1").expect("a valid address");
    let identity = Identity { job: job(), server };
    let mut coordinator =
        Coordinator::new(identity, StrategyRegistry::default()).calling_back().named("first");
    let event = Event::Connected { session: SESSION, incarnation: InstanceId::new(ME) };
    coordinator.handle(now(0), event, &mut Vec::new());
    coordinator
}

/// Returns an event with a snapshot of the nodes.
pub(crate) fn snapshot(nodes: impl IntoIterator<Item = Node>) -> Event {
    let entries = nodes.into_iter().map(Change::Entry);
    Event::Registry(std::iter::once(Change::Init).chain(entries).chain([Change::Ready]).collect())
}

/// Returns a coordinator whose view is a snapshot of the nodes.
pub(crate) fn with_snapshot(nodes: impl IntoIterator<Item = Node>) -> Coordinator {
    let mut coordinator = connected();
    coordinator.handle(now(0), snapshot(nodes), &mut Vec::new());
    coordinator
}

/// Returns a time of `ms` milliseconds after the start, by both clocks.
pub(crate) fn now(ms: u32) -> Now {
    let mono = std::time::Duration::from_millis(u64::from(ms));
    Now { wall_ms: i64::from(ms), registry_ms: None, mono }
}
