//! Comparison of all nodes that Java instances had in a registry with the nodes that this crate
//! writes.

use std::collections::BTreeMap;

use coordination::internals::{Data, ENABLED, LayoutEncoding as _, RUST_MARK, Step, StepOp};
use coordination::{Dialect, JobName, Layout, NodeKind, ServerState, decode_config, encode_config};
use reg_center::{Lifetime, NodePath, Op};
use sharding::{InstanceAttributes, InstanceId};

const TREES: [(Dialect, &str); 2] = [
    (Dialect::V2, include_str!("../../testdata/elasticjob-2.1.5-tree.txt")),
    (Dialect::V3, include_str!("../../testdata/elasticjob-3.0.4-tree.txt")),
];

/// Parent nodes without data. Some are containers, which the ZooKeeper server deletes when they are
/// empty.
const PARENTS: [&str; 13] = [
    "instances",
    "leader",
    "leader/election",
    "leader/election/latch",
    "leader/failover",
    "leader/failover/items",
    "leader/failover/latch",
    "leader/sharding",
    "servers",
    "sharding",
    "systemTime",
    "trigger",
    "guarantee",
];

/// A line of a tree: one node with its namespace, its path below the job's root and its data.
struct Line {
    namespace: String,
    below: String,
    ephemeral: bool,
    data: String,
}

/// Parses the lines with nodes of the job.
fn lines(tree: &str) -> Vec<Line> {
    let line = |line: &str| {
        let (path, rest) = line.split_once("  ")?;
        let (namespace, below) = path.strip_prefix('/')?.split_once("/demo")?;
        let data = rest.split_once("data=")?.1;
        Some(Line {
            namespace: namespace.to_owned(),
            below: below.trim_start_matches('/').to_owned(),
            ephemeral: rest.starts_with("EPHEMERAL("),
            data: serde_json::from_str(data).unwrap(),
        })
    };
    tree.lines().filter(|text| text.starts_with('/')).filter_map(line).collect()
}

/// Returns the node that this crate writes in place of a Java node: the name of its kind, its
/// lifetime and its data.
fn written_here(layout: &Layout, kind: &NodeKind, line: &Line) -> (&'static str, Lifetime, String) {
    let holder = InstanceId::new(line.data.clone());
    // Each namespace has its own configuration; that of `treeFo` has failover.
    let lasting = layout.dialect() == Dialect::V3 && line.namespace == "treeFo";
    let (name, step) = if let NodeKind::Config = kind {
        let config = decode_config(line.data.as_bytes()).unwrap();
        return ("config", Lifetime::Persistent, encode_config(&config));
    } else if let NodeKind::ItemDisabled(_) = kind {
        // Only operators create this node.
        return ("disabled", Lifetime::Persistent, String::new());
    } else if let NodeKind::SystemTime = kind {
        // Instances write this node to read the clock of the registry.
        return ("time", Lifetime::Persistent, String::new());
    } else if let NodeKind::Server(ip) = kind {
        let disabled = line.data == layout.server_data(ServerState::Disabled);
        ("server", Step::add_server(ip.clone(), disabled))
    } else if let NodeKind::Instance(id) = kind {
        ("instance", Step::register(id.clone(), InstanceAttributes::default()))
    } else if let NodeKind::Leader = kind {
        ("leader", Step::lead(holder))
    } else if let NodeKind::Latch(latch, name) = kind {
        ("latch", Step::join_latch(*latch, name.clone()))
    } else if let NodeKind::Necessary = kind {
        ("necessary", Step::announce_resharding())
    } else if let NodeKind::QueuedItem(item) = kind {
        ("queued", Step::queue(*item))
    } else if let NodeKind::Owner(item) = kind {
        ("owner", Step::set_owner(*item, None, holder))
    } else if let NodeKind::Running(item) = kind {
        let lifetime = if lasting { Lifetime::Persistent } else { Lifetime::Ephemeral };
        let op = StepOp::Create(lifetime, Data::Holder(holder));
        ("running", Step { node: NodeKind::Running(*item), op })
    } else if let NodeKind::Misfire(item) = kind {
        ("misfire", Step::mark_misfire(*item))
    } else if let NodeKind::Failover(item) = kind {
        ("failover", Step::mark_failover(*item, holder))
    } else if let NodeKind::Failovering(item) = kind {
        ("failovering", Step::mark_failovering(*item, holder))
    } else {
        panic!("the test knows no writer of {kind:?}")
    };
    let Op::Create { path, data, lifetime } = layout.encode_step(&step) else {
        panic!("{step:?} creates no node")
    };
    assert_eq!(path, layout.path(kind));
    (name, lifetime, String::from_utf8(data.to_vec()).unwrap())
}

