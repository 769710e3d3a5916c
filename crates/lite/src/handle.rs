//! Talking to a job that runs.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::{Event, JobEvent, JobName, RequestParameter};
use tokio::sync::{mpsc, oneshot};

use crate::driver::Ending;
use crate::inbox::Request;
use crate::job_record::Subscribers;
use crate::seams::{Clock, Elapsed, until};
use crate::{ConfigDifference, Error, JobEvents, JobStatus, Result, ShutdownReport};

/// A job of a scheduler in this process. Clones are handles to the same one; dropping them all does not end it.
#[derive(Clone)]
pub struct JobHandle {
    shared: Arc<Shared>,
    requests: mpsc::UnboundedSender<Box<Request>>,
}

/// What outlives the driver.
pub(crate) struct Shared {
    pub(crate) job: JobName,
    pub(crate) differences: Vec<ConfigDifference>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) join_deadline: Duration,
    pub(crate) ending: OnceLock<Ending>,
}

impl JobHandle {
    pub(crate) fn new(shared: Arc<Shared>, requests: mpsc::UnboundedSender<Box<Request>>) -> Self {
        Self { shared, requests }
    }

    /// Returns the job's name.
    #[must_use]
    pub fn name(&self) -> &JobName {
        &self.shared.job
    }

    /// Returns the fields in which the local configuration differed from the stored one when the job was registered.
    /// The stored one is in force.
    #[must_use]
    pub fn config_differences(&self) -> &[ConfigDifference] {
        &self.shared.differences
    }

