//! The layers: allowed dependencies between the crates, and packages that must not be reachable.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::env;
use std::fmt::Write as _;
use std::process::Command;

use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package};

/// Crates of the workspace that one crate may name.
struct Row {
    name: &'static str,
    /// In `[dependencies]` and `[build-dependencies]`.
    normal: &'static [&'static str],
    /// In `[dev-dependencies]`, besides the normal ones.
    dev: &'static [&'static str],
}

/// The layers from the bottom to the top. A new edge is a decision about the architecture.
const LAYERS: [Row; 39] = [
    Row { name: "sharding", normal: &[], dev: &[] },
    Row { name: "trigger", normal: &[], dev: &[] },
    Row { name: "reg-center", normal: &[], dev: &[] },
    Row { name: "coordination", normal: &["reg-center", "sharding"], dev: &[] },
    Row { name: "reg-center-zookeeper", normal: &["reg-center"], dev: &["zookeeper-fixture"] },
    Row { name: "reg-center-sqlite", normal: &["reg-center"], dev: &[] },
    Row { name: "reg-center-postgres", normal: &["reg-center"], dev: &["postgres-fixture"] },
    Row { name: "reg-center-etcd", normal: &["reg-center"], dev: &["etcd-fixture"] },
    Row {
        name: "registry",
        normal: &[
            "reg-center",
            "reg-center-etcd",
            "reg-center-postgres",
            "reg-center-sqlite",
            "reg-center-zookeeper",
        ],
        dev: &["etcd-fixture", "lite", "postgres-fixture", "sharding", "zookeeper-fixture"],
    },
    Row { name: "inbound", normal: &[], dev: &[] },
    Row {
        name: "lite",
        normal: &["coordination", "inbound", "reg-center", "sharding", "trigger"],
        dev: &[],
    },
    Row {
        name: "operations",
        normal: &["coordination", "reg-center", "sharding", "trigger"],
        dev: &["lite", "reg-center-zookeeper", "zookeeper-fixture"],
    },
    Row { name: "outbound", normal: &[], dev: &[] },
    Row {
        name: "job-types",
        normal: &["job-alerts", "lite", "outbound"],
        dev: &["coordination", "reg-center"],
    },
    Row { name: "job-alerts", normal: &["lite", "outbound"], dev: &["coordination", "reg-center"] },
    Row {
        name: "job-watch",
        normal: &["coordination", "job-alerts", "operations", "outbound", "reg-center", "sharding"],
        dev: &[],
    },
    Row {
        name: "job-history",
        normal: &["checker", "coordination", "lite", "operations", "sharding"],
        dev: &["mariadb-fixture", "postgres-fixture", "reg-center"],
    },
    Row {
        name: "job-console",
        normal: &[
            "coordination",
            "inbound",
            "job-history",
            "job-types",
            "job-watch",
            "operations",
            "outbound",
            "reg-center",
            "sharding",
            "trigger",
        ],
        dev: &["lite"],
    },
    Row {
        name: "job-metrics",
        normal: &["coordination", "lite"],
        dev: &["reg-center", "sharding"],
    },
    Row {
        name: "cli",
        normal: &[
            "coordination",
            "inbound",
            "job-alerts",
            "job-console",
            "job-history",
            "job-metrics",
            "job-types",
            "job-watch",
            "lite",
            "operations",
            "outbound",
            "reg-center",
            "reg-center-etcd",
            "reg-center-postgres",
            "reg-center-sqlite",
            "reg-center-zookeeper",
            "registry",
            "sharding",
        ],
        dev: &["etcd-fixture", "postgres-fixture", "zookeeper-fixture"],
    },
    Row {
        name: "elastic-job",
        normal: &[
            "cli",
            "job-alerts",
            "job-console",
            "job-history",
            "job-metrics",
            "job-types",
            "lite",
            "operations",
            "reg-center",
            "reg-center-zookeeper",
            "registry",
            "sharding",
            "testkit",
            "trigger",
        ],
        dev: &[],
    },
    Row { name: "example-opentelemetry", normal: &["lite", "reg-center"], dev: &[] },
    Row { name: "server-fixture", normal: &[], dev: &[] },
    Row { name: "zookeeper-fixture", normal: &["server-fixture"], dev: &[] },
    Row { name: "postgres-fixture", normal: &["server-fixture"], dev: &[] },
    Row { name: "mariadb-fixture", normal: &["server-fixture"], dev: &[] },
    Row { name: "etcd-fixture", normal: &["server-fixture"], dev: &[] },
    Row { name: "checker", normal: &[], dev: &[] },
    Row { name: "testkit", normal: &["checker", "coordination", "lite", "reg-center"], dev: &[] },
    Row { name: "promises", normal: &["coordination", "reg-center", "sharding"], dev: &[] },
    Row {
        name: "model",
        normal: &[],
        dev: &["coordination", "promises", "reg-center", "sharding"],
    },
    Row {
        name: "simulation",
        normal: &[
            "checker",
            "coordination",
            "lite",
            "promises",
            "reg-center",
            "sharding",
            "testkit",
        ],
        dev: &[],
    },
    Row {
        name: "verify",
        normal: &[
            "checker",
            "coordination",
            "etcd-fixture",
            "lite",
            "postgres-fixture",
            "reg-center",
            "registry",
            "simulation",
            "testkit",
            "zookeeper-fixture",
        ],
        dev: &["reg-center-zookeeper"],
    },
    Row { name: "chaos", normal: &["checker", "job-history", "zookeeper-fixture"], dev: &[] },
    Row {
        name: "interop",
        normal: &[
            "coordination",
            "lite",
            "reg-center",
            "reg-center-zookeeper",
            "sharding",
            "zookeeper-fixture",
        ],
        dev: &[],
    },
    Row {
        name: "bench",
        normal: &[
            "coordination",
            "etcd-fixture",
            "interop",
            "job-console",
            "lite",
            "operations",
            "postgres-fixture",
            "reg-center",
            "reg-center-sqlite",
            "registry",
            "sharding",
            "zookeeper-fixture",
        ],
        dev: &[],
    },
    Row {
        name: "fuzz",
        normal: &["checker", "coordination", "reg-center", "sharding", "trigger"],
        dev: &[],
    },
    Row { name: "mutants", normal: &[], dev: &[] },
    Row {
        name: "xtask",
        normal: &[
            "etcd-fixture",
            "mariadb-fixture",
            "mutants",
            "postgres-fixture",
            "server-fixture",
            "zookeeper-fixture",
        ],
        dev: &[],
    },
];

