//! The situations on call, on the jobs of their page.

use super::session::{Shell, is_like_printed, run_steps, steps};
use super::{block, commands, console_of};

const PAGE: &str = include_str!("../../../../docs/how-to/on-call.md");
const TRANSLATION: &str = include_str!("../../../../docs/zh/how-to/on-call.md");
/// The instance whose item hangs, as printed.
const HANGING: &str = "10.0.0.3@-@12996-24ea6";
const JOBS: usize = 4;

/// Returns the section of a situation.
fn situation(number: u32) -> &'static str {
    let heading = format!("\n## {number}. ");
    let section = &PAGE[PAGE.find(&heading).unwrap() + 1..];
    section.split("\n## ").next().unwrap()
}

/// Returns the command that brings a situation about, from the table of the page.
fn cause(number: &str) -> &'static str {
    let row = PAGE.lines().find(|line| line.starts_with(&format!("| {number} | ")));
    row.unwrap().split('`').nth(1).unwrap()
}

/// A shell on the registry of the page.
struct OnCall {
    shell: Shell,
    _folder: tempfile::TempDir,
}

impl OnCall {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let jobs = block(PAGE, "## Practise", "toml");
        std::fs::write(folder.path().join("on-call.toml"), jobs).unwrap();
        let mut shell = Shell::start(folder.path()).await;
        shell.control_jobs().await;
        let mut on_call = Self { shell, _folder: folder };
        for command in Self::beginning().filter(|line| !line.ends_with('&')) {
            assert!(on_call.shell.run(command).await.is_empty(), "{command}");
        }
        on_call.start_workers().await;
        on_call
    }

    fn beginning() -> impl Iterator<Item = &'static str> {
        commands(&PAGE[PAGE.find("## Practise").unwrap()..PAGE.find("\n## 1. ").unwrap()])
    }

    async fn start_workers(&mut self) {
        for worker in Self::beginning().filter(|line| line.ends_with('&')) {
            let worker = worker.replace(" 2> ", " --drain 1s 2> ");
            self.shell.give(&worker).await;
            for begin in ["registry: ", "ready: "] {
                assert!(self.shell.line(&worker).await.starts_with(begin));
            }
        }
    }

    /// Sends SIGTERM to workers, and waits until they have left their jobs.
    async fn stop(&mut self, command: &str) {
        let n_workers = command.matches('%').count();
        self.shell.give(command).await;
        let mut left = 0;
        while left < n_workers * JOBS {
            left += usize::from(self.shell.line(command).await.contains(": left; "));
        }
        self.shell.run(&command.replace("kill", "wait")).await;
    }

    /// Runs the session of a situation as printed.
    async fn session(&mut self, number: u32, at_least: usize, used: &[(&str, &str)]) {
        let console = console_of(situation(number));
        run_steps(&mut self.shell, &steps(&console, at_least), used, is_like_printed).await;
    }

    /// Runs the commands of a situation whose output is not printed.
    async fn commands(&mut self, number: u32, at_least: usize) {
        let all: Vec<_> = commands(situation(number)).collect();
        assert!(all.len() >= at_least, "situation {number} has lost its commands");
        for command in all {
            self.shell.succeed(command).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn situations_with_workers_work_as_printed() {
    let mut on_call = OnCall::start().await;
    // The remedy must not meet the next fire. After a failure it is ten seconds away.
    let failed = "ejob history import --outcome failed --limit 100 | grep -c ' failed '";
    on_call.shell.until("ejob why import", "1 of 2 items failed").await;
    on_call.shell.until_changed(failed).await;
    on_call.session(4, 4, &[]).await;
    on_call.commands(4, 2).await;

    on_call.shell.succeed(cause("7")).await;
    on_call.session(7, 3, &[]).await;
    on_call.shell.succeed("ejob enable report --why 'the maintenance is over'").await;

    on_call.shell.succeed(cause("10")).await;
    on_call.session(10, 4, &[]).await;

    // Runs that began before the last worker joined are on instances that have lost their items.
    on_call.shell.succeed("ejob cancel slow --all --why 'all workers have joined'").await;
    on_call.shell.until_without("ejob why slow 0", "still runs").await;
    let reasons = on_call.shell.until("ejob why slow 0", "still runs").await;
    let holder = reasons.split(' ').next().unwrap();
    let used = [(HANGING, holder), ("token 1", "token 2")];
    on_call.session(2, 4, &used).await;

    on_call.shell.succeed(cause("8")).await;
    on_call.stop("kill %3").await;
    on_call.session(8, 1, &[]).await;
    on_call.commands(8, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn situations_of_an_outage_work_as_printed() {
    let mut on_call = OnCall::start().await;
    on_call.shell.until("ejob history report --outcome succeeded", "succeeded  ").await;
    on_call.stop("kill %1 %2 %3").await;
    on_call.session(3, 4, &[]).await;
    // The page prints an outage of two fires.
    let missed = "ejob why report | tail -1";
    for _ in 0..2 {
        on_call.shell.until_changed(missed).await;
    }
    on_call.start_workers().await;
    on_call.session(1, 3, &[]).await;
    on_call.commands(1, 1).await;
}

#[test]
fn sessions_of_the_translation_are_the_same() {
    for language in ["console", "sh", "toml"] {
        let blocks = |page: &'static str| {
            let begin = format!("```{language}\n");
            let blocks = page.split(&begin).skip(1).map(|block| {
                let lines = block.split("```").next().unwrap().lines();
                lines.map(|line| line.split(" # ").next().unwrap().trim()).collect::<Vec<_>>()
            });
            blocks.collect::<Vec<_>>()
        };
        assert!(!blocks(PAGE).is_empty(), "{language}");
        assert_eq!(blocks(PAGE), blocks(TRANSLATION), "{language}");
    }
}
