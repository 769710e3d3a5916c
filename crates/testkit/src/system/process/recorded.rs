//! Writing down what a process does: the code of its jobs, its job events, and what it learns about its session.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use checker::history::{ExecEvent, Fact, RunId, SessionEvent};
use futures_util::FutureExt;
use lite::{Clock, Job, JobError, JobEvent, JobRecord, OnceContext, OnceListener, ShardingContext};
use reg_center::SessionChange;

use super::seams::SimClock;
use crate::system::recorder::Voice;

/// Says what a process has to say, by its own wall clock.
#[derive(Clone, Debug)]
pub(crate) struct Diary {
    pub(crate) voice: Arc<Voice>,
    pub(crate) clock: Arc<SimClock>,
}

impl Diary {
    pub(crate) fn say(&self, fact: Fact) {
        self.voice.say_at(self.clock.wall().as_millisecond(), fact);
    }

    /// Takes note of a job event.
    pub(crate) fn note(&self, record: &JobRecord) {
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
        self.voice.say_at(record.at.as_millisecond(), fact);
    }

    pub(crate) fn session(&self, change: SessionChange, instance: Option<String>) {
        let (ev, sid) = match change {
            SessionChange::Connected { session, .. } => (SessionEvent::Connected, session.0),
            SessionChange::Suspended { session } => (SessionEvent::Suspended, session.0),
            SessionChange::Lost { session } => (SessionEvent::Lost, session.0),
            SessionChange::Closed => (SessionEvent::Closed, 0),
        };
        self.say(Fact::Session { ev, sid, instance });
    }
}

/// How long a callback takes: long enough to be cut short.
const CALLBACK: Duration = Duration::from_millis(300);

impl Diary {
    async fn once(&self, stage: &str, context: &OnceContext) {
        self.say(Fact::Once {
            job: context.job_name().as_str().to_owned(),
            fire: context.fire_time().as_millisecond(),
            stage: stage.to_owned(),
            token: context.fencing_token(),
        });
        tokio::time::sleep(CALLBACK).await;
    }
}

#[async_trait]
impl OnceListener for Diary {
    async fn started(&self, context: OnceContext) {
        self.once("started", &context).await;
    }

    async fn completed(&self, context: OnceContext) {
        self.once("completed", &context).await;
    }
}

/// Returns which run a context is about, as the history names it.
pub(crate) fn run_id(context: &ShardingContext) -> RunId {
    RunId {
        job: context.job_name().as_str().to_owned(),
        item: context.item().index(),
        fire: context.fire_time().as_millisecond(),
        token: context.fencing_token(),
    }
}

/// A job whose runs are written down from inside, so that what is written is what the code has seen.
pub(crate) struct Recorded {
    pub(crate) job: Arc<dyn Job>,
    pub(crate) diary: Diary,
}

#[async_trait]
impl Job for Recorded {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        let run = OpenRun::begin(self.diary.clone(), &context);
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

/// A run that has begun. One that is dropped was cancelled: of a killed process nothing is dropped.
struct OpenRun {
    diary: Diary,
    run: RunId,
    source: &'static str,
    cfg: u32,
    result: &'static str,
}

impl OpenRun {
    fn begin(diary: Diary, context: &ShardingContext) -> Self {
        let (source, cfg) = (context.source().as_str(), context.config_version().0);
        let run = Self { diary, run: run_id(context), source, cfg, result: "cancelled" };
        run.say(ExecEvent::Start, None);
        run
    }

    fn end(mut self, result: &'static str) {
        self.result = result;
    }

    fn say(&self, ev: ExecEvent, result: Option<&str>) {
        self.diary.say(Fact::Exec {
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
        self.say(ExecEvent::End, Some(self.result));
    }
}
