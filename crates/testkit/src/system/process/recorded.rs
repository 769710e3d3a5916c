//! Records the actions of a process: the runs of its jobs, its job events, and its session changes.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use checker::history::{ExecEvent, Fact, RunId, SessionEvent};
use futures_util::FutureExt;
use lite::{Clock, Job, JobError, JobEvent, JobRecord, OnceContext, OnceListener, ShardingContext};
use reg_center::SessionChange;

use super::seams::SimClock;
use crate::system::recorder::FactWriter;

/// Writes the records of a process, with the time of its own wall clock.
#[derive(Clone, Debug)]
pub(crate) struct ProcessWriter {
    pub(crate) facts: Arc<FactWriter>,
    pub(crate) clock: Arc<SimClock>,
}

impl ProcessWriter {
    pub(crate) fn write(&self, fact: Fact) {
        self.facts.write_at(self.clock.wall().as_millisecond(), fact);
    }

    /// Records a job event.
    pub(crate) fn write_event(&self, record: &JobRecord) {
        let job = record.job.as_str().to_owned();
        let fact = if let JobEvent::Missed { item, fire, reason } = &record.event {
            let (item, reason) = (item.map(|item| item.index()), reason.to_string());
            Fact::Missed { job, item, fire: fire.0, reason }
        } else if let JobEvent::Gap { item, gap } = &record.event {
            let (first, until, count) = (gap.first.0, gap.until.0, gap.count);
            Fact::Gap { job, item: item.index(), first, until, count }
        } else {
            let name = record.event.name().to_owned();
            Fact::Event { job, name, text: record.event.to_string() }
        };
        self.facts.write_at(record.at.as_millisecond(), fact);
    }

    pub(crate) fn write_session(&self, change: SessionChange, instance: Option<String>) {
        let (ev, sid) = match change {
            SessionChange::Connected { session, .. } => (SessionEvent::Connected, session.0),
            SessionChange::Suspended { session } => (SessionEvent::Suspended, session.0),
            SessionChange::Lost { session } => (SessionEvent::Lost, session.0),
            SessionChange::Closed => (SessionEvent::Closed, 0),
        };
        self.write(Fact::Session { ev, sid, instance });
    }
}

/// Duration of a callback: long enough that a fault can interrupt it.
const CALLBACK: Duration = Duration::from_millis(300);

impl ProcessWriter {
    async fn once(&self, stage: &str, context: &OnceContext) {
        self.write(Fact::Once {
            job: context.job_name().as_str().to_owned(),
            fire: context.fire_time().as_millisecond(),
            stage: stage.to_owned(),
            token: context.fencing_token(),
        });
        tokio::time::sleep(CALLBACK).await;
    }
}

#[async_trait]
impl OnceListener for ProcessWriter {
    async fn started(&self, context: OnceContext) {
        self.once("started", &context).await;
    }

    async fn completed(&self, context: OnceContext) {
        self.once("completed", &context).await;
    }
}

/// Returns the id under which the history stores the run of this context.
pub(crate) fn run_id(context: &ShardingContext) -> RunId {
    RunId {
        job: context.job_name().as_str().to_owned(),
        item: context.item().index(),
        slot: context.slot(),
        fire: context.run_time().as_millisecond(),
        token: context.fencing_token(),
    }
}

/// A job that records its own runs from the inside, so that the records show what the code
/// observed.
pub(crate) struct Recorded {
    pub(crate) job: Arc<dyn Job>,
    pub(crate) writer: ProcessWriter,
}

#[async_trait]
impl Job for Recorded {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let run = OpenRun::begin(self.writer.clone(), &context);
        let result = AssertUnwindSafe(self.job.execute(context.clone())).catch_unwind().await;
        match result {
            Ok(Ok(())) => run.end("ok"),
            Ok(Err(_)) if context.is_cancelled() => run.end("cancelled"),
            Ok(Err(_)) => run.end("error"),
            Err(_) => run.end("panic"),
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// A run that has begun. Its drop records the end, as cancelled unless a result was set. Tasks of
/// a killed process are never dropped, so its runs have no end.
struct OpenRun {
    writer: ProcessWriter,
    run: RunId,
    source: &'static str,
    cfg: u32,
    result: &'static str,
}

impl OpenRun {
    fn begin(writer: ProcessWriter, context: &ShardingContext) -> Self {
        let (source, cfg) = (context.source().as_str(), context.config_version().0);
        let run = Self { writer, run: run_id(context), source, cfg, result: "cancelled" };
        run.write(ExecEvent::Start, None);
        run
    }

    fn end(mut self, result: &'static str) {
        self.result = result;
    }

    fn write(&self, ev: ExecEvent, result: Option<&str>) {
        self.writer.write(Fact::Exec {
            ev,
            run: self.run.clone(),
            source: self.source.to_owned(),
            cfg: self.cfg,
            result: result.map(str::to_owned),
        });
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.write(ExecEvent::End, Some(self.result));
    }
}
