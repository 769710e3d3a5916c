//! Names that become nodes: rejected, or parsed back from the path.

use coordination::{
    Command, Coordinator, Event, Identity, JobConfig, JobName, Layout, ServerIp, ServerState,
    encode_config, instance_id, server_of, task_id,
};
use reg_center::model::Model;
use reg_center::{Change, Lifetime, NodePath, Txn, TxnOutcome};
use sharding::{ShardingItem, StrategyRegistry};

use crate::job_tree::now;

/// Takes names from `bytes`: the first two lines, and the whole text.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    for name in [first, &*text] {
        check_path(name);
        check_job(name);
        check_server(name);
    }
    check_instance(first, second);
}

/// Checks that a path keeps its text, and that splitting and joining are inverse.
fn check_path(text: &str) {
    if let Ok(path) = NodePath::parse(text) {
        assert_eq!(path.as_str(), text);
        assert_eq!(path.to_string().parse(), Ok(path.clone()));
        if let Some(parent) = path.parent() {
            assert_eq!(parent.join(path.name()).as_ref(), Ok(&path));
            assert_eq!(path.below(&parent), Some(path.name()));
            assert!(path.is_within(&parent) && !parent.is_within(&path));
        }
    }
    let root = NodePath::parse("/a").expect("a valid path");
    if let Ok(child) = root.join(text) {
        assert_eq!((child.name(), child.parent()), (text, Some(root)));
        assert!(!text.is_empty() && !text.contains('/') && !text.chars().any(char::is_control));
        assert_eq!(NodePath::parse(child.as_str()), Ok(child));
    }
}

/// Checks that a job's name is the name of its node, and that a longer name shares no node with it.
fn check_job(name: &str) {
    let Ok(job) = JobName::new(name) else {
        let message = JobName::new(name).map(|_| ()).expect_err("rejected above").to_string();
        assert!(message.starts_with("job name ") && message.contains("not valid"), "{message}");
        return;
    };
    assert_eq!(job.as_str(), name);
    let layout = Layout::new(&job);
    assert_eq!((layout.root().name(), layout.root().parent()), (name, Some(NodePath::root())));
    assert!(layout.config_path().is_within(&layout.root()));
    if let Ok(longer) = JobName::new(&format!("{name}b")) {
        let other = Layout::new(&longer);
        assert!(!other.config_path().is_within(&layout.root()));
        assert!(!layout.config_path().is_within(&other.root()));
    }
}

fn check_server(text: &str) {
    let Ok(server) = ServerIp::new(text) else { return };
    assert_eq!(server.as_str(), text);
    let txn = layout().set_server(&server, ServerState::Disabled);
    let wanted = format!("/report/servers/{text}");
    assert_eq!(txn.ops()[0].path().as_str(), wanted);
}

/// Checks that an instance that registers finds its own id in the view.
fn check_instance(server: &str, suffix: &str) {
    let server = ServerIp::new(server).or_else(|_| ServerIp::new("10.0.0.1"));
    let server = server.expect("a valid address");
    let Ok(id) = instance_id(&server, suffix) else { return };
    assert_eq!(server_of(&id), Some(server.clone()), "{id}");
    let task = task_id(&job(), ShardingItem::new(7), &id);
    assert!(task.starts_with("report@-@7@-@READY@-@") && task.ends_with(id.as_str()), "{task}");

    let mut registry = Model::new();
    let session = registry.open_session();
    let config = encode_config(&JobConfig::new(job(), 2));
    let setup = Txn::new().create(layout().config_path(), config, Lifetime::Persistent);
    registry.commit(session, setup.ops()).expect("the session is open");
    let mut coordinator =
        Coordinator::new(Identity { job: job(), server }, StrategyRegistry::default());
    let mut commands = Vec::new();
    let connected = Event::Connected { session, incarnation: id.clone() };
    coordinator.handle(now(0), connected, &mut commands);
    for _ in 0..4 {
        let root = layout().root();
        let entries = registry.subtree(&root).cloned().map(Change::Entry);
        let snapshot =
            std::iter::once(Change::Init).chain(entries).chain([Change::Ready]).collect();
        commands.clear();
        coordinator.handle(now(0), Event::Registry(snapshot), &mut commands);
        for command in &commands {
            if let Command::Commit { txn, .. } = command {
                let result = registry.commit(session, txn.ops()).expect("the session is open");
                assert!(matches!(result.0, TxnOutcome::Committed(_)), "{command}: {result:?}");
            }
        }
    }
    assert!(
        coordinator.view().is_registered(&id),
        "{id} is not in the view: {}",
        coordinator.view()
    );
    assert!(coordinator.view().is_available(&id) && coordinator.view().leader() == Some(&id));
}

fn job() -> JobName {
    JobName::new("report").expect("a valid name")
}

fn layout() -> Layout {
    Layout::new(&job())
}
