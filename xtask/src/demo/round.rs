//! One round: start workers, kill one inside an item, wait for all results, judge them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use zookeeper_fixture::Server;

use super::DemoError;
use super::corpus::Corpus;
use super::protocol::Event;
use super::results::Results;
use super::verdict::{self, Evidence, Victim};
use super::worker::{News, What, Worker};
use crate::Error;

const N_WORKERS: usize = 3;
/// How long a worker rests inside an item, between reading its files and writing its result.
const HOLD_ITEM_MS: u32 = 400;
const FIRST_ITEM_LIMIT: Duration = Duration::from_secs(60);
const RESULTS_LIMIT: Duration = Duration::from_secs(120);
const END_LIMIT: Duration = Duration::from_secs(20);
/// How often the output folder is looked at while nobody says anything.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// A worker may finish its item while the kill is on its way; then the round is played again.
const MAX_ATTEMPTS: usize = 5;

/// Plays a round on a namespace and in folders of its own.
pub(super) fn play(program: &Path, server: &Server, n: u32) -> Result<(), Error> {
    for attempt in 1..=MAX_ATTEMPTS {
        let namespace = format!("demo-{n}-{attempt}");
        let mut round = Round::start(program, server, &namespace)?;
        let victims = round.kill_a_worker_inside_an_item()?;
        if !victims.is_empty() {
            return round.finish(&victims);
        }
        println!("the worker had written its result before it died; once more");
    }
    Err(DemoError::NeverInside { n_attempts: MAX_ATTEMPTS }.into())
}

struct Round {
    corpus: Corpus,
    output: PathBuf,
    workers: Vec<Worker>,
    killed: Option<usize>,
    news: Receiver<News>,
    /// The items each worker has started and not finished, with their tokens.
    running: BTreeMap<(usize, u64), u64>,
    // Dropped last: the workers write into it.
    _folder: TempDir,
}

impl Round {
    fn start(program: &Path, server: &Server, namespace: &str) -> Result<Round, Error> {
        let folder = tempfile::Builder::new()
            .prefix("line-count-")
            .tempdir()
            .map_err(Error::file("create a folder in", &std::env::temp_dir()))?;
        let corpus = Corpus::copy_to(folder.path().join("sources"))?;
        println!("{} files with {} lines to count", corpus.lines.len(), corpus.total());
        let output = folder.path().join("results");
        fs::create_dir_all(&output).map_err(Error::file("create", &output))?;
        let (tell, news) = mpsc::channel();
        let mut workers = Vec::new();
        for index in 0..N_WORKERS {
            let name = format!("worker-{}", index + 1);
            let mut command = Command::new(program);
            command
                .args(["--registry", &format!("zk://{}/{namespace}", server.connect_string())])
                .arg("--dir")
                .arg(&corpus.folder)
                .arg("--out")
                .arg(&output)
                .args(["--instance", &name])
                .args(["--hold-item-ms", &HOLD_ITEM_MS.to_string()]);
            workers.push(Worker::start(index, name, command, folder.path(), tell.clone())?);
        }
        Ok(Round {
            corpus,
            output,
            workers,
            killed: None,
            news,
            running: BTreeMap::new(),
            _folder: folder,
        })
    }

    /// Kills the first worker that starts an item, and returns the items it was inside of: started,
    /// not reported as done, and without an accepted result.
    fn kill_a_worker_inside_an_item(&mut self) -> Result<Vec<Victim>, Error> {
        let index = self.wait_for_a_started_item()?;
        self.workers[index].kill()?;
        self.killed = Some(index);
        self.hear_out(index)?;
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
            println!("killed {worker} inside item {item}, token {token}");
        }
        Ok(victims)
    }

    /// Waits until some worker is inside an item, and returns that worker.
    fn wait_for_a_started_item(&mut self) -> Result<usize, Error> {
        let deadline = Instant::now() + FIRST_ITEM_LIMIT;
        loop {
            if let Some((index, _)) = self.running.keys().next() {
                return Ok(*index);
            }
            if !self.listen(deadline)? {
                return Err(DemoError::Deadline {
                    awaited: "a worker to say `item-started`".to_owned(),
                    after: FIRST_ITEM_LIMIT,
                    found: "no worker is inside an item".to_owned(),
                }
                .into());
            }
        }
    }

    /// Takes in everything a killed worker had said before it died.
    fn hear_out(&mut self, index: usize) -> Result<(), Error> {
        loop {
            let news = self.news.recv().expect("a dead worker falls silent before its voice ends");
            let is_over = news.worker == index && matches!(news.what, What::FellSilent);
            self.take_in(news)?;
            if is_over {
                return Ok(());
            }
        }
    }

    /// Takes in one piece of news; returns whether one came before the deadline.
    fn listen(&mut self, deadline: Instant) -> Result<bool, Error> {
        match self.news.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(news) => self.take_in(news).map(|()| true),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(false),
        }
    }

    fn take_in(&mut self, News { worker, what }: News) -> Result<(), Error> {
        let said = match what {
            What::Said(said) => said,
            What::FellSilent if self.killed == Some(worker) => return Ok(()),
            What::FellSilent => return Err(self.workers[worker].ended_by_itself()?.into()),
        };
        match self.workers[worker].parse(&said)? {
            Event::ItemStarted { item, token } => {
                println!("  {}: {said}", self.workers[worker].name);
                self.running.insert((worker, item), token);
            }
            Event::ItemDone { item, .. } => {
                println!("  {}: {said}", self.workers[worker].name);
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

    /// Waits until every item has a result, those of the killed worker a new one, and nobody is
    /// inside an item any more.
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
            self.listen(deadline.min(Instant::now() + LOOK_INTERVAL))?;
        }
    }

    fn survivors_are_idle(&self) -> bool {
        self.running.keys().all(|(worker, _)| self.killed == Some(*worker))
    }

    fn survivors(&self) -> impl Iterator<Item = &Worker> {
        let workers = self.workers.iter().enumerate();
        workers.filter(|(index, _)| self.killed != Some(*index)).map(|(_, worker)| worker)
    }

    /// Asks the remaining workers to end, and requires each to do so with exit code 0.
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

/// Returns whether no result is one that a worker wrote in the moment it was killed.
fn are_superseded(victims: &[Victim], results: &Results) -> bool {
    let token = |item| results.items.get(&item).map(|result| result.token);
    victims.iter().all(|victim| token(victim.item) != Some(victim.token))
}

fn describe_missing(missing: Option<Vec<u64>>) -> String {
    match missing {
        None => "there is no result at all".to_owned(),
        Some(missing) if missing.is_empty() => {
            "all are there, but a worker is still inside one, or owes the killed one's".to_owned()
        }
        Some(missing) => format!("there is none of the items {missing:?}"),
    }
}
