//! Runs the sessions of the README, of the tutorial and of some how-tos in `docs` with `ejob` as
//! printed: the file, the commands and their output.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use zookeeper_fixture::Server;

const README: &str = include_str!("../../../README.md");
const MOVING: &str = include_str!("../../../docs/moving.md");
const TUTORIAL: &str = include_str!("../../../docs/tutorial.md");
const SCHEDULE: &str = include_str!("../../../docs/how-to/change-a-schedule.md");
const DRAIN: &str = include_str!("../../../docs/how-to/drain-a-server.md");
const SEVERAL_HOSTS: &str = include_str!("../../../docs/how-to/several-hosts.md");
/// Deadline of each command, long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Commands that only read, and are repeated until the state of the earlier ones has settled.
const READS: [&str; 2] = ["ejob jobs", "ejob doctor"];
/// Beginnings of other commands that only read, in the pages for newcomers and operators.
const OTHER_READS: [&str; 4] = ["ejob job ", "ejob instances", "ejob why ", "ejob history "];

/// Compares a line of the output with the printed one.
type IsSame = fn(&str, &str) -> bool;

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

/// Returns true if a line equals a printed one except for times, instance ids, the address of the
/// host, and the width of columns. Pages for newcomers print them as they were in one session.
fn is_like_printed(line: &str, printed: &str) -> bool {
    let differs = |word: &str| {
        let is_time = word.trim_end_matches(',').parse::<jiff::Timestamp>().is_ok();
        is_time || word.contains("@-@") || word == "192.0.2.2" || word.starts_with("/home/you/")
    };
    let words = printed.split_whitespace();
    let masked: Vec<&str> = words.map(|word| if differs(word) { "…" } else { word }).collect();
    let line: Vec<&str> = line.split_whitespace().collect();
    is_as_printed(&line.join(" "), &masked.join(" "))
}

