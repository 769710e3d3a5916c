//! Watcher of the runtime jobs: follows their index and starts a worker for each job that this
//! process may join.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::{JobName, Layout, TemplateRecord, decode_template};
use futures_util::FutureExt;
use reg_center::{Change, Node, NodePath, Revision};
use tokio::select;
use tokio::sync::{Notify, Semaphore, mpsc};

use super::RuntimeJobState;
use super::worker::RuntimeJobWorker;
use crate::scheduler::Inner;

/// Number of jobs that are read and registered at a time.
const AT_A_TIME: usize = 8;

/// Message to the watcher.
#[derive(Debug)]
pub(super) enum Message {
    /// The process offers another template.
    Offered,
    /// The worker of a job has ended.
    Ended(JobName),
}

/// A job in the index.
struct Listed {
    /// Revision of its entry.
    written: Revision,
    /// Content of the entry; `None` if it cannot be read. The nodes of the job itself decide.
    record: Option<TemplateRecord>,
}

struct RuntimeJobWatcher {
    scheduler: Arc<Inner>,
    messages: mpsc::UnboundedSender<Message>,
    places: Arc<Semaphore>,
    listed: BTreeMap<JobName, Listed>,
    /// Jobs that have a worker, and how to wake it.
    workers: BTreeMap<JobName, Arc<Notify>>,
    /// Jobs of the snapshot so far; `None` outside of a snapshot.
    snapshot: Option<BTreeSet<JobName>>,
}

/// Starts the watcher of a scheduler.
pub(super) fn start(scheduler: &Arc<Inner>) -> mpsc::UnboundedSender<Message> {
    let (messages, inbox) = mpsc::unbounded_channel();
    let watcher = RuntimeJobWatcher {
        scheduler: Arc::clone(scheduler),
        messages: messages.clone(),
        places: Arc::new(Semaphore::new(AT_A_TIME)),
        listed: BTreeMap::new(),
        workers: BTreeMap::new(),
        snapshot: None,
    };
    scheduler.seams.spawn.spawn(Box::pin(watcher.run(inbox)));
    messages
}

impl RuntimeJobWatcher {
    /// Runs until the scheduler is shut down, or the registry centre was closed.
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Message>) {
        let mut feed = self.scheduler.seams.registry.watch(&Layout::runtime_index());
        loop {
            select! {
                biased;
                () = self.scheduler.closing.cancelled() => return,
                Some(message) = inbox.recv() => self.take(message),
                change = feed.next() => match change {
                    Some(change) => self.changed(change),
                    None => return,
                },
            }
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Offered => self.consider_all(),
            Message::Ended(job) => {
                let wake = self.workers.remove(&job);
                // The entry may have changed after the worker's last check, so the job is checked
                // once more.
                let missed = wake.is_some_and(|wake| wake.notified().now_or_never().is_some());
                if !missed {
                    self.listed.remove(&job);
                }
                self.consider_all();
            }
        }
    }

    fn changed(&mut self, change: Change) {
        match change {
            Change::Init => self.snapshot = Some(BTreeSet::new()),
            Change::Entry(node) => {
                if let (Some(job), Some(snapshot)) =
                    (Layout::indexed_job(&node.path), &mut self.snapshot)
                {
                    snapshot.insert(job);
                }
                self.put(&node);
            }
            Change::Ready => {
                let present = self.snapshot.take().unwrap_or_default();
                let gone: Vec<JobName> =
                    self.listed.keys().filter(|job| !present.contains(*job)).cloned().collect();
                gone.iter().for_each(|job| self.gone(job));
            }
            Change::Put(node) => self.put(&node),
            Change::Gone { path, .. } => {
                if let Some(job) = Layout::indexed_job(&path) {
                    self.gone(&job);
                }
            }
        }
    }

    fn put(&mut self, node: &Node) {
        let Some(job) = job_of(&node.path) else { return };
        let written = node.stat.modified;
        if self.listed.get(&job).is_some_and(|listed| listed.written == written) {
            return;
        }
        let record = decode_template(&node.data).ok();
        self.listed.insert(job.clone(), Listed { written, record });
        match self.workers.get(&job) {
            Some(wake) => wake.notify_one(),
            None => self.consider(&job),
        }
    }

    fn gone(&mut self, job: &JobName) {
        self.listed.remove(job);
        match self.workers.get(job) {
            // The worker checks whether the job was removed, or only its entry.
            Some(wake) => wake.notify_one(),
            None => self.scheduler.runtime.job_states.set(job, None, RuntimeJobState::Removed),
        }
    }

    fn consider_all(&mut self) {
        let jobs: Vec<JobName> =
            self.listed.keys().filter(|job| !self.workers.contains_key(*job)).cloned().collect();
        jobs.iter().for_each(|job| self.consider(job));
    }

    /// Starts a worker for a job, unless the entry shows that this process must not join it.
    fn consider(&mut self, job: &JobName) {
        let Some(listed) = self.listed.get(job) else { return };
        let runtime = &self.scheduler.runtime;
        let (record, max) = (listed.record.as_ref(), runtime.max_jobs);
        let state = match record {
            Some(record) if !record.is_for(runtime.labels.as_ref()) => RuntimeJobState::OtherLabel,
            Some(record) if runtime.template(&record.template).is_none() => {
                RuntimeJobState::NoTemplate
            }
            _ if self.workers.len() >= max => RuntimeJobState::Refused {
                reason: format!("this process already has its maximum of {max} runtime jobs"),
            },
            _ => return self.start_worker(job.clone()),
        };
        runtime.job_states.set(job, record, state);
    }

    fn start_worker(&mut self, job: JobName) {
        let wake = Arc::new(Notify::new());
        let worker = RuntimeJobWorker {
            scheduler: Arc::clone(&self.scheduler),
            job: job.clone(),
            wake: Arc::clone(&wake),
            places: Arc::clone(&self.places),
        };
        let (messages, closing) = (self.messages.clone(), self.scheduler.closing.clone());
        self.workers.insert(job.clone(), wake);
        self.scheduler.seams.spawn.spawn(Box::pin(async move {
            select! {
                biased;
                () = closing.cancelled() => {}
                () = worker.run() => drop(messages.send(Message::Ended(job))),
            }
        }));
    }
}

/// Returns the job of an index entry; `None` for entries of other programs, whose names are not
/// valid job names.
fn job_of(path: &NodePath) -> Option<JobName> {
    let job = Layout::indexed_job(path);
    if job.is_none() && *path != Layout::runtime_index() {
        tracing::debug!(%path, "index of runtime jobs has an entry that is not a valid job name");
    }
    job
}
