//! `ejob bench`: its measurements, the namespaces that it rejects, and its cleanup.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cli::{Exit, Fault, Place, Registries};
use reg_center::{Lifetime, MemoryRegistry, NodePath, RegistryCenter, Txn};
use zookeeper_fixture::Server;

const PATIENCE: Duration = Duration::from_secs(60);
const SMALL: [&str; 6] = ["--rounds", "3", "--sessions", "2", "--operations", "2,5,2"];

/// A registry that every namespace opens.
struct One(MemoryRegistry);

#[async_trait]
impl Registries for One {
    async fn open(&self, _: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
        Ok(Arc::new(self.0.connect()))
    }
}

impl One {
    async fn bench(&self, words: &[&str]) -> (Exit, String, String) {
        let line =
            ["ejob", "bench", "--zookeeper", "memory"].into_iter().chain(words.iter().copied());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let done = tokio::time::timeout(PATIENCE, cli::run(line, self, &mut out, &mut err)).await;
        let exit = done.expect("the bench ends in time");
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    async fn create(&self, path: &str, data: &str) {
        let path = NodePath::parse(path).unwrap();
        let txn = Txn::new().create(path, data.to_owned(), Lifetime::Persistent);
        assert!(self.0.connect().commit(txn).await.unwrap().is_committed());
    }

    /// Returns the paths of all nodes except the root.
    fn nodes(&self) -> Vec<String> {
        let (model, root) = (self.0.snapshot(), NodePath::root());
        let nodes = model.subtree(&root).filter(|node| !node.path.is_root());
        nodes.map(|node| node.path.to_string()).collect()
    }
}

/// Asserts that a document has every measurement, with ordered times.
fn check(document: &str) {
    let document = super::support::document(document.as_bytes());
    let measured = document["measured"].as_array().unwrap();
    let what: Vec<_> = measured
        .iter()
        .map(|row| {
            (
                row["what"].as_str().unwrap(),
                row["operations"].as_u64(),
                row["rounds"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("read", None, 3),
        ("transaction", Some(2), 3),
        ("transaction", Some(5), 3),
        ("transaction", Some(2), 3),
        ("notification", None, 3),
        ("session", None, 2),
    ];
    assert_eq!(what, expected);
    for row in measured {
        let [min, median, max] =
            ["min_us", "median_us", "max_us"].map(|name| row[name].as_u64().unwrap());
        assert!(min <= median && median <= max, "{row}");
    }
}

#[tokio::test]
async fn bench_prints_every_measurement_and_leaves_no_nodes() {
    let one = One(MemoryRegistry::new());
    one.create("/jobs", "").await;
    let (exit, document, err) = one.bench(&[&SMALL[..], &["--json"]].concat()).await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""), "{document}");
    check(&document);
    assert_eq!(one.nodes(), ["/jobs"]);

    let (exit, text, err) = one.bench(&SMALL).await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""), "{text}");
    let rows: Vec<&str> = text.lines().map(|line| line.split("  ").next().unwrap()).collect();
    let expected = [
        "MEASUREMENT",
        "read",
        "transaction of 2",
        "transaction of 5",
        "transaction of 2",
        "notification",
        "session",
    ];
    assert_eq!(rows, expected, "{text}");
}

#[tokio::test]
async fn bench_rejects_namespaces_with_jobs_or_another_bench() {
    let rows = [
        (
            "jobs",
            vec![("/ejob-bench", ""), ("/ejob-bench/report", "")],
            "may have jobs; nothing was done",
        ),
        ("an empty namespace", vec![("/ejob-bench", "")], "may have jobs; nothing was done"),
        (
            "another bench",
            vec![
                ("/ejob-bench", "of ejob bench; nothing here is needed"),
                ("/ejob-bench/running", ""),
            ],
            "another bench runs in /ejob-bench",
        ),
    ];
    for (case, nodes, expected) in rows {
        let one = One(MemoryRegistry::new());
        for (path, data) in nodes {
            one.create(path, data).await;
        }
        let before = one.nodes();
        let (exit, out, err) = one.bench(&SMALL).await;
        assert_eq!((exit, out.as_str()), (Exit::Partly, ""), "{case}");
        assert!(err.contains(expected), "{case}: {err}");
        assert_eq!(one.nodes(), before, "{case}");
    }
}

#[tokio::test]
async fn leftovers_of_a_killed_bench_are_removed() {
    let one = One(MemoryRegistry::new());
    one.create("/ejob-bench", "of ejob bench; nothing here is needed").await;
    one.create("/ejob-bench/read", "").await;
    let (exit, _, err) = one.bench(&SMALL).await;
    assert_eq!((exit, err.as_str()), (Exit::Done, ""));
    assert_eq!(one.nodes(), Vec::<String>::new());
}

#[tokio::test]
async fn invalid_option_is_named() {
    let rows = [
        (
            vec!["--rounds", "0"],
            "invalid value '0' for '--rounds <COUNT>': valid is a number from 1 to 100000",
        ),
        (vec!["--sessions", "1001"], "'--sessions <COUNT>': valid is a number from 1 to 1000"),
        (vec!["--operations", "1"], "'--operations <COUNT,...>': valid are numbers from 2 to 1000"),
        (vec!["--operations", "2,x"], "invalid value 'x' for '--operations <COUNT,...>'"),
        (vec!["--bytes", "100001"], "'--bytes <BYTES>': 100001 is not in 0..=100000"),
        (vec!["--namespace", "/"], "--namespace is \"/\", which cannot be created and removed"),
        (vec!["--namespace", "bench"], "--namespace: "),
    ];
    for (words, expected) in rows {
        let one = One(MemoryRegistry::new());
        let (exit, out, err) = one.bench(&words).await;
        assert_eq!((exit, out.as_str()), (Exit::Usage, ""), "{words:?}: {err}");
        assert!(err.contains(expected) && err.lines().count() == 1, "{words:?}: {err}");
        assert_eq!(one.nodes(), Vec::<String>::new(), "{words:?}");
    }
}

#[test]
fn bench_on_a_real_server_leaves_no_nodes() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let ejob = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
        command.args(words).args(["--zookeeper", &server.connect_string()]);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EJOB_") {
                command.env_remove(name);
            }
        }
        if words.first() == Some(&"bench") {
            command.env("EJOB_NAMESPACE", "/");
        }
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    // Jobs may be in the namespace of the environment, so the bench must ignore it.
    let (code, document, err) = ejob(&[&["bench", "--json"], &SMALL[..]].concat());
    assert_eq!((code, err.as_str()), (Some(0), ""), "{document}");
    check(&document);

    // The transaction exceeds the limit; the nodes created before it must be removed as well.
    let (code, out, err) =
        ejob(&["bench", "--rounds", "1", "--operations", "20", "--bytes", "100000"]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    assert!(
        err.starts_with("error: transaction has ") && !err.contains("could not be removed"),
        "{err}"
    );

    let (code, _, err) = ejob(&["jobs", "--namespace", "/ejob-bench"]);
    assert_eq!(code, Some(4), "{err}");
}