/// A shell that runs commands one after the other.
struct Shell {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

/// Number of process ids that are used at most until a session has started its workers: by the
/// session and by all other programs.
const IDS_OF_A_START: u32 = 2_000;

/// Starts processes until the ids of the next ones are in the same order as numbers and as texts.
///
/// Items are assigned by the texts of the instances' ids, and `9999` follows `10000`. A printed
/// session has the order in which its workers started.
async fn skip_unordered_ids() {
    let end = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    let end: u32 = end.trim().parse().unwrap();
    for _ in 0..10 * IDS_OF_A_START {
        let mut process = Command::new("true").spawn().unwrap();
        let id = process.id().unwrap();
        process.wait().await.unwrap();
        let last = id + IDS_OF_A_START;
        if last < end && last.to_string().len() == id.to_string().len() {
            return;
        }
    }
    panic!("process ids end at {end}: no {IDS_OF_A_START} of them have the same number of digits");
}

impl Shell {
    async fn start(folder: &Path) -> Self {
        skip_unordered_ids().await;
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
            .env("XDG_CONFIG_HOME", folder.join("config"))
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

fn answers(output: &[String], step: &Step<'_>, is_same: IsSame) -> bool {
    let pairs = || output.iter().zip(&step.answer);
    output.len() == step.answer.len() && pairs().all(|(line, printed)| is_same(line, printed))
}

/// Runs the steps of a session, and compares each line of the output with the printed one.
async fn run_steps(
    shell: &mut Shell,
    steps: &[Step<'_>],
    servers: &[(&str, &str)],
    is_same: IsSame,
) {
    // Job control, as in an interactive shell. The trap ends all background jobs with the shell.
    shell.give("set -m; trap 'kill -9 $(jobs -p) 2> /dev/null' EXIT").await;
    assert!(steps.len() > 8, "the session has lost its commands");
    for step in steps {
        // The addresses of the test's servers are the only difference from the printed commands.
        let command = servers.iter().fold(step.command.to_owned(), |command, (printed, used)| {
            command.replace(printed, used)
        });
        let is_background = command.ends_with('&') || command.starts_with("kill");
        if is_background {
            shell.give(&command).await;
            for printed in &step.answer {
                let line = shell.line(&command).await;
                assert!(is_same(&line, printed), "{command}\n{line}\n{printed}");
            }
            continue;
        }
        let started = Instant::now();
        let mut output = shell.run(&command).await;
        let repeats =
            READS.contains(&&*command) || OTHER_READS.iter().any(|read| command.starts_with(read));
        while !answers(&output, step, is_same) && repeats && started.elapsed() < PATIENCE {
            output = shell.run(&command).await;
        }
        assert!(answers(&output, step, is_same), "{command}\n{output:#?}\n{:#?}", step.answer);
    }
}

/// Returns a part of the tutorial, up to the heading of the next part.
fn part_of_tutorial(heading: &str) -> &'static str {
    let part = &TUTORIAL[TUTORIAL.find(heading).unwrap()..];
    part.split("\n## ").next().unwrap()
}

/// Runs the commands of all console blocks of a text in one shell.
async fn run_blocks(text: &str, files: &[(&str, &str)], servers: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let blocks = text.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap().trim_end());
    // Blocks of a numbered list are indented.
    let lines = blocks.flat_map(|block| block.lines().map(str::trim));
    let console = lines.collect::<Vec<_>>().join("\n");
    let mut shell = Shell::start(folder.path()).await;
    run_steps(&mut shell, &steps(&console), servers, is_like_printed).await;
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
    let steps = steps(block(page, heading, "console"));
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
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    run_session(SEVERAL_HOSTS, "## Three workers on one ZooKeeper", &servers, &[1, 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_job_of_the_tutorial_works_as_printed() {
    let part = part_of_tutorial("## 1. ");
    run_blocks(part, &[("jobs.toml", block(part, "", "toml"))], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failover_of_the_tutorial_works_as_printed() {
    let part = part_of_tutorial("## 2. ");
    run_blocks(part, &[("count.toml", block(part, "", "toml"))], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zookeeper_session_of_the_tutorial_works_as_printed() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    let jobs = block(part_of_tutorial("## 1. "), "", "toml");
    run_blocks(part_of_tutorial("## 3. "), &[("jobs.toml", jobs)], &servers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_of_a_schedule_works_as_printed() {
    run_blocks(SCHEDULE, &[("jobs.toml", block(SCHEDULE, "", "toml"))], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drain_of_a_server_works_as_printed() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let servers = [("127.0.0.1:2181", &*server.connect_string())];
    run_blocks(DRAIN, &[("jobs.toml", block(DRAIN, "", "toml"))], &servers).await;
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
async fn situations_on_call_have_the_jobs_of_their_file() {
    let page = include_str!("../../../docs/how-to/on-call.md");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("on-call.toml"), block(page, "## Practise", "toml")).unwrap();
    let mut shell = Shell::start(folder.path()).await;
    let check = "ejob worker on-call.toml --check";
    shell.give(check).await;
    for expected in [
        "JOB     ITEMS  CRON",
        "report  4      0/20 * * * * ?",
        "import  2      0/10 * * * * ?",
        "slow    2      0/5 * * * * ?",
        "hello   2      0/5 * * * * ?",
        "4 jobs can be used",
    ] {
        assert_eq!(shell.line(check).await, expected);
    }
    // The failure that the page prints is that of the file.
    shell.give("export EJOB_REGISTRY=sqlite:on-call.db").await;
    let worker = "ejob worker on-call.toml --server-ip 10.0.0.2 --drain 1s 2> worker.log &";
    shell.give(worker).await;
    for begin in ["registry: ", "ready: "] {
        assert!(shell.line(worker).await.starts_with(begin));
    }
    let trigger = "ejob trigger import --items 1 --wait 50s | tail -1";
    shell.give(trigger).await;
    let expected = "1     failed: /bin/sh ended with status 3; its last lines: disk full";
    assert_eq!(shell.line(trigger).await, expected);
    let end = "kill %1";
    shell.give(end).await;
    assert!(shell.line(end).await.starts_with("leaving: "));
    for _ in 0..4 {
        assert!(shell.line(end).await.contains(": left; "));
    }
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

#[test]
fn sessions_may_differ_in_times_ids_and_widths_only() {
    let printed = "2026-11-26T08:04:40Z      hello  2     succeeded  192.0.2.2@-@27173-qzvqf";
    let rows = [
        ("2026-11-27T10:00:00.5Z  hello  2  succeeded  10.1.1.1@-@1-abcde", true),
        ("2026-11-27T10:00:00.5Z  hello  3  succeeded  10.1.1.1@-@1-abcde", false),
        ("2026-11-27T10:00:00.5Z  hello  2  failed  10.1.1.1@-@1-abcde", false),
        ("2026-11-27T10:00:00.5Z  hello  2  10.1.1.1@-@1-abcde", false),
    ];
    for (line, expected) in rows {
        assert_eq!(is_like_printed(line, printed), expected, "{line:?}");
    }
    let printed = "2026-11-27T03:00:00Z  2026-11-27T04:00:00+01:00[Europe/Berlin]";
    assert!(is_like_printed("2027-06-27T02:00:00Z 2027-06-27T04:00:00+02:00[x]", printed));
}
