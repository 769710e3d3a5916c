//! The caretaker of one job: joins it, stays while it is the same, leaves it when it is not, and joins again.

use std::sync::Arc;
use std::time::Duration;

use coordination::{JobConfig, JobName, Layout, TemplateRecord, decode_config, decode_template};
use reg_center::{Change, Node, NodePath, Revision, Txn};
use tokio::select;
use tokio::sync::{Notify, Semaphore};

use super::patience::{Patience, sleep};
use super::{Life, NewJob, RuntimeJobState};
use crate::said::with_causes;
use crate::scheduler::Inner;
use crate::{Error, JobHandle};

/// Between two questions to a registry that does not answer.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Between two attempts to take a job that was refused.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(300);

/// Looks after one job as long as it exists.
pub(super) struct Caretaker {
    pub(super) scheduler: Arc<Inner>,
    pub(super) job: JobName,
    /// Wakes the caretaker: the job's entry in the list has changed, or is gone.
    pub(super) look: Arc<Notify>,
    /// How many jobs are read and registered at a time.
    pub(super) places: Arc<Semaphore>,
}

/// A job as it is stored at one moment.
struct Found {
    record: TemplateRecord,
    life: Arc<Life>,
}

/// Why a job was not taken, and what could change that.
struct Refusal {
    reason: String,
    /// The configuration that it was refused with; `None` if there was none.
    config: Option<Revision>,
    /// Whether it is worth trying again with the same configuration.
    may_pass: bool,
}

/// What a caretaker remembers from one look to the next.
struct Memory {
    retry: Patience,
    /// The life of the job that this process was taken out of, and does not join again.
    left: Option<Revision>,
}

/// What a caretaker is to do next.
enum Next {
    /// Look at the job again, now.
    LookAgain,
    /// Look at the job again when something has changed.
    Wait,
    /// Nothing more: the job is gone, or the scheduler is.
    End,
}

impl Caretaker {
    /// Looks after the job until it is removed, or nobody can be asked any more.
    pub(super) async fn run(self) {
        let retry = Patience::new(FIRST_RETRY, MAX_RETRY);
        let mut memory = Memory { retry, left: None };
        loop {
            match self.look_after(&mut memory).await {
                Next::LookAgain => {}
                Next::Wait => self.look.notified().await,
                Next::End => return,
            }
        }
    }

    async fn look_after(&self, memory: &mut Memory) -> Next {
        let Some(node) = self.read(&self.layout().template_path()).await else { return Next::End };
        let Some(node) = node else { return self.removed().await };
        let record = match decode_template(&node.data) {
            Ok(record) => record,
            Err(fault) => {
                let reason = format!("its template cannot be read: {fault}");
                self.tell(None, RuntimeJobState::Refused { reason });
                return self.until_changed(&node).await;
            }
        };
        if !record.is_for(self.scheduler.runtime.labels.as_ref()) {
            self.tell(Some(&record), RuntimeJobState::OtherLabel);
            return Next::Wait;
        }
        if memory.left == Some(node.stat.created) {
            return Next::Wait;
        }
        let found = Found { life: Arc::new(self.life(&node)), record };
        match self.take(&found).await {
            Ok(Some((handle, deadline))) => {
                memory.retry.reset();
                self.tell(Some(&found.record), RuntimeJobState::Running);
                let next = self.stay(&found, &node, &handle, deadline).await;
                memory.left = matches!(next, Next::Wait).then_some(node.stat.created);
                next
            }
            Ok(None) => Next::LookAgain,
            Err(Some(refusal)) => {
                let reason = refusal.reason.clone();
                self.tell(Some(&found.record), RuntimeJobState::Refused { reason });
                self.until_it_may_go(&refusal, &mut memory.retry).await;
                Next::LookAgain
            }
            Err(None) => Next::End,
        }
    }

    /// Reads the configuration, makes the job and registers it. `Ok(None)` if it has changed meanwhile; `Err(None)` if the
    /// scheduler ends.
    async fn take(&self, found: &Found) -> Result<Option<(JobHandle, Duration)>, Option<Refusal>> {
        let _place = self.places.acquire().await.map_err(|_| None)?;
        let Some(template) = self.scheduler.runtime.template(&found.record.template) else {
            return Err(Some(Refusal {
                reason: format!("its template {} is not offered here", found.record.template),
                config: None,
                may_pass: true,
            }));
        };
        self.tell(Some(&found.record), RuntimeJobState::Starting);
        let node = self.read(&self.layout().config_path()).await.ok_or(None)?;
        let config = node.as_ref().map(|node| node.stat.modified);
        let refuse = |reason, may_pass| Some(Refusal { reason, config, may_pass });
        let stored = read_config(node.as_ref(), &self.job);
        let stored = stored.map_err(|reason| refuse(reason, false))?;
        let (scheduler, life) = (Arc::clone(&self.scheduler), Arc::clone(&found.life));
        let new = NewJob::new(scheduler, stored, found.record.clone(), life);
        let registration = template.make(new).map_err(|reason| refuse(reason, true))?;
        let deadline = registration.leave_deadline_of_job();
        match registration.await {
            Ok(handle) => Ok(Some((handle, deadline))),
            Err(Error::NoSuchJob { .. }) => Ok(None),
            Err(Error::Stopped { .. }) => Err(None),
            Err(error) => {
                // A configuration can need what is not there yet, such as a secret of its error handler.
                let may_pass = !matches!(error, Error::Dialect { .. });
                Err(refuse(with_causes(&error), may_pass))
            }
        }
    }

