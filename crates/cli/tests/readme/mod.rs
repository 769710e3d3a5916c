//! Runs the sessions of the README, of the tutorial and of some how-tos in `docs` with `ejob` as
//! printed: the file, the commands and their output.

mod how_to;
mod on_call;
mod session;

use std::io::Write;
use std::path::Path;

use zookeeper_fixture::Server;

use session::{Shell, is_as_printed, is_like_printed, run_steps, steps};

const README: &str = include_str!("../../../../README.md");
const MOVING: &str = include_str!("../../../../docs/moving.md");
const TUTORIAL: &str = include_str!("../../../../docs/tutorial.md");
const SCHEDULE: &str = include_str!("../../../../docs/how-to/change-a-schedule.md");
const DRAIN: &str = include_str!("../../../../docs/how-to/drain-a-server.md");
const IDEMPOTENT: &str = include_str!("../../../../docs/how-to/idempotent-jobs.md");
const PLACE: &str = include_str!("../../../../docs/how-to/place-items.md");
const SEVERAL_HOSTS: &str = include_str!("../../../../docs/how-to/several-hosts.md");

/// Returns the first code block in a language after a heading of a page.
fn block<'a>(page: &'a str, heading: &str, language: &str) -> &'a str {
    let section = &page[page.find(heading).unwrap()..];
    let start = format!("```{language}\n");
    let text = &section[section.find(&start).unwrap() + start.len()..];
    &text[..text.find("```").unwrap()]
}

/// Returns a part of the tutorial, up to the heading of the next part.
fn part_of_tutorial(heading: &str) -> &'static str {
    let part = &TUTORIAL[TUTORIAL.find(heading).unwrap()..];
    part.split("\n## ").next().unwrap()
}

/// Runs the commands of all console blocks of a text in one shell, in a new folder with a file.
async fn run_page(text: &str, (name, content): (&str, &str), servers: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), content).unwrap();
    run_blocks(folder.path(), text, servers).await;
}

/// Returns the commands of a text whose output is not printed.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.split("```sh\n").skip(1).flat_map(|block| block.split("```").next().unwrap().lines())
}

/// Returns the sessions of a text as one.
fn console_of(text: &str) -> String {
    let blocks = text.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap().trim_end());
    // Blocks of a numbered list are indented.
    let lines = blocks.flat_map(|block| block.lines().map(str::trim));
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs the commands of all console blocks of a text in one shell.
async fn run_blocks(folder: &Path, text: &str, servers: &[(&str, &str)]) {
    let console = console_of(text);
    let mut shell = Shell::start(folder).await;
    run_steps(&mut shell, &steps(&console, 7), servers, is_like_printed).await;
}

/// Runs the session after a heading of a page in a shell. `servers` are printed addresses, each
/// with the one to use in its place.
///
/// `workers` are the numbers of the workers that are left at the end. Each has run an item, and
/// leaves in order.
async fn run_session(page: &str, heading: &str, servers: &[(&str, &str)], workers: &[u32]) {
    let folder = tempfile::tempdir().unwrap();
    let jobs = block(README, "## Without a program: `ejob`", "toml");
    std::fs::write(folder.path().join("jobs.toml"), jobs).unwrap();
    let mut shell = Shell::start(folder.path()).await;
    let steps = steps(block(page, heading, "console"), 9);
    run_steps(&mut shell, &steps, servers, is_as_printed).await;
    let mut stderr = std::io::stderr();
    for n in workers {
        let log = std::fs::read_to_string(folder.path().join(format!("worker-{n}.log"))).unwrap();
        let has_run = log.contains("counting part ");
        if !has_run {
            stderr.write_all(log.as_bytes()).unwrap();
        }
        assert!(has_run, "worker {n} has not run an item");
    }
    for n in workers {
        // The shell numbers its jobs anew once it has seen the end of all of them.
        let command = format!("kill '%?worker-{n}.log'");
        shell.give(&command).await;
        assert!(shell.line(&command).await.starts_with("leaving: "));
        assert!(shell.line(&command).await.starts_with("count: left; "));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_on_one_host_works_as_printed() {
    run_session(README, "### On one host, without a server", &[], &[3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_on_several_hosts_works_as_printed() {
    let heading = "## Three workers on one ZooKeeper";
    let jobs = block(README, "## Without a program: `ejob`", "toml");
    assert_eq!(block(SEVERAL_HOSTS, heading, "toml"), jobs);
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    run_session(SEVERAL_HOSTS, heading, &servers, &[1, 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_job_of_the_tutorial_works_as_printed() {
    let part = part_of_tutorial("## 1. ");
    run_page(part, ("jobs.toml", block(part, "", "toml")), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failover_of_the_tutorial_works_as_printed() {
    let part = part_of_tutorial("## 2. ");
    run_page(part, ("count.toml", block(part, "", "toml")), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zookeeper_session_of_the_tutorial_works_as_printed() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    let jobs = block(part_of_tutorial("## 1. "), "", "toml");
    run_page(part_of_tutorial("## 3. "), ("jobs.toml", jobs), &servers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_of_a_schedule_works_as_printed() {
    run_page(SCHEDULE, ("jobs.toml", block(SCHEDULE, "", "toml")), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drain_of_a_server_works_as_printed() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    run_page(DRAIN, ("jobs.toml", block(DRAIN, "", "toml")), &servers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn placement_of_items_works_as_printed() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    run_page(PLACE, ("jobs.toml", block(PLACE, "", "toml")), &servers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; `cargo xtask ci` runs it"]
async fn servers_session_that_moves_to_postgres_works_as_printed() {
    let zookeeper = Server::start().expect("a ZooKeeper server is needed");
    let postgres = postgres_fixture::Server::start().expect("a PostgreSQL server is needed");
    let servers = [
        ("127.0.0.1:2181", &*zookeeper.connect_string()),
        ("postgres://worker@db.example.com/jobs", &*postgres.url()),
    ];
    run_session(MOVING, "## From ZooKeeper to PostgreSQL", &servers, &[2]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL; `cargo xtask ci` runs it"]
async fn servers_of_the_idempotent_job_work_as_printed() {
    use std::os::unix::fs::PermissionsExt;

    let server = postgres_fixture::Server::start().expect("a PostgreSQL server is needed");
    server.query("CREATE ROLE billing LOGIN PASSWORD 'secret'").unwrap();
    server.query("CREATE DATABASE billing OWNER billing").unwrap();
    let (host, port) = (server.address().ip(), server.address().port());
    let folder = tempfile::tempdir().unwrap();
    let jobs = block(IDEMPOTENT, "## The job", "toml");
    let used = format!("PGHOST = \"{host}\", PGPORT = \"{port}\"");
    for (name, content) in [
        ("schema.sql", block(IDEMPOTENT, "## The store", "sql").to_owned()),
        ("bill.sql", block(IDEMPOTENT, "## The job", "sql").to_owned()),
        ("bill.sh", block(IDEMPOTENT, "## The job", "text").to_owned()),
        ("bill.toml", jobs.replace("PGHOST = \"db.example.com\"", &used)),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path().join("bill.sh"), executable).unwrap();
    let used = format!("PGHOST={host} PGPORT={port}");
    run_blocks(folder.path(), IDEMPOTENT, &[("PGHOST=db.example.com", &used)]).await;
}