const PURE: [&str; 4] = ["coordination", "reg-center", "sharding", "trigger"];
/// Crates without random numbers. `trigger` is not listed, because a macro of its optional `cron`
/// draws random numbers at compile time.
const WITHOUT_RANDOM: [&str; 3] = ["coordination", "reg-center", "sharding"];

/// Packages that must not be reachable from some crates, except through dev-dependencies.
const UNREACHABLE: [(&str, &[&str], &str); 7] = [
    ("tokio", &PURE, "pure crates run on no runtime"),
    ("tracing", &PURE, "pure crates do not log"),
    ("getrandom", &WITHOUT_RANDOM, "pure crates use no random numbers"),
    ("rand", &WITHOUT_RANDOM, "pure crates use no random numbers"),
    (
        "zookeeper-client",
        &[
            "coordination",
            "inbound",
            "job-alerts",
            "job-history",
            "job-metrics",
            "job-types",
            "lite",
            "operations",
            "outbound",
            "reg-center",
            "sharding",
            "trigger",
        ],
        "only reg-center-zookeeper knows ZooKeeper",
    ),
    (
        "tonic",
        &[
            "coordination",
            "inbound",
            "job-alerts",
            "job-history",
            "job-metrics",
            "job-types",
            "lite",
            "operations",
            "outbound",
            "reg-center",
            "sharding",
            "trigger",
        ],
        "only reg-center-etcd knows etcd",
    ),
    (
        "sqlx",
        &[
            "coordination",
            "job-alerts",
            "job-metrics",
            "job-types",
            "lite",
            "operations",
            "outbound",
            "reg-center",
            "sharding",
            "trigger",
        ],
        "only job-history and reg-center-postgres know database servers",
    ),
];

/// Dependencies between packages, by their names.
#[derive(Clone, Debug, Default)]
struct Graph {
    members: BTreeSet<String>,
    /// The members directly below `crates`, which users depend on.
    product: BTreeSet<String>,
    /// The members below `crates/dev`.
    development: BTreeSet<String>,
    normal: Edges,
    dev: Edges,
}

type Edges = BTreeMap<String, BTreeSet<String>>;

