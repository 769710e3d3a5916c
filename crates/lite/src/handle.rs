//! Handles to scheduled jobs.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use coordination::{Event, JobEvent, JobName, RequestParameter};
use tokio::sync::{mpsc, oneshot};

use crate::driver::Ending;
use crate::inbox::Request;
use crate::job_record::Subscribers;
use crate::seams::{Elapsed, Seams, until};
use crate::{ConfigDifference, Error, JobEvents, JobStatus, Result, ShutdownReport};

/// A job of a scheduler in this process. Clones refer to the same job, and dropping all of them
/// does not end it.
#[derive(Clone)]
pub struct JobHandle {
    shared: Arc<Shared>,
    requests: mpsc::UnboundedSender<Box<Request>>,
}

/// State that outlives the driver.
pub(crate) struct Shared {
    pub(crate) job: JobName,
    pub(crate) differences: Vec<ConfigDifference>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) seams: Seams,
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

    pub(crate) fn seams(&self) -> &Seams {
        &self.shared.seams
    }

    /// Returns the fields in which the local configuration differed from the stored one at
    /// registration. The stored configuration is in force.
    #[must_use]
    pub fn config_differences(&self) -> &[ConfigDifference] {
        &self.shared.differences
    }

    /// Returns true if the job has ended in this process: it has left, was aborted, or the registry
    /// centre was closed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.shared.ending.get().is_some()
    }

    /// Waits until the job has ended in this process.
    pub(crate) async fn ended(&self) {
        // The driver drops its receiver of requests after it has stored how it ended.
        self.requests.closed().await;
    }

    /// Starts no more runs in this process until [`resume`](Self::resume). Runs in progress go on,
    /// and fires are recorded as missed. The items stay assigned to this instance; a shutdown hands
    /// them over.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job has ended.
    pub async fn pause(&self) -> Result<()> {
        self.send(Event::Paused).await
    }

    /// Starts runs again after [`pause`](Self::pause). A server that an operator or an [error
    /// handler](crate::StopOnErrors) has paused in the registry stays paused. So does a job whose
    /// pause is not yet written.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job has ended.
    pub async fn resume(&self) -> Result<()> {
        self.send(Event::Resumed).await
    }

    /// Requests a run of all items now, on all instances. The schedule is not affected.
    ///
    /// The request waits in the registry. An item that runs already, or has an earlier request,
    /// runs for this one afterwards. A disabled item does not run for it. A request that the
    /// registry has stored survives the loss of this process.
    ///
    /// The method returns as soon as the job has accepted the request. The request is written once
    /// this instance is registered. If the instance leaves before that, or loses its session during
    /// the write, [`JobEvent::RequestDropped`] reports it.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job has ended.
    pub async fn trigger(&self) -> Result<()> {
        self.send(Event::TriggerRequested { parameter: None }).await
    }

    /// Requests a run now, as [`trigger`](Self::trigger) does, with a parameter:
    /// [`ShardingContext::request_parameter`](crate::ShardingContext::request_parameter).
    ///
    /// Requests with different parameters are not merged: an item runs once for each, in the order
    /// of the requests. A takeover of such a run gets the same parameter.
    ///
    /// Items do not run if the parameter cannot reach them. [`JobEvent::RequestDropped`] reports
    /// that the job is not monitored, that a Java instance leads, or that the parameters of all
    /// items exceed [`MAX_REQUEST_BYTES`](crate::MAX_REQUEST_BYTES). [`JobEvent::Missed`] reports
    /// an item of a Java instance.
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
    /// let (sender, mut months) = tokio::sync::mpsc::unbounded_channel();
    /// let job = job_fn(move |context| {
    ///     let sender = sender.clone();
    ///     async move { Ok(sender.send(context.request_parameter().map(str::to_owned))?) }
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
        self.send(Event::TriggerRequested { parameter: Some(parameter) }).await
    }

    /// Returns the status of the job in this process, or its last status if it has ended.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the runtime has dropped the job before its end.
    pub async fn status(&self) -> Result<JobStatus> {
        let answer = self.ask(Request::Status).await;
        answer.or_else(|error| self.ending(|ending| ending.status.clone()).ok_or(error))
    }

    /// Subscribes to the events of the job from now on.
    #[must_use]
    pub fn events(&self) -> JobEvents {
        self.shared.subscribers.subscribe()
    }

    /// Waits until this instance is registered for the job, on an enabled or a disabled server.
    ///
    /// The limit is that of the registration, 30 s unless
    /// [`SchedulerBuilder::connect_deadline`](crate::SchedulerBuilder::connect_deadline) sets
    /// another one.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the job ends before. [`Error::Deadline`] at the limit, with the
    /// reason; the job goes on, and the method can be called again.
    ///
    /// # Cancel safety
    /// The future can be dropped, and the method called again.
    pub async fn joined(&self) -> Result<()> {
        let (clock, waited) = (&*self.shared.seams.clock, self.shared.join_deadline);
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

    /// Leaves in order: starts nothing more, lets runs finish, and hands the items over.
    ///
    /// ```text
    /// |<----------- deadline ----------->|<-- grace -->|<-- grace -->|
    /// start nothing more, runs go on     tokens fire   futures       give up: the registry does
    ///                                                  are dropped   not answer
    /// ```
    /// The method returns as soon as the last run has ended and the registry has recorded it, at
    /// the latest after `deadline` and twice the grace (1 s, see
    /// [`Registration::shutdown_grace`](crate::Registration::shutdown_grace)). If the job has
    /// failover, another instance takes over the runs that were cut short. Finished runs are not
    /// repeated. After the end of the job, the method returns its report.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the runtime has dropped the job before its end.
    ///
    /// # Cancel safety
    /// The shutdown goes on if the future is dropped.
    pub async fn shutdown(&self, deadline: Duration) -> Result<ShutdownReport> {
        let answer = self.ask(|report| Request::Shutdown { deadline, report }).await;
        answer.or_else(|error| self.ending(|ending| ending.report.clone()).ok_or(error))
    }

    async fn send(&self, event: Event) -> Result<()> {
        self.ask(|done| Request::Send(event, done)).await
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
