//! The program of the README on each registry. It is an example, which cargo builds with these
//! tests unless some of them are selected; `cargo xtask test` builds it first.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

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
    tokio::time::timeout(PATIENCE, ran).await.expect("each item runs");
    let id = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await.expect("the program ends");
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

#[cfg(feature = "zookeeper")]
#[tokio::test(flavor = "multi_thread")]
async fn the_program_continues_on_zookeeper() {
    let server = zookeeper_fixture::Server::start().expect("a ZooKeeper server is needed");
    runs_and_continues(&format!("zk://{}/jobs", server.connect_string())).await;
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