#[test]
fn nodes_have_the_paths_lifetimes_and_data_of_java_nodes() {
    for (dialect, tree) in TREES {
        let layout = Layout::new(&JobName::new("demo").unwrap()).speaking(dialect);
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for line in lines(tree) {
            if is_parent(&line.below) {
                assert!(!line.ephemeral, "{dialect}: {}", line.below);
                continue;
            }
            let path = NodePath::parse(&format!("/demo/{}", line.below)).unwrap();
            let kind = layout.parse(&path);
            let kind = kind.unwrap_or_else(|| panic!("{dialect}: the layout does not know {path}"));
            let (name, lifetime, written) = written_here(&layout, &kind, &line);
            let expected = match name {
                // The mark of Rust instances is the only difference. Java ignores it.
                "instance" => {
                    written.replace(&format!("# {RUST_MARK}\n"), "").replace(RUST_MARK, "")
                }
                _ => written,
            };
            assert_eq!(line.data, expected, "{dialect}: {}", line.below);
            let ephemeral = lifetime == Lifetime::Ephemeral;
            assert_eq!(line.ephemeral, ephemeral, "{dialect}: {}", line.below);
            *seen.entry(name).or_default() += 1;
        }
        let found: Vec<_> = seen.keys().copied().collect();
        assert_eq!(found, kinds_in(dialect), "{dialect}");
    }
}

fn is_parent(below: &str) -> bool {
    let item = below.strip_prefix("sharding/").is_some_and(|i| i.parse::<u32>().is_ok());
    below.is_empty() || item || PARENTS.contains(&below)
}

/// Returns the kinds of nodes that the tree of a dialect must have, so that each is compared.
fn kinds_in(dialect: Dialect) -> Vec<&'static str> {
    let mut both = vec![
        "config",
        "failover",
        "instance",
        "latch",
        "leader",
        "misfire",
        "necessary",
        "owner",
        "queued",
        "running",
        "server",
        "time",
    ];
    if dialect == Dialect::V3 {
        both.extend(["disabled", "failovering"]);
    }
    both.sort_unstable();
    both
}

#[test]
fn java_instances_are_recognized_with_their_dialect() {
    for (dialect, tree) in TREES {
        let layout = Layout::new(&JobName::new("demo").unwrap()).speaking(dialect);
        let mut instances = 0;
        for line in lines(tree) {
            let path = NodePath::parse(&format!("/demo/{}", line.below));
            let path = path.unwrap_or_else(|_| layout.root());
            let sign = layout.sign_of_dialect([(&path, line.data.as_bytes())]);
            let shows = sign.map(|sign| sign.dialect);
            let kind = layout.parse(&path);
            let expected = if matches!(kind, Some(NodeKind::Instance(_))) {
                assert!(layout.is_of_java(line.data.as_bytes()), "{}", line.below);
                instances += 1;
                Some(dialect)
            } else if matches!(kind, Some(NodeKind::Server(_))) {
                let is_sign = dialect == Dialect::V2 || line.data == ENABLED;
                is_sign.then_some(dialect)
            } else {
                let is_sign = line.below.is_empty() && dialect == Dialect::V3;
                is_sign.then_some(dialect)
            };
            assert_eq!(shows, expected, "{}: {}", line.below, line.data);
        }
        assert!(instances > 20, "{dialect}: {instances}");
    }
}
