//! The keeper: knows the list of jobs that were made at run time, and has a caretaker for each one that this process may take.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::{JobName, Layout, TemplateRecord, decode_template};
use futures_util::FutureExt;
use reg_center::{Change, Node, NodePath, Revision};
use tokio::select;
use tokio::sync::{Notify, Semaphore, mpsc};

use super::RuntimeJobState;
use super::caretaker::Caretaker;
use crate::scheduler::Inner;

/// How many jobs are read and registered at a time.
const AT_A_TIME: usize = 8;

/// What a keeper is told.
#[derive(Debug)]
pub(super) enum Message {
    /// There is another template.
    Offered,
    /// The caretaker of a job has nothing more to do.
    Ended(JobName),
}

/// A job on the list.
struct Listed {
    /// When its entry was written.
    written: Revision,
    /// What the entry says; `None` if it cannot be read. The job itself decides.
    record: Option<TemplateRecord>,
}

struct Keeper {
    scheduler: Arc<Inner>,
    messages: mpsc::UnboundedSender<Message>,
    places: Arc<Semaphore>,
    listed: BTreeMap<JobName, Listed>,
    /// What somebody looks after, and how to wake them.
    cared_for: BTreeMap<JobName, Arc<Notify>>,
    /// What a snapshot has shown so far; `None` between two of them.
    snapshot: Option<BTreeSet<JobName>>,
}

/// Starts the keeper of a scheduler.
pub(super) fn start(scheduler: &Arc<Inner>) -> mpsc::UnboundedSender<Message> {
    let (messages, inbox) = mpsc::unbounded_channel();
    let keeper = Keeper {
        scheduler: Arc::clone(scheduler),
        messages: messages.clone(),
        places: Arc::new(Semaphore::new(AT_A_TIME)),
        listed: BTreeMap::new(),
        cared_for: BTreeMap::new(),
        snapshot: None,
    };
    scheduler.seams.spawn.spawn(Box::pin(keeper.run(inbox)));
    messages
}

impl Keeper {
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
                let look = self.cared_for.remove(&job);
                // Its entry may have been written again since the caretaker last looked: somebody has to look once more.
                let missed = look.is_some_and(|look| look.notified().now_or_never().is_some());
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
                let there = self.snapshot.take().unwrap_or_default();
                let gone: Vec<JobName> =
                    self.listed.keys().filter(|job| !there.contains(*job)).cloned().collect();
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
        match self.cared_for.get(&job) {
            Some(look) => look.notify_one(),
            None => self.consider(&job),
        }
    }

    fn gone(&mut self, job: &JobName) {
        self.listed.remove(job);
        match self.cared_for.get(job) {
            // The caretaker finds out whether the job is gone, or only its entry.
            Some(look) => look.notify_one(),
            None => self.scheduler.runtime.board.set(job, None, RuntimeJobState::Removed),
        }
    }

    fn consider_all(&mut self) {
        let jobs: Vec<JobName> =
            self.listed.keys().filter(|job| !self.cared_for.contains_key(*job)).cloned().collect();
        jobs.iter().for_each(|job| self.consider(job));
    }

    /// Begins to look after a job, unless it is certainly not for this process.
    fn consider(&mut self, job: &JobName) {
        let Some(listed) = self.listed.get(job) else { return };
        let runtime = &self.scheduler.runtime;
        let (record, max) = (listed.record.as_ref(), runtime.max_jobs);
        let state = match record {
            Some(record) if !record.is_for(runtime.labels.as_ref()) => RuntimeJobState::OtherLabel,
            Some(record) if runtime.template(&record.template).is_none() => {
                RuntimeJobState::NoTemplate
            }
            _ if self.cared_for.len() >= max => RuntimeJobState::Refused {
                reason: format!("this process takes no more than {max} jobs, and has as many"),
            },
            _ => return self.care_for(job.clone()),
        };
        runtime.board.set(job, record, state);
    }

    fn care_for(&mut self, job: JobName) {
        let look = Arc::new(Notify::new());
        let caretaker = Caretaker {
            scheduler: Arc::clone(&self.scheduler),
            job: job.clone(),
            look: Arc::clone(&look),
            places: Arc::clone(&self.places),
        };
        let (messages, closing) = (self.messages.clone(), self.scheduler.closing.clone());
        self.cared_for.insert(job.clone(), look);
        self.scheduler.seams.spawn.spawn(Box::pin(async move {
            select! {
                biased;
                () = closing.cancelled() => {}
                () = caretaker.run() => drop(messages.send(Message::Ended(job))),
            }
        }));
    }
}

/// Returns which job an entry is about. What is no valid name was made by somebody else, and is nobody's job.
fn job_of(path: &NodePath) -> Option<JobName> {
    let job = Layout::indexed_job(path);
    if job.is_none() && *path != Layout::runtime_index() {
        tracing::debug!(%path, "entry of no job in the list of runtime jobs");
    }
    job
}
