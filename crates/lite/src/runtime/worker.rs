//! Worker for one runtime job: joins the job, leaves it when it is removed or replaced, and joins
//! its next generation.

use std::sync::Arc;
use std::time::Duration;

use coordination::{JobConfig, JobName, Layout, TemplateRecord, decode_config, decode_template};
use reg_center::{Change, Node, NodePath, Revision, Txn};
use tokio::select;
use tokio::sync::{Notify, Semaphore};

use super::backoff::{Backoff, sleep};
use super::{Generation, NewJob, RuntimeJobState};
use crate::panic_text::with_causes;
use crate::scheduler::Inner;
use crate::{Error, JobHandle};

/// Delays between requests to a registry that does not answer.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Delays between attempts to join a job that was refused.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(300);

/// Task that keeps this process in one runtime job as long as the job exists.
pub(super) struct RuntimeJobWorker {
    pub(super) scheduler: Arc<Inner>,
    pub(super) job: JobName,
    /// Wakes the worker: the job's entry in the index has changed or was removed.
    pub(super) wake: Arc<Notify>,
    /// Limits the number of jobs that are read and registered at a time.
    pub(super) places: Arc<Semaphore>,
}

/// A runtime job as it is stored at one moment.
struct Found {
    record: TemplateRecord,
    generation: Arc<Generation>,
}

/// Reason why this process did not join a job, and the condition of a retry.
struct Refusal {
    reason: String,
    /// Revision of the refused configuration; `None` if there was none.
    config: Option<Revision>,
    /// A retry with the same configuration may succeed.
    is_temporary: bool,
}

/// State of a worker between two checks of the job.
struct WorkerState {
    retry: Backoff,
    /// The generation of the job that this process has left, and does not join again.
    left: Option<Revision>,
}

/// Next step of a worker.
enum Next {
    /// Check the job again now.
    CheckAgain,
    /// Check the job again after a change.
    Wait,
    /// End: the job was removed, or the scheduler ends.
    End,
}

impl RuntimeJobWorker {
    /// Runs until the job is removed, or the registry centre is closed.
    pub(super) async fn run(self) {
        let retry = Backoff::new(FIRST_RETRY, MAX_RETRY);
        let mut worker_state = WorkerState { retry, left: None };
        loop {
            match self.step(&mut worker_state).await {
                Next::CheckAgain => {}
                Next::Wait => self.wake.notified().await,
                Next::End => return,
            }
        }
    }

    async fn step(&self, worker_state: &mut WorkerState) -> Next {
        let Some(node) = self.read(&self.layout().template_path()).await else { return Next::End };
        let Some(node) = node else { return self.removed().await };
        let record = match decode_template(&node.data) {
            Ok(record) => record,
            Err(fault) => {
                let reason = format!("its template cannot be read: {fault}");
                self.set_state(None, RuntimeJobState::Refused { reason });
                return self.until_changed(&node).await;
            }
        };
        if !record.is_for(self.scheduler.runtime.labels.as_ref()) {
            self.set_state(Some(&record), RuntimeJobState::OtherLabel);
            return Next::Wait;
        }
        if worker_state.left == Some(node.stat.created) {
            return Next::Wait;
        }
        let found = Found { generation: Arc::new(self.generation(&node)), record };
        match self.join(&found).await {
            Ok(Some((handle, deadline))) => {
                worker_state.retry.reset();
                self.set_state(Some(&found.record), RuntimeJobState::Running);
                let next = self.stay(&found, &node, &handle, deadline).await;
                worker_state.left = matches!(next, Next::Wait).then_some(node.stat.created);
                next
            }
            Ok(None) => Next::CheckAgain,
            Err(Some(refusal)) => {
                let reason = refusal.reason.clone();
                self.set_state(Some(&found.record), RuntimeJobState::Refused { reason });
                self.wait_for_retry(&refusal, &mut worker_state.retry).await;
                Next::CheckAgain
            }
            Err(None) => Next::End,
        }
    }

    /// Reads the configuration, makes the job from its template and registers it. Returns
    /// `Ok(None)` if the job changed meanwhile, and `Err(None)` if the scheduler ends.
    async fn join(&self, found: &Found) -> Result<Option<(JobHandle, Duration)>, Option<Refusal>> {
        let _place = self.places.acquire().await.map_err(|_| None)?;
        let Some(template) = self.scheduler.runtime.template(&found.record.template) else {
            return Err(Some(Refusal {
                reason: format!(
                    "this process does not offer its template {}",
                    found.record.template
                ),
                config: None,
                is_temporary: true,
            }));
        };
        self.set_state(Some(&found.record), RuntimeJobState::Starting);
        let node = self.read(&self.layout().config_path()).await.ok_or(None)?;
        let config = node.as_ref().map(|node| node.stat.modified);
        let refuse = |reason, is_temporary| Some(Refusal { reason, config, is_temporary });
        let stored = read_config(node.as_ref(), &self.job);
        let stored = stored.map_err(|reason| refuse(reason, false))?;
        let (scheduler, generation) = (Arc::clone(&self.scheduler), Arc::clone(&found.generation));
        let new = NewJob::new(scheduler, stored, found.record.clone(), generation);
        let registration = template.make(new).map_err(|reason| refuse(reason, true))?;
        let deadline = registration.leave_deadline_of_job();
        match registration.await {
            Ok(handle) => Ok(Some((handle, deadline))),
            Err(Error::NoSuchJob { .. }) => Ok(None),
            Err(Error::Stopped { .. }) => Err(None),
            Err(error) => {
                // The configuration may need a resource that appears later, such as a secret of its
                // error handler.
                let is_temporary = !matches!(error, Error::Dialect { .. });
                Err(refuse(with_causes(&error), is_temporary))
            }
        }
    }