    /// Returns true if the job has ended here: it has left, was aborted, or the registry centre was closed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.ending.get().is_some()
    }

    /// Waits until the job has ended here.
    pub(crate) async fn ended(&self) {
        // The driver drops what it hears requests by when it has said how it ended.
        self.requests.closed().await;
    }

    /// Starts no more runs in this process until [`resume`](Self::resume); what runs goes on. Fires that pass are
    /// recorded as missed. Items stay where they are; to hand them over, shut the job down.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job has ended.
    pub async fn pause(&self) -> Result<()> {
        self.tell(Event::Paused).await
    }

    /// Starts runs again. A server that is paused in the registry, by an operator or by an [error
    /// handler](crate::StopOnErrors), stays so, and so does a job whose pause is still on its way there.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job has ended.
    pub async fn resume(&self) -> Result<()> {
        self.tell(Event::Resumed).await
    }

    /// Asks for a run now, of all items, wherever they are. The schedule is not affected. The request waits in the
    /// registry: an item that runs already, or still has an earlier request, runs for this one afterwards; one that is
    /// disabled does not run for it. Requests survive the loss of this process once the registry has them.
    ///
    /// Returns as soon as the job has taken note, before the registry has the request: that waits until this instance
    /// is registered. If the instance leaves first, or loses its session while the request is on its way,
    /// [`JobEvent::RequestDropped`] says so.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job has ended.
    pub async fn trigger(&self) -> Result<()> {
        self.tell(Event::TriggerRequested { parameter: None }).await
    }

    /// Asks for a run now, as [`trigger`](Self::trigger) does, and tells its runs something:
    /// [`ShardingContext::request_parameter`](crate::ShardingContext::request_parameter).
    ///
    /// Requests with different parameters stay different ones: an item runs once for each, in the order in which they were
    /// made. Whoever takes such a run over is told the same. Where nobody could be told the items do not run:
    /// [`JobEvent::RequestDropped`] says so if the job is not monitored, a Java instance leads, or all items together would be told
    /// more than [`MAX_TOLD_BYTES`](crate::MAX_TOLD_BYTES), and
    /// [`JobEvent::Missed`] if a Java instance has an item.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job has ended.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use lite::{JobBuilder, RequestParameter, Scheduler, job_fn};
    /// use reg_center::MemoryRegistry;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let registry = MemoryRegistry::new();
    /// let scheduler = Scheduler::builder(Arc::new(registry.connect())).build()?;
    /// let (told, mut months) = tokio::sync::mpsc::unbounded_channel();
    /// let job = job_fn(move |context| {
    ///     let told = told.clone();
    ///     async move { Ok(told.send(context.request_parameter().map(str::to_owned))?) }
    /// });
    /// let handle = scheduler.schedule(JobBuilder::new("report", 1).build()?, job).await?;
    /// handle.trigger_with(RequestParameter::new("2024-02")?).await?;
    /// assert_eq!(months.recv().await.flatten().as_deref(), Some("2024-02"));
    /// scheduler.shutdown(Duration::from_secs(5)).await;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn trigger_with(&self, parameter: RequestParameter) -> Result<()> {
        self.tell(Event::TriggerRequested { parameter: Some(parameter) }).await
    }

    /// Returns where the job stands here; after its end, where it stood then.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the runtime has taken the job down without an end.
    pub async fn status(&self) -> Result<JobStatus> {
        let answer = self.ask(Request::Status).await;
        answer.or_else(|error| self.ending(|ending| ending.status.clone()).ok_or(error))
    }

    /// Subscribes to what happens to the job from now on.
    #[must_use]
    pub fn events(&self) -> JobEvents {
        self.shared.subscribers.subscribe()
    }

    /// Waits until this instance is registered for the job, whether its server is enabled or not.
    ///
    /// Waits as long as the registration of a job does, 30 s unless
    /// [`SchedulerBuilder::connect_deadline`](crate::SchedulerBuilder::connect_deadline) says otherwise.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job ends before. [`Error::Deadline`] if it takes too long, with what stands in the
    /// way; the job goes on, and this can be called again.
    ///
    /// # Cancel safety
    /// The future can be dropped and called for again.
    pub async fn joined(&self) -> Result<()> {
        let (clock, waited) = (&*self.shared.clock, self.shared.join_deadline);
        let deadline = clock.monotonic().saturating_add(waited);
        match until(clock, deadline, self.registered()).await {
            Ok(registered) => registered,
            Err(Elapsed) => {
                let waiting_for = self.status().await?.waiting_for.unwrap_or("the registry");
                let what =
                    format!("this instance to be registered; the job waits for {waiting_for}");
                Err(Error::Deadline { job: self.shared.job.clone(), waited, what })
            }
        }
    }

    async fn registered(&self) -> Result<()> {
        let mut events = self.events();
        if self.status().await?.registered {
            return Ok(());
        }
        while let Some(record) = events.next().await {
            if matches!(record.event, JobEvent::Joined { .. }) {
                return Ok(());
            }
        }
        Err(self.stopped())
    }

    /// Leaves in order: starts nothing more, lets what runs finish, and hands the items over.
    ///
    /// ```text
    /// |<----------- deadline ----------->|<-- grace -->|<-- grace -->|
    /// start nothing more, runs go on     tokens fire   futures       given up: the registry does
    ///                                                  are dropped   not answer
    /// ```
    /// Returns as soon as the last run has ended and the registry knows, at the latest after `deadline` and twice the
    /// grace (1 s, see [`Registration::shutdown_grace`](crate::Registration::shutdown_grace)). Runs that were cut
    /// short are run again elsewhere if the job has failover; runs that finished are not. After the end of the job,
    /// returns how it ended.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the runtime has taken the job down without an end.
    ///
    /// # Cancel safety
    /// The shutdown goes on if the future is dropped.
    pub async fn shutdown(&self, deadline: Duration) -> Result<ShutdownReport> {
        let answer = self.ask(|report| Request::Shutdown { deadline, report }).await;
        answer.or_else(|error| self.ending(|ending| ending.report.clone()).ok_or(error))
    }

    async fn tell(&self, event: Event) -> Result<()> {
        self.ask(|done| Request::Tell(event, done)).await
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T> {
        let (sender, answer) = oneshot::channel();
        self.requests.send(Box::new(request(sender))).map_err(|_| self.stopped())?;
        answer.await.map_err(|_| self.stopped())
    }

    fn ending<T>(&self, part: impl FnOnce(&Ending) -> T) -> Option<T> {
        self.shared.ending.get().map(part)
    }

    fn stopped(&self) -> Error {
        Error::Stopped { job: self.shared.job.clone() }
    }
}

impl fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.has_ended();
        f.debug_struct("JobHandle").field("job", self.name()).field("ended", &ended).finish()
    }
}