impl Graph {
    /// Returns the graph that cargo has resolved, with all features enabled.
    fn of(metadata: &Metadata) -> Graph {
        let names: BTreeMap<_, _> = metadata
            .packages
            .iter()
            .map(|package| (&package.id, package.name.to_string()))
            .collect();
        let below = |folder: &str| {
            let folder = metadata.workspace_root.join(folder);
            let packages = metadata.workspace_packages().into_iter();
            let is_there = |package: &&Package| {
                package.manifest_path.ancestors().nth(2) == Some(folder.as_path())
            };
            packages.filter(is_there).map(|package| package.name.to_string()).collect()
        };
        let mut graph = Graph {
            members: metadata.workspace_members.iter().map(|id| names[id].clone()).collect(),
            product: below("crates"),
            development: below("crates/dev"),
            ..Graph::default()
        };
        for node in &metadata.resolve.as_ref().unwrap().nodes {
            for dependency in &node.deps {
                for kind in &dependency.dep_kinds {
                    let is_dev = kind.kind == DependencyKind::Development;
                    let edges = if is_dev { &mut graph.dev } else { &mut graph.normal };
                    let targets = edges.entry(names[&node.id].clone()).or_default();
                    targets.insert(names[&dependency.pkg].clone());
                }
            }
        }
        graph
    }

    /// Returns the members that `member` names.
    fn named<'a>(&'a self, edges: &'a Edges, member: &str) -> impl Iterator<Item = &'a str> {
        let targets = edges.get(member).into_iter().flatten();
        targets.filter(|target| self.members.contains(*target)).map(String::as_str)
    }

    /// Returns a shortest path of normal edges, both ends included.
    fn path<'a>(&'a self, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
        let mut paths = VecDeque::from([vec![from]]);
        let mut seen = BTreeSet::from([from]);
        while let Some(path) = paths.pop_front() {
            let end = *path.last()?;
            if end == to {
                return Some(path);
            }
            for target in self.normal.get(end).into_iter().flatten() {
                if seen.insert(target) {
                    paths.push_back(path.iter().copied().chain([target.as_str()]).collect());
                }
            }
        }
        None
    }
}

/// Returns a sentence for each violation of the tables in the graph.
fn violations(graph: &Graph) -> Vec<String> {
    let mut violations = Vec::new();
    for member in &graph.members {
        match LAYERS.iter().find(|row| row.name == member) {
            None => violations
                .push(format!("{member}: has no row in LAYERS; every crate has its layer")),
            Some(row) => violations.extend(forbidden_edges(graph, row)),
        }
    }
    for row in LAYERS.iter().filter(|row| !graph.members.contains(row.name)) {
        violations
            .push(format!("{}: has a row in LAYERS and is no member of the workspace", row.name));
    }
    for member in &graph.product {
        let targets = graph.named(&graph.normal, member);
        for target in targets.filter(|target| graph.development.contains(*target)) {
            violations.push(format!(
                "{member} -> {target}: a crate of crates/ must not depend on one of crates/dev/"
            ));
        }
    }
    for (target, sources, reason) in UNREACHABLE {
        for path in sources.iter().filter_map(|source| graph.path(source, target)) {
            let path = path.join(" -> ");
            violations.push(format!("{path}: {target} must not be reachable, because {reason}"));
        }
    }
    violations
}

fn forbidden_edges(graph: &Graph, row: &Row) -> Vec<String> {
    let Row { name, normal, dev } = row;
    let normal_edges = graph.named(&graph.normal, name).filter(|target| !normal.contains(target));
    let normal_edges = normal_edges
        .map(|target| format!("{name} -> {target}: edge not allowed; {name} may name {normal:?}"));
    let dev_edges = graph.named(&graph.dev, name);
    let dev_edges = dev_edges.filter(|target| !normal.contains(target) && !dev.contains(target));
    let dev_edges = dev_edges.map(|target| {
        format!("{name} -> {target} (dev): edge not allowed; tests of {name} may name {dev:?}")
    });
    normal_edges.chain(dev_edges).collect()
}

fn assert_none(violations: &[String]) {
    let mut message = String::new();
    violations.iter().for_each(|violation| writeln!(message, "  {violation}").unwrap());
    assert!(violations.is_empty(), "the layers are violated (xtask/tests/layers.rs):\n{message}");
}

#[test]
fn crates_depend_only_on_allowed_layers() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest).features(CargoOpt::AllFeatures);
    let graph = Graph::of(&command.exec().unwrap());
    assert!(graph.product.contains("testkit") && graph.development.contains("simulation"));
    assert_none(&violations(&graph));
}