    /// Stays in the job until it has ended in this process, or has another generation.
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
                () = self.wake.notified() => false,
            };
            let Some(now) = self.read(&node.path).await else { return Next::End };
            let is_same = now.as_ref().is_some_and(|now| now.stat.created == node.stat.created);
            match (has_ended, is_same) {
                (false, true) => self.restore_entry(node).await,
                (true, true) => {
                    self.set_state(Some(&found.record), RuntimeJobState::Left);
                    return Next::Wait;
                }
                (false, false) => {
                    // The driver may have ended already, if it has seen the removal itself.
                    let _ = handle.shutdown(deadline).await;
                    return Next::CheckAgain;
                }
                (true, false) => return Next::CheckAgain,
            }
        }
    }

    /// Waits until a retry may succeed: until the configuration changes or the worker is woken. If
    /// the reason is temporary, it also waits no longer than the backoff delay.
    async fn wait_for_retry(&self, refusal: &Refusal, retry: &mut Backoff) {
        let pause = refusal.is_temporary.then(|| retry.next());
        let pause = async {
            match pause {
                Some(pause) => sleep(&self.scheduler.seams, pause).await,
                None => std::future::pending().await,
            }
        };
        select! {
            biased;
            () = self.wake.notified() => {}
            () = self.changes(self.layout().config_path(), refusal.config) => retry.reset(),
            () = pause => {}
        }
    }

    /// Waits until a node changes, or the worker is woken.
    async fn until_changed(&self, node: &Node) -> Next {
        select! {
            biased;
            () = self.wake.notified() => {}
            () = self.changes(node.path.clone(), Some(node.stat.modified)) => {}
        }
        Next::CheckAgain
    }

    /// Waits until a node is no longer at this revision; `None` means absent.
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
                // The registry centre was closed.
                None => std::future::pending().await,
            }
        }
    }

    /// Removes the job's handle, and its entry in the index if that still exists.
    async fn removed(&self) -> Next {
        self.scheduler.forget(&self.job);
        let Some(entry) = self.read(&self.layout().index_path()).await else { return Next::End };
        if let Some(entry) = entry {
            self.commit(self.layout().unlist(entry.stat.version)).await;
            let Some(now) = self.read(&self.layout().template_path()).await else {
                return Next::End;
            };
            if now.is_some() {
                return Next::CheckAgain;
            }
        }
        self.set_state(None, RuntimeJobState::Removed);
        Next::End
    }

    /// Restores the job's entry in the index, if another client has removed it.
    async fn restore_entry(&self, template: &Node) {
        if let Some(None) = self.read(&self.layout().index_path()).await {
            self.commit(self.layout().list_again(template)).await;
        }
    }

    /// Commits a cleanup of the index. Its failure has no effect: another process repeats the
    /// cleanup.
    async fn commit(&self, txn: Txn) {
        let (registry, job) = (Arc::clone(&self.scheduler.seams.registry), self.job.clone());
        let txn = txn.labelled("runtime jobs");
        let outcome = self.scheduler.seams.detach(async move { registry.commit(txn).await });
        let outcome = outcome.await;
        tracing::debug!(%job, ?outcome, "cleaned up the index of runtime jobs");
    }

    /// Reads a node, and retries until the registry answers; `None` once the registry centre is
    /// closed.
    async fn read(&self, path: &NodePath) -> Option<Option<Node>> {
        let mut backoff = Backoff::new(FIRST_PAUSE, MAX_PAUSE);
        loop {
            let error = match self.scheduler.seams.registry.read(path).await {
                Ok(node) => return Some(node),
                Err(reg_center::Error::Closed) => return None,
                Err(error) => error,
            };
            tracing::debug!(%error, "retrying the request to the registry");
            sleep(&self.scheduler.seams, backoff.next()).await;
        }
    }

    fn generation(&self, node: &Node) -> Generation {
        Generation {
            seams: self.scheduler.seams.clone(),
            path: node.path.clone(),
            made: node.stat.created,
        }
    }

    fn set_state(&self, record: Option<&TemplateRecord>, state: RuntimeJobState) {
        self.scheduler.runtime.job_states.set(&self.job, record, state);
    }

    fn layout(&self) -> Layout {
        Layout::new(&self.job)
    }
}

/// Reads a stored configuration, or returns the reason why it cannot be used.
fn read_config(node: Option<&Node>, job: &JobName) -> Result<JobConfig, String> {
    let node = node.ok_or("it has no configuration")?;
    let config = decode_config(&node.data);
    let config = config.map_err(|fault| format!("its configuration cannot be used: {fault}"))?;
    if config.job_name != *job {
        return Err(format!("its configuration is that of job {}", config.job_name));
    }
    Ok(config)
}