    /// Stays in the job until it has ended here, or is not the same any more.
    async fn stay(
        &self,
        found: &Found,
        node: &Node,
        handle: &JobHandle,
        deadline: Duration,
    ) -> Next {
        loop {
            let has_ended = select! {
                biased;
                () = handle.ended() => true,
                () = self.look.notified() => false,
            };
            let Some(now) = self.read(&node.path).await else { return Next::End };
            let is_same = now.as_ref().is_some_and(|now| now.stat.created == node.stat.created);
            match (has_ended, is_same) {
                (false, true) => self.list_again(&found.record, node).await,
                (true, true) => {
                    self.tell(Some(&found.record), RuntimeJobState::Left);
                    return Next::Wait;
                }
                (false, false) => {
                    // The driver has gone already if it has seen for itself that it was taken out.
                    let _ = handle.shutdown(deadline).await;
                    return Next::LookAgain;
                }
                (true, false) => return Next::LookAgain,
            }
        }
    }

    /// Waits until it is worth trying again: until the configuration is another one, somebody wakes the caretaker, or, if the
    /// reason may pass, some time is over.
    async fn until_it_may_go(&self, refusal: &Refusal, retry: &mut Patience) {
        let pause = refusal.may_pass.then(|| retry.next());
        let pause = async {
            match pause {
                Some(pause) => sleep(&self.scheduler.seams, pause).await,
                None => std::future::pending().await,
            }
        };
        select! {
            biased;
            () = self.look.notified() => {}
            () = self.changes(self.layout().config_path(), refusal.config) => retry.reset(),
            () = pause => {}
        }
    }

    /// Waits until a node is another one, or somebody wakes the caretaker.
    async fn until_changed(&self, node: &Node) -> Next {
        select! {
            biased;
            () = self.look.notified() => {}
            () = self.changes(node.path.clone(), Some(node.stat.modified)) => {}
        }
        Next::LookAgain
    }

    /// Waits until a node is not as it was written at this revision; `None` if there was none.
    async fn changes(&self, path: NodePath, known: Option<Revision>) {
        let mut feed = self.scheduler.seams.registry.watch(&path);
        let mut found = None;
        loop {
            match feed.next().await {
                Some(Change::Init) => found = None,
                Some(Change::Entry(node)) if node.path == path => found = Some(node.stat.modified),
                Some(Change::Ready) if found != known => return,
                Some(Change::Put(node))
                    if node.path == path && Some(node.stat.modified) != known =>
                {
                    return;
                }
                Some(Change::Gone { path: gone, .. }) if gone == path && known.is_some() => return,
                Some(_) => {}
                // The centre was closed.
                None => std::future::pending().await,
            }
        }
    }

    /// The job is gone: so is its handle, and its entry in the list, if whoever removed it has left that.
    async fn removed(&self) -> Next {
        self.scheduler.forget(&self.job);
        let Some(entry) = self.read(&self.layout().index_path()).await else { return Next::End };
        if let Some(entry) = entry {
            self.commit(self.layout().unlist(entry.stat.version)).await;
            let Some(now) = self.read(&self.layout().template_path()).await else {
                return Next::End;
            };
            if now.is_some() {
                return Next::LookAgain;
            }
        }
        self.tell(None, RuntimeJobState::Removed);
        Next::End
    }

    /// Puts the job's entry back into the list, if somebody has taken it out.
    async fn list_again(&self, record: &TemplateRecord, node: &Node) {
        if let Some(None) = self.read(&self.layout().index_path()).await {
            self.commit(self.layout().list_again(record, node.stat.version)).await;
        }
    }

    /// Tidies up. Whether it could is not worth a word: somebody else has, or the next one will.
    async fn commit(&self, txn: Txn) {
        let (registry, job) = (Arc::clone(&self.scheduler.seams.registry), self.job.clone());
        let txn = txn.labelled("runtime jobs");
        let outcome = self.scheduler.seams.detach(async move { registry.commit(txn).await });
        let outcome = outcome.await;
        tracing::debug!(%job, ?outcome, "tidied up the list of runtime jobs");
    }

    /// Asks until the registry answers; `None` once the centre is closed.
    async fn read(&self, path: &NodePath) -> Option<Option<Node>> {
        let mut patience = Patience::new(FIRST_PAUSE, MAX_PAUSE);
        loop {
            let error = match self.scheduler.seams.registry.read(path).await {
                Ok(node) => return Some(node),
                Err(reg_center::Error::Closed) => return None,
                Err(error) => error,
            };
            tracing::debug!(%error, "asking the registry again");
            sleep(&self.scheduler.seams, patience.next()).await;
        }
    }

    fn life(&self, node: &Node) -> Life {
        Life {
            seams: self.scheduler.seams.clone(),
            path: node.path.clone(),
            made: node.stat.created,
        }
    }

    fn tell(&self, record: Option<&TemplateRecord>, state: RuntimeJobState) {
        self.scheduler.runtime.board.set(&self.job, record, state);
    }

    fn layout(&self) -> Layout {
        Layout::new(&self.job)
    }
}

/// Reads a stored configuration, or says why that is not possible.
fn read_config(node: Option<&Node>, job: &JobName) -> Result<JobConfig, String> {
    let node = node.ok_or("it has no configuration")?;
    let config = decode_config(&node.data);
    let config = config.map_err(|fault| format!("its configuration cannot be used: {fault}"))?;
    match config.job_name == *job {
        true => Ok(config),
        false => Err(format!("its configuration is that of job {}", config.job_name)),
    }
}