/// Returns the names of all packages that `job-types` is built with, its tests excepted.
fn packages_of_job_types(features: &[&str]) -> BTreeSet<String> {
    let mut tree = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    tree.args(["tree", "--package", "job-types", "--edges", "normal,build", "--prefix", "none"]);
    tree.args(["--format", "{p}"]).args(features);
    let output = tree.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// The feature `http` is a default, so that files of jobs can send requests. Programs without such
/// jobs can leave out the client, its TLS, and the C compiler that ring needs.
#[test]
fn job_types_without_http_have_neither_a_client_nor_tls() {
    let client = ["hyper", "reqwest", "ring", "rustls"];
    let found = packages_of_job_types(&["--no-default-features"]);
    assert!(found.contains("lite"), "{found:?}");
    let unwanted: Vec<_> = client.iter().filter(|name| found.contains(**name)).collect();
    assert!(unwanted.is_empty(), "{unwanted:?} in {found:?}");
    let found = packages_of_job_types(&[]);
    let missing: Vec<_> = client.iter().filter(|name| !found.contains(**name)).collect();
    assert!(missing.is_empty(), "the names have changed: no {missing:?} in {found:?}");
}

/// From and to, by name.
type Edge = (&'static str, &'static str);

/// Returns a graph that keeps to the layers, with `more` edges. A name that ends in `(dev)` is a
/// dev edge.
fn graph_with(more: &[Edge]) -> Graph {
    let mut graph = Graph::default();
    graph.product.insert("testkit".to_owned());
    graph.development.insert("simulation".to_owned());
    for Row { name, normal, dev } in &LAYERS {
        graph.members.insert((*name).to_owned());
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        graph.normal.insert((*name).to_owned(), owned(normal));
        graph.dev.insert((*name).to_owned(), owned(dev));
    }
    for (from, to) in [("reg-center-zookeeper", "zookeeper-client"), ("zookeeper-client", "tokio")]
        .iter()
        .chain(more)
    {
        let (edges, to) = match to.strip_suffix(" (dev)") {
            Some(to) => (&mut graph.dev, to),
            None => (&mut graph.normal, *to),
        };
        edges.entry((*from).to_owned()).or_default().insert(to.to_owned());
    }
    graph
}

#[test]
fn graph_within_the_layers_has_no_violations() {
    let rows: [(&str, &[Edge]); 4] = [
        ("the layers themselves", &[]),
        ("tokio in the shell", &[("lite", "tokio"), ("lite", "tracing")]),
        ("tokio in a pure crate's tests", &[("sharding", "tokio (dev)")]),
        ("a circle far away", &[("sharding", "a"), ("a", "b"), ("b", "a")]),
    ];
    for (case, more) in rows {
        assert_eq!(violations(&graph_with(more)), Vec::<String>::new(), "{case}");
    }
}

#[test]
fn violation_names_crate_edge_and_rule() {
    let rows: [(&str, &[Edge], &str); 7] = [
        (
            "an edge upward",
            &[("sharding", "coordination")],
            "sharding -> coordination: edge not allowed; sharding may name []",
        ),
        (
            "the shell names the adapter",
            &[("lite", "reg-center-zookeeper")],
            "lite -> reg-center-zookeeper: edge not allowed; lite may name \
             [\"coordination\", \"inbound\", \"reg-center\", \"sharding\", \"trigger\"]",
        ),
        (
            "a test that needs too much",
            &[("coordination", "zookeeper-fixture (dev)")],
            "coordination -> zookeeper-fixture (dev): edge not allowed; \
             tests of coordination may name []",
        ),
        (
            "the kit needs a development crate",
            &[("testkit", "simulation")],
            "testkit -> simulation: a crate of crates/ must not depend on one of crates/dev/",
        ),
        (
            "a runtime by a detour",
            &[
                ("trigger", "clock"),
                ("clock", "timer"),
                ("timer", "tokio"),
                ("clock", "x"),
                ("x", "y"),
            ],
            "trigger -> clock -> timer -> tokio: tokio must not be reachable, \
             because pure crates run on no runtime",
        ),
        (
            "logs through a lower crate",
            &[("reg-center", "tracing")],
            "coordination -> reg-center -> tracing: tracing must not be reachable, \
             because pure crates do not log",
        ),
        (
            "ZooKeeper in the shell",
            &[("lite", "zookeeper-client")],
            "lite -> zookeeper-client: zookeeper-client must not be reachable, \
             because only reg-center-zookeeper knows ZooKeeper",
        ),
    ];
    for (case, more, expected) in rows {
        let violations = violations(&graph_with(more));
        assert!(
            violations.iter().any(|violation| violation == expected),
            "{case}: {violations:#?}"
        );
    }
}

#[test]
fn members_and_rows_must_match() {
    let mut graph = graph_with(&[]);
    graph.members.remove("trigger");
    graph.members.insert("console".to_owned());
    let expected = [
        "console: has no row in LAYERS; every crate has its layer",
        "trigger: has a row in LAYERS and is no member of the workspace",
    ];
    assert_eq!(violations(&graph), expected);
}
