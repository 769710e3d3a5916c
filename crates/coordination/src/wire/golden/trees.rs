//! All nodes that real instances had in a registry, beside what is written here in their place.

use std::collections::BTreeMap;

use reg_center::{Lifetime, NodePath, Op};
use sharding::InstanceId;

use crate::plan::{Data, Step, StepOp};
use crate::wire::{ENABLED, Layout, NodeKind, RUST_MARK};
use crate::{Dialect, JobName, ServerState, decode_config, encode_config};

const TREES: [(Dialect, &str); 2] = [
    (Dialect::V2, include_str!("../../../testdata/elasticjob-2.1.5-tree.txt")),
    (Dialect::V3, include_str!("../../../testdata/elasticjob-3.0.4-tree.txt")),
];

/// Nodes that hold other nodes only. Some of them are containers, which a server takes away when they are empty.
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

/// A line of a tree: namespace, path below the job's root, whether a session owns the node, and what it holds.
struct Line {
    namespace: String,
    below: String,
    ephemeral: bool,
    data: String,
}

/// Reads the lines that are about nodes of the job.
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

/// What is written here for a node of Java's: its name in the list of those that were seen, lifetime and bytes.
fn ours(layout: &Layout, kind: &NodeKind, line: &Line) -> (&'static str, Lifetime, String) {
    let holder = InstanceId::new(line.data.clone());
    // The namespaces of the trees say what was configured; `treeFo` is the one with failover.
    let lasting = layout.dialect() == Dialect::V3 && line.namespace == "treeFo";
    let (name, step) = if let NodeKind::Config = kind {
        let config = decode_config(line.data.as_bytes()).unwrap();
        return ("config", Lifetime::Persistent, encode_config(&config));
    } else if let NodeKind::ItemDisabled(_) = kind {
        // Operators make it.
        return ("disabled", Lifetime::Persistent, String::new());
    } else if let NodeKind::SystemTime = kind {
        // The registry's clock is asked by touching it.
        return ("time", Lifetime::Persistent, String::new());
    } else if let NodeKind::Server(ip) = kind {
        let disabled = line.data == layout.server_data(ServerState::Disabled);
        ("server", Step::add_server(ip.clone(), disabled))
    } else if let NodeKind::Instance(id) = kind {
        ("instance", Step::register(id.clone()))
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
        panic!("the trees have no {kind:?}")
    };
    let Op::Create { path, data, lifetime } = layout.encode_step(&step) else {
        panic!("{step:?} makes no node")
    };
    assert_eq!(path, layout.path(kind));
    (name, lifetime, String::from_utf8(data.to_vec()).unwrap())
}

#[test]
fn nodes_have_the_paths_lifetimes_and_bytes_of_real_ones() {
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
            let kind = kind.unwrap_or_else(|| panic!("{dialect}: nobody here knows {path}"));
            let (name, lifetime, written) = ours(&layout, &kind, &line);
            let expected = match name {
                // The one difference, and Java makes nothing of it.
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
        assert_eq!(found, shown_in(dialect), "{dialect}");
    }
}

fn is_parent(below: &str) -> bool {
    let item = below.strip_prefix("sharding/").is_some_and(|i| i.parse::<u32>().is_ok());
    below.is_empty() || item || PARENTS.contains(&below)
}

/// The kinds of nodes that the trees show, so that none is compared with nothing.
fn shown_in(dialect: Dialect) -> Vec<&'static str> {
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
fn real_instances_are_known_for_what_they_are_and_show_their_dialect() {
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
                let tells = dialect == Dialect::V2 || line.data == ENABLED;
                tells.then_some(dialect)
            } else {
                let tells = line.below.is_empty() && dialect == Dialect::V3;
                tells.then_some(dialect)
            };
            assert_eq!(shows, expected, "{}: {}", line.below, line.data);
        }
        assert!(instances > 20, "{dialect}: {instances}");
    }
}
