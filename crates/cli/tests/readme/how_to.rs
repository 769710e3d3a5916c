//! The how-tos whose commands stand without output, or with the output of a single moment.

use std::fs;

use super::session::{Shell, is_like_printed, run_steps, steps};
use super::{block, commands, console_of};

const LIMITS: &str = include_str!("../../../../docs/how-to/limit-runs.md");
const BACKFILL: &str = include_str!("../../../../docs/how-to/run-past-fires-again.md");

/// A worker on the registry in a file, and a shell for the commands of a page.
struct Page {
    shell: Shell,
    _folder: tempfile::TempDir,
}

impl Page {
    /// Starts the worker, by a command in the background.
    async fn start(jobs: &str, worker: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("jobs.toml"), jobs).unwrap();
        let mut shell = Shell::start(folder.path()).await;
        shell.control_jobs().await;
        let worker = format!("{worker} 2> worker.log &");
        shell.give(&worker).await;
        for begin in ["registry: ", "ready: "] {
            let line = shell.line(&worker).await;
            assert!(line.starts_with(begin), "{line}");
        }
        Self { shell, _folder: folder }
    }

    /// Runs the sessions of a text as printed. `used` are printed texts of commands, each with the
    /// one to use in its place.
    async fn session(&mut self, text: &str, at_least: usize, used: &[(&str, &str)]) {
        let console = console_of(text);
        run_steps(&mut self.shell, &steps(&console, at_least), used, is_like_printed).await;
    }
}

/// Returns the command of a page that begins with a text.
fn command(page: &'static str, begin: &str) -> &'static str {
    let found = commands(page).find(|command| command.starts_with(begin));
    found.unwrap_or_else(|| panic!("the page has no command {begin}"))
}

/// Returns a text that a page prints.
fn printed<'a>(page: &str, text: &'a str) -> &'a str {
    assert!(page.contains(text), "the page does not print {text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_set_and_explained_as_printed() {
    let report = block(LIMITS, "## In the cluster", "toml");
    let endless =
        report.replace("echo \"report part $EJOB_SHARDING_ITEM\"", "exec tail -f /dev/null");
    assert_ne!(report, endless);
    let jobs = format!("{endless}\n{}", block(LIMITS, "## Starts in a period", "toml"));
    let mut page = Page::start(&jobs, command(LIMITS, "ejob worker ")).await;

    page.shell.succeed(command(LIMITS, "ejob config set report ")).await;
    page.shell.succeed("ejob trigger report").await;
    let permit = "waits for a permit of the job (2 of 2 are taken, cluster_concurrency): item ";
    page.shell.until("ejob why report 3", printed(LIMITS, permit)).await;

    page.shell.succeed("ejob trigger sync").await;
    let rate =
        "the job has reached its start rate (10 in 1m, start_rate); the next run may begin at ";
    page.shell.until("ejob why sync 11", printed(LIMITS, rate)).await;

    page.shell.succeed("ejob config set report cluster_concurrency=12 --why test").await;
    let place = ": it runs 8 at once, of all its jobs (max concurrency)";
    page.shell.until("ejob why report", printed(LIMITS, place)).await;

    for command in commands(LIMITS).filter(|command| command.starts_with("ejob group")) {
        page.shell.succeed(command).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backfills_are_previewed_run_and_cancelled_as_printed() {
    let jobs = block(BACKFILL, "## Before", "toml");
    let mut page = Page::start(jobs, "ejob worker jobs.toml").await;
    let (before, cancellation) = BACKFILL.split_once("## Cancel\n").unwrap();
    page.session(before, 5, &[]).await;
    // The line after the titles is that of the newest backfill.
    let list = page.shell.run("ejob backfill report").await;
    let id = list[1].split_whitespace().next().unwrap();
    page.session(cancellation, 1, &[("20261129-06595a", id)]).await;
}
