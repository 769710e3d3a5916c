//! Runs the sessions of the README and of `docs/moving.md` with `ejob` as printed: the file, the
//! commands and their output.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use zookeeper_fixture::Server;

const README: &str = include_str!("../../../README.md");
const MOVING: &str = include_str!("../../../docs/moving.md");
/// Deadline of each command, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Commands that only read, and are repeated until the state of the earlier ones has settled.
const READS: [&str; 2] = ["ejob jobs", "ejob doctor"];

/// A command of the section, and its printed output.
struct Step<'a> {
    command: &'a str,
    answer: Vec<&'a str>,
}

/// Returns the first code block in a language after a heading of a page.
fn block<'a>(page: &'a str, heading: &str, language: &str) -> &'a str {
    let section = &page[page.find(heading).unwrap()..];
    let start = format!("```{language}\n");
    let text = &section[section.find(&start).unwrap() + start.len()..];
    &text[..text.find("```").unwrap()]
}

fn steps(console: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in console.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push(Step { command, answer: Vec::new() }),
            None => steps.last_mut().unwrap().answer.push(line),
        }
    }
    steps
}

/// Returns true if a line equals a printed one.
///
/// In the printed one, `…` stands for any text, and then numbers of blanks do not matter.
fn is_as_printed(line: &str, printed: &str) -> bool {
    if !printed.contains('…') {
        return line == printed;
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = words(line);
    let mut rest = line.as_str();
    for (n, part) in printed.split('…').enumerate() {
        let part = words(part);
        match rest.find(&part) {
            Some(at) if n > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    printed.ends_with('…') || rest.is_empty()
}

/// A shell that runs commands one after the other.
struct Shell {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Shell {
    fn start(folder: &Path) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_ejob"));
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", program.parent().unwrap().display());
        let mut bash = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EJOB_") {
                bash.env_remove(name);
            }
        }
        let mut child = bash
            .args(["--noprofile", "--norc"])
            .current_dir(folder)
            .env("PATH", path)
            .env("XDG_STATE_HOME", folder.join("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take().unwrap(), output, _child: child }
    }

    async fn give(&mut self, line: &str) {
        use tokio::io::AsyncWriteExt;
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Returns the next line that a command prints.
    async fn line(&mut self, command: &str) -> String {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("no line within {PATIENCE:?}: {command}"));
        line.unwrap().unwrap_or_else(|| panic!("the shell has ended: {command}"))
    }

    /// Runs a command in the foreground, and returns its output.
    async fn run(&mut self, command: &str) -> Vec<String> {
        self.give(command).await;
        self.give("echo '(end)'").await;
        let mut output = Vec::new();
        loop {
            match self.line(command).await {
                end if end == "(end)" => return output,
                line => output.push(line),
            }
        }
    }
}

fn answers(output: &[String], step: &Step<'_>) -> bool {
    let pairs = || output.iter().zip(&step.answer);
    output.len() == step.answer.len() && pairs().all(|(line, printed)| is_as_printed(line, printed))
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
    let mut shell = Shell::start(folder.path());
    // Job control, as in an interactive shell. The trap ends all background jobs with the shell.
    shell.give("set -m; trap 'kill -9 $(jobs -p) 2> /dev/null' EXIT").await;
    let steps = steps(block(page, heading, "console"));
    assert!(steps.len() > 8, "the session has lost its commands");
    for step in &steps {
        // The addresses of the test's servers are the only difference from the printed commands.
        let command = servers.iter().fold(step.command.to_owned(), |command, (printed, used)| {
            command.replace(printed, used)
        });
        let is_background = command.ends_with('&') || command.starts_with("kill");
        if is_background {
            shell.give(&command).await;
            for printed in &step.answer {
                let line = shell.line(&command).await;
                assert!(is_as_printed(&line, printed), "{command}\n{line}\n{printed}");
            }
            continue;
        }
        let started = Instant::now();
        let mut output = shell.run(&command).await;
        while !answers(&output, step) && READS.contains(&&*command) && started.elapsed() < PATIENCE
        {
            output = shell.run(&command).await;
        }
        assert!(answers(&output, step), "{command}\n{output:#?}\n{:#?}", step.answer);
    }
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
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    run_session(README, "### On several hosts", &servers, &[1, 3]).await;
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

#[test]
fn ellipsis_stands_for_any_text() {
    let rows = [
        ("a b", "a b", true),
        ("a  b", "a b", false),
        ("a 17 b", "a … b", true),
        ("a    17 18   b", "a … b", true),
        ("a 17", "a …", true),
        ("x a 17", "a …", false),
        ("17 a", "… a", true),
        ("17 a b", "… a", false),
        ("17 c", "… a", false),
    ];
    for (line, printed, expected) in rows {
        assert_eq!(is_as_printed(line, printed), expected, "{line:?} {printed:?}");
    }
}
