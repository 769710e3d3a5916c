//! One round: starts workers, kills one while it runs an item, waits for all results, and checks
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::DemoError;
use super::corpus::Corpus;
use super::protocol::Event;
use super::results::Results;
use super::verdict::{self, Evidence, Victim};
use super::worker::{Message, Output, Worker};
use crate::Error;
use crate::backend::RunningRegistry;

const N_WORKERS: usize = 3;
/// Pause of a worker between reading an item's files and writing its result, in milliseconds.
const HOLD_ITEM_MS: u32 = 400;
const FIRST_ITEM_LIMIT: Duration = Duration::from_secs(60);
const RESULTS_LIMIT: Duration = Duration::from_secs(120);
const END_LIMIT: Duration = Duration::from_secs(20);
/// Interval at which the output folder is read while no worker reports an event.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of attempts: a worker may finish its item before it is killed.
const MAX_ATTEMPTS: usize = 5;

/// Runs a round in a registry and folders of its own.
pub(super) fn run(program: &Path, registry: &RunningRegistry, n: u32) -> Result<(), Error> {
    for attempt in 1..=MAX_ATTEMPTS {
        let address = registry.address(&format!("demo-{n}-{attempt}"));
        let mut round = Round::start(program, &address)?;
        let victims = round.kill_worker_with_item()?;
        if !victims.is_empty() {
            return round.finish(&victims);
        }
        println!("the worker had written its result before it was killed; the round is repeated");
    }
    Err(DemoError::NeverKilledInRun { n_attempts: MAX_ATTEMPTS }.into())
}

struct Round {
    corpus: Corpus,
    output: PathBuf,
    workers: Vec<Worker>,
    killed: Option<usize>,
    messages: Receiver<Message>,
    /// Running items of each worker, with their tokens.
    running: BTreeMap<(usize, u64), u64>,
    // Dropped last, because the workers write into it.
    _folder: TempDir,
}

impl Round {
    fn start(program: &Path, address: &str) -> Result<Round, Error> {
        let folder = tempfile::Builder::new()
            .prefix("line-count-")
            .tempdir()
            .map_err(Error::file("create a folder in", &std::env::temp_dir()))?;
        let corpus = Corpus::copy_to(folder.path().join("sources"))?;
        println!("{} files with {} lines to count", corpus.lines.len(), corpus.total());
        let output = folder.path().join("results");
        fs::create_dir_all(&output).map_err(Error::file("create", &output))?;
        let (sender, messages) = mpsc::channel();
        let mut workers = Vec::new();
        for index in 0..N_WORKERS {
            let name = format!("worker-{}", index + 1);
            let mut command = Command::new(program);
            command
                .args(["--registry", address])
                .arg("--dir")
                .arg(&corpus.folder)
                .arg("--out")
                .arg(&output)
                .args(["--instance", &name])
                .args(["--hold-item-ms", &HOLD_ITEM_MS.to_string()]);
            workers.push(Worker::start(index, name, command, folder.path(), sender.clone())?);
        }
        Ok(Round {
            corpus,
            output,
            workers,
            killed: None,
            messages,
            running: BTreeMap::new(),
            _folder: folder,
        })
    }

    /// Kills the first worker that starts an item, and returns its orphaned items.
    ///
    /// They are started, not reported as done, and without an accepted result.
    fn kill_worker_with_item(&mut self) -> Result<Vec<Victim>, Error> {
        let index = self.wait_for_a_started_item()?;
        self.workers[index].kill()?;
        self.killed = Some(index);
        self.drain_output(index)?;
        let accepted = Results::read(&self.output)?.accepted;
        let worker = self.workers[index].name.clone();
        let started = self.running.iter().filter(|((owner, _), _)| *owner == index);
        let victims: Vec<Victim> = started
            .map(|((_, item), token)| Victim { worker: worker.clone(), item: *item, token: *token })
            .filter(|Victim { item, token, .. }| {
                !accepted.iter().any(|accepted| (accepted.item, accepted.token) == (*item, *token))
            })
            .collect();
        for Victim { worker, item, token } in &victims {
            println!("killed {worker} while it ran item {item}, token {token}");
        }
        Ok(victims)
    }

    /// Waits until a worker runs an item, and returns the index of the worker.
    fn wait_for_a_started_item(&mut self) -> Result<usize, Error> {
        let deadline = Instant::now() + FIRST_ITEM_LIMIT;
        loop {
            if let Some((index, _)) = self.running.keys().next() {
                return Ok(*index);
            }
            if !self.receive(deadline)? {
                return Err(DemoError::Deadline {
                    awaited: "an event `item-started` of a worker".to_owned(),
                    after: FIRST_ITEM_LIMIT,
                    found: "no worker runs an item".to_owned(),
                }
                .into());
            }
        }
    }

