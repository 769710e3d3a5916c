//! The job's code: announces itself to the resource, works, writes its effect, and ends.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use checker::history::{ExecEvent, Fact, RunId};
use lite::{Job, JobError, ShardingContext};
use parking_lot::Mutex;

use super::recorder::Recorder;
use crate::protocol::WorkPlan;
use crate::resource::{Access, Resource};

/// The job under test, in one worker.
pub(super) struct TestedJob {
    work: WorkPlan,
    recorder: Arc<Recorder>,
    resource: Arc<Mutex<Resource>>,
}

/// Failure of a run.
#[derive(Debug, thiserror::Error)]
enum Ending {
    #[error("the run was cancelled")]
    Cancelled,
    #[error("the item fails because the scenario says so")]
    Failed,
    #[error("the resource has seen a later run of the item")]
    Overtaken,
    #[error("the resource cannot be reached")]
    Resource(#[from] std::io::Error),
    #[error("the runtime is going down")]
    Runtime(#[from] tokio::task::JoinError),
}

impl TestedJob {
    pub(super) fn new(
        work: WorkPlan,
        recorder: Arc<Recorder>,
        resource: &Path,
    ) -> std::io::Result<Self> {
        let resource = Arc::new(Mutex::new(Resource::open(resource)?));
        Ok(Self { work, recorder, resource })
    }

    async fn run(&self, context: &ShardingContext, run: &RunId) -> Result<(), Ending> {
        self.ask(Access::Begin, run).await?;
        let item = run.item;
        let work = Duration::from_millis(self.work.ms_of(item));
        if self.work.hang.contains(&item) {
            context.cancelled().await;
            return Err(Ending::Cancelled);
        }
        if self.work.block.contains(&item) {
            return self.ask_after(work, Access::Effect, run).await;
        }
        // The code ignores cancellation: the worst behaviour of a job that still awaits.
        tokio::time::sleep(work).await;
        if self.work.panic.contains(&item) {
            // Bypasses the panic hook, because this panic is intended.
            resume_unwind(Box::new("the item panics because the scenario says so"));
        }
        if self.work.fail.contains(&item) {
            return Err(Ending::Failed);
        }
        self.ask(Access::Effect, run).await
    }

    /// Accesses the resource on a blocking thread, because it may have to wait for the lock.
    async fn ask(&self, access: Access, run: &RunId) -> Result<(), Ending> {
        self.ask_after(Duration::ZERO, access, run).await
    }

    /// Blocks a thread for some time and then accesses the resource. Dropping the future stops
    /// neither.
    async fn ask_after(&self, work: Duration, access: Access, run: &RunId) -> Result<(), Ending> {
        let (resource, run) = (Arc::clone(&self.resource), run.clone());
        let asked = tokio::task::spawn_blocking(move || {
            std::thread::sleep(work);
            resource.lock().ask(access, &run)
        });
        match asked.await?? {
            true => Ok(()),
            false => Err(Ending::Overtaken),
        }
    }
}

#[async_trait]
impl Job for TestedJob {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let run = RunId {
            job: context.job_name().to_string(),
            item: context.item().index(),
            slot: context.slot(),
            fire: context.run_time().as_millisecond(),
            token: context.fencing_token(),
        };
        let source = context.source().to_string();
        let cfg = context.config_version().0;
        let mut exec = Exec::begin(&self.recorder, run.clone(), source, cfg);
        let ended = self.run(&context, &run).await;
        exec.result = match &ended {
            Ok(()) => "ok",
            Err(_) if context.is_cancelled() => "cancelled",
            Err(_) => "error",
        };
        ended.map_err(Into::into)
    }
}

/// Record of one run: its begin, and its end, however it ends.
struct Exec<'a> {
    recorder: &'a Recorder,
    run: RunId,
    source: String,
    cfg: u32,
    result: &'static str,
}

impl<'a> Exec<'a> {
    fn begin(recorder: &'a Recorder, run: RunId, source: String, cfg: u32) -> Self {
        // A dropped future was cancelled.
        let exec = Self { recorder, run, source, cfg, result: "cancelled" };
        recorder.note(exec.fact(ExecEvent::Start, None));
        exec
    }

    fn fact(&self, ev: ExecEvent, result: Option<String>) -> Fact {
        let (run, source, cfg) = (self.run.clone(), self.source.clone(), self.cfg);
        Fact::Exec { ev, run, source, cfg, result }
    }
}

impl Drop for Exec<'_> {
    fn drop(&mut self) {
        let result = if std::thread::panicking() { "panic" } else { self.result };
        self.recorder.note(self.fact(ExecEvent::End, Some(result.to_owned())));
    }
}
