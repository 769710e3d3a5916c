//! The program of the README on each registry, and a strategy of a program on ZooKeeper. The first
//! one is an example, which cargo builds with these tests unless some of them are selected;
//! `cargo xtask test` builds it first.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "zookeeper")]
#[path = "../examples/registered_strategy/strategy.rs"]
mod strategy;

use std::path::PathBuf;
use std::process::Stdio;
#[cfg(feature = "zookeeper")]
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "zookeeper")]
use lite::{JobBuilder, Scheduler, job_fn};
use registry::Registry;
#[cfg(feature = "zookeeper")]
use sharding::StrategyRegistry;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

const README: &str = include_str!("../../../README.md");
const PROGRAM: &str = include_str!("../examples/any_registry.rs");
/// Deadline of each step, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const N_ITEMS: usize = 4;

#[test]
fn the_example_is_the_program_of_the_readme() {
    let section = &README[README.find("## A program").unwrap()..];
    let (_, code) = section.split_once("```rust,no_run\n").unwrap();
    let (code, _) = code.split_once("```").unwrap();
    assert!(PROGRAM.ends_with(&format!("\n\n{code}")), "{PROGRAM}");
}

/// Returns the path of the built example.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let program = profile.join("examples/any_registry");
    let build = "cargo build -p registry --all-features --example any_registry";
    assert!(program.exists(), "{program:?} is missing; build it: {build}");
    program
}

/// Runs the program until each item has run, and stops it. Returns the token of each item.
async fn tokens_of_a_run(address: &str) -> Vec<u64> {
    let mut command = Command::new(program());
    command.arg(address).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut tokens = vec![0; N_ITEMS];
    let ran = async {
        while tokens.contains(&0) {
            let line = lines.next_line().await.unwrap().expect("the program has not ended");
            let (item, token) = line.split_once(", token ").expect("a line of the program");
            let item: usize = item.strip_prefix("item ").unwrap().parse().unwrap();
            tokens[item] = token.parse().unwrap();
        }
    };
    timeout(PATIENCE, ran).await.expect("each item runs");
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let ended = timeout(PATIENCE, child.wait()).await.expect("the program ends");
    assert!(ended.unwrap().success(), "{address}");
    tokens
}

/// Runs the program twice on a registry that outlasts it. The second run continues the first one's
/// tokens.
async fn runs_and_continues(address: &str) {
    let first = tokens_of_a_run(address).await;
    let second = tokens_of_a_run(address).await;
    let grows = first.iter().zip(&second).all(|(first, second)| second > first);
    assert!(grows, "{address}: {first:?}, then {second:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_runs_in_memory_and_continues_on_a_file() {
    tokens_of_a_run("memory:").await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("registry.db");
    runs_and_continues(&format!("sqlite:{}", file.display())).await;
}

/// Without the feature of a registry, its addresses are refused for that reason.
#[tokio::test]
async fn a_refused_address_does_not_show_its_password() {
    let rests = [
        "u:hunter2@h/x",
        "u:hunter2?w@h/x",
        "u:p?hunter2@h/x",
        "u:p?hunter2=1@h/x",
        "u:p/b?hunter2@h/x",
        "u:p/hunter2?w=1@h/x",
        "u:1?hunter2@h/x",
        "u:1/hunter2@h/x",
        "u:1/b?hunter2@h/x",
        "u:1/b?hunter2=1@h/x",
        "u:hunter2#w@h/x",
        "h?password=hunter2",
        "h/x?password=hunter2",
        "h/x?password=a&hunter2",
    ];
    for kind in ["zk", "postgres", "etcd", "postgresql", "redis"] {
        for rest in rests {
            let address = format!("{kind}://{rest}");
            let error = Registry::open(&address).await.expect_err(&address);
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2"), "{address}: {shown}");
        }
    }
}

#[cfg(feature = "zookeeper")]
#[tokio::test(flavor = "multi_thread")]
async fn the_program_continues_on_zookeeper() {
    let server = zookeeper_fixture::Server::start().expect("a ZooKeeper server is needed");
    runs_and_continues(&format!("zk://{}/jobs", server.connect_string())).await;
}

/// The strategy of an example, with two sessions. The job fires every second, so that events come.
#[cfg(feature = "zookeeper")]
#[tokio::test]
async fn strategy_of_the_program_works_on_zookeeper() {
    let server = zookeeper_fixture::Server::start().expect("a ZooKeeper server is needed");
    let address = format!("zk://{}/strategies", server.connect_string());
    let mut members = Vec::new();
    for n in 1..=2 {
        let registry = Registry::open(&address).await.unwrap();
        let mut strategies = StrategyRegistry::default();
        strategies.register(Arc::new(strategy::Alternating));
        let builder = Scheduler::builder(registry).server_ip(&format!("10.0.0.{n}")).unwrap();
        let scheduler = builder.strategies(strategies).build().unwrap();
        let config = JobBuilder::new("job", 6).cron("* * * * * ?").strategy("ALTERNATING");
        let job = scheduler.schedule(config.build().unwrap(), job_fn(|_| async { Ok(()) }));
        let job = timeout(PATIENCE, job.into_future()).await.expect("the job is registered");
        members.push((job.unwrap(), scheduler));
    }
    let mut owned = Vec::new();
    for (handle, _) in &members {
        let mut events = handle.events();
        loop {
            let items = handle.status().await.unwrap().owned;
            if items.len() == 3 {
                owned.push(items.into_iter().map(|item| item.index()).collect::<Vec<_>>());
                break;
            }
            timeout(PATIENCE, events.next()).await.expect("an event comes").unwrap();
        }
    }
    owned.sort_unstable();
    assert_eq!(owned, [[0, 2, 4], [1, 3, 5]]);
    for (_, scheduler) in &members {
        scheduler.shutdown(Duration::from_secs(5)).await;
    }
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL; `cargo xtask ci` runs it"]
async fn the_program_continues_on_postgres() {
    let server = postgres_fixture::Server::start().expect("a PostgreSQL server is needed");
    runs_and_continues(&format!("{}?namespace=jobs", server.url())).await;
}

#[cfg(feature = "etcd")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs etcd; `cargo xtask ci` runs it"]
async fn the_program_continues_on_etcd() {
    let server = etcd_fixture::Server::start().expect("an etcd server is needed");
    runs_and_continues(&format!("etcd://{}/jobs", server.address())).await;
}