    /// Handles all events of a killed worker until the end of its output.
    fn drain_output(&mut self, index: usize) -> Result<(), Error> {
        loop {
            let message = self.messages.recv().expect("the output ends before its sender");
            let is_over = message.worker == index && matches!(message.output, Output::Ended);
            self.handle(message)?;
            if is_over {
                return Ok(());
            }
        }
    }

    /// Handles one message. Returns whether one arrived before the deadline.
    fn receive(&mut self, deadline: Instant) -> Result<bool, Error> {
        match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => self.handle(message).map(|()| true),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    fn handle(&mut self, Message { worker, output }: Message) -> Result<(), Error> {
        let line = match output {
            Output::Line(line) => line,
            Output::Ended if self.killed == Some(worker) => return Ok(()),
            Output::Ended => return Err(self.workers[worker].ended_by_itself()?.into()),
        };
        match self.workers[worker].parse(&line)? {
            Event::ItemStarted { item, token } => {
                println!("  {}: {line}", self.workers[worker].name);
                self.running.insert((worker, item), token);
            }
            Event::ItemDone { item, .. } => {
                println!("  {}: {line}", self.workers[worker].name);
                self.running.remove(&(worker, item));
            }
            Event::Other => {}
        }
        Ok(())
    }

    /// Waits for the results of all items, checks them, and ends the remaining workers.
    fn finish(mut self, victims: &[Victim]) -> Result<(), Error> {
        let results = self.wait_for_results(victims)?;
        let survivors: Vec<String> = self.survivors().map(|worker| worker.name.clone()).collect();
        let checks = verdict::checks(&Evidence {
            lines: &self.corpus.lines,
            wc_total: self.corpus.total_by_wc()?,
            results: &results,
            victims,
            survivors: &survivors,
        });
        println!("{} items, {} stale writes rejected", results.items.len(), results.n_rejected);
        checks.iter().for_each(|check| println!("{check}"));
        let failed = checks.iter().filter(|check| !check.holds);
        let failed: Vec<String> = failed.map(|check| check.what.clone()).collect();
        if !failed.is_empty() {
            return Err(DemoError::Checks { n_checks: checks.len(), failed }.into());
        }
        self.end_survivors()
    }

    /// Waits until every item has a result, those of the killed worker a new one, and no worker
    /// runs an item.
    fn wait_for_results(&mut self, victims: &[Victim]) -> Result<Results, Error> {
        let deadline = Instant::now() + RESULTS_LIMIT;
        loop {
            let results = Results::read(&self.output)?;
            let missing = results.missing();
            let is_complete = missing.as_ref().is_some_and(Vec::is_empty);
            if is_complete && self.survivors_are_idle() && are_superseded(victims, &results) {
                return Ok(results);
            }
            if Instant::now() >= deadline {
                return Err(DemoError::Deadline {
                    awaited: "a result of every item".to_owned(),
                    after: RESULTS_LIMIT,
                    found: describe_missing(missing),
                }
                .into());
            }
            self.receive(deadline.min(Instant::now() + POLL_INTERVAL))?;
        }
    }

    fn survivors_are_idle(&self) -> bool {
        self.running.keys().all(|(worker, _)| self.killed == Some(*worker))
    }

    fn survivors(&self) -> impl Iterator<Item = &Worker> {
        let workers = self.workers.iter().enumerate();
        workers.filter(|(index, _)| self.killed != Some(*index)).map(|(_, worker)| worker)
    }

    /// Sends SIGTERM to the remaining workers, and requires exit code 0 of each.
    fn end_survivors(mut self) -> Result<(), Error> {
        self.survivors().try_for_each(Worker::terminate)?;
        let killed = self.killed;
        let workers = self.workers.iter_mut().enumerate();
        for (_, worker) in workers.filter(|(index, _)| killed != Some(*index)) {
            worker.wait_for_success(END_LIMIT)?;
            println!("ok      {} ended with exit code 0 after SIGTERM", worker.name);
        }
        Ok(())
    }
}

/// Returns whether each orphaned item has a result of a later run.
fn are_superseded(victims: &[Victim], results: &Results) -> bool {
    let token = |item| results.items.get(&item).map(|result| result.token);
    victims.iter().all(|victim| token(victim.item) != Some(victim.token))
}

fn describe_missing(missing: Option<Vec<u64>>) -> String {
    match missing {
        None => "no item has a result".to_owned(),
        Some(missing) if missing.is_empty() => {
            "all items have results, but one still runs or has only the killed worker's".to_owned()
        }
        Some(missing) => format!("the items {missing:?} have no result"),
    }
}
