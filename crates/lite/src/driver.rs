//! The driver of one job: passes events to the coordinator and executes its commands.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    Command, ConfigState, Coordinator, Event, FailureReason, FireTime, InvalidConfig, JobConfig,
    JobEvent, JobName, Layout, MissReason,
};
use jiff::{SignedDuration, Timestamp};
use reg_center::{Scope, SessionChange, SessionId};
use tokio::sync::oneshot;
use tracing::Span;
use trigger::Zone;

use crate::config_check::Timing;
use crate::error_handler::{ErrorDispatcher, Stop};
use crate::executor::{Executor, FinishedRun, RunningItem};
use crate::identity::Incarnations;
use crate::inbox::{Answer, Answers, Inbox, Request, Signal};
use crate::job_record::Subscribers;
use crate::once_listener::OnceListener;
use crate::runtime::GenerationGuard;
use crate::seams::Seams;
use crate::shutdown::{Shutdown, Step};
use crate::timer::{JobTimer, Since};
use crate::{JobRecord, JobStatus, RunReport, ShutdownReport};

/// Final status and report of a job that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) status: JobStatus,
    pub(crate) report: ShutdownReport,
}

/// Limits of the steps of a shutdown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShutdownLimits {
    /// Time between the cancellation of a run and the dropping of its future.
    pub(crate) grace: Duration,
    /// Deadline of a shutdown that an operator requested through the registry.
    pub(crate) leave_deadline: Duration,
}

/// Event loop of one job in this process.
pub(crate) struct Driver {
    pub(crate) job: JobName,
    pub(crate) coordinator: Coordinator,
    pub(crate) seams: Seams,
    pub(crate) incarnations: Arc<Incarnations>,
    pub(crate) executor: Executor,
    pub(crate) listener: Option<Arc<dyn OnceListener>>,
    /// Lets the code of a template run only in its own generation of the job.
    pub(crate) guard: Option<Arc<GenerationGuard>>,
    pub(crate) errors: ErrorDispatcher,
    pub(crate) timer: JobTimer,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) answers: Answers,
    pub(crate) limits: ShutdownLimits,
    /// Time zone of configurations that name none.
    pub(crate) default_zone: Zone,
    pub(crate) state: State,
}

/// State of a driver between two signals.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) span: Span,
    pub(crate) session: Option<SessionId>,
    /// End of the session's lease, by the monotonic clock; set only while the connection is
    /// suspended.
    pub(crate) lease_ends: Option<Duration>,
    pub(crate) config: Option<Arc<JobConfig>>,
    pub(crate) timing: Option<Timing>,
    /// Start of the period in which fires count that pass before the first schedule is known.
    /// `None` if such fires do not count, or the schedule is known.
    pub(crate) fires_since: Option<Since>,
    /// Time at which the schedule came into force; `None` if it was in force when the job was
    /// joined.
    pub(crate) changed_at: Option<Timestamp>,
    /// Fires that wait for the registry's clock, in order.
    pub(crate) unchecked_fires: Vec<FireTime>,
    /// Time of the last request for the registry's clock before a fire, by the monotonic clock.
    pub(crate) clock_asked: Option<Duration>,
    /// Error in the schedule of the configuration in force.
    pub(crate) schedule_fault: Option<InvalidConfig>,
    pub(crate) shutdown: Option<Shutdown>,
    /// The program has paused this instance.
    pub(crate) paused_by_program: bool,
    /// Set while an error handler has stopped the job in this process and no operator has resumed
    /// it.
    pub(crate) stop: Option<Stop>,
    /// Scope of the next feed, if the subscription has to change.
    pub(crate) follow: Option<Scope>,
    pub(crate) over: bool,
}

impl Driver {
    /// Runs until the job has left, was aborted, or the registry centre was closed.
    ///
    /// `self` is boxed to keep the future small.
    pub(crate) async fn run(mut self: Box<Self>, mut inbox: Inbox, ended: impl FnOnce(Ending)) {
        while !self.state.over {
            let wake = self.next_wake();
            let signal = inbox.next(&self.seams, wake).await;
            let _entered = self.state.span.clone().entered();
            self.take(signal);
            self.watch_stop();
            self.meet_deadlines();
            if let Some(scope) = self.state.follow.take() {
                inbox.feed = self.seams.registry.watch_parts(&scope);
            }
        }
        self.finish_error_handlers(&mut inbox).await;
        let _entered = self.state.span.clone().entered();
        self.state.unchecked_fires.extend(inbox.left_over_fires());
        let (ending, waiters) = self.end();
        let report = ending.report.clone();
        ended(ending);
        for waiter in waiters {
            // A caller that has stopped waiting needs no report.
            let _ = waiter.send(report.clone());
        }
    }

    /// Lets error handlers and their decisions finish in the remaining time of a shutdown; without
    /// a shutdown they get no time.
    async fn finish_error_handlers(&mut self, inbox: &mut Inbox) {
        let now = self.seams.clock.monotonic();
        let until = self.state.shutdown.as_ref().and_then(Shutdown::gives_up_at).unwrap_or(now);
        let abort = inbox.abort.clone();
        let finished = async {
            self.errors.finish(until).await;
            for reason in inbox.left_over_stops() {
                self.state.span.clone().in_scope(|| self.stop_job(reason));
            }
            self.finish_stop(until).await;
        };
        tokio::select! {
            biased;
            () = abort.cancelled() => {}
            () = finished => {}
        }
    }

    fn take(&mut self, signal: Signal) {
        // The ends of runs are frequent and do not affect other runs.
        let may_affect_runs =
            matches!(signal, Signal::Registry(_) | Signal::Session(_) | Signal::Request(_));
        match signal {
            Signal::Abort => self.state.over = true,
            Signal::Session(change) => self.session_changed(change),
            Signal::Request(request) => self.requested(*request),
            Signal::Answer(answer) => self.answered(answer),
            Signal::Ended(runs) => {
                let ends = runs.into_iter().map(|run| self.finished(run)).collect();
                self.feed_all(ends);
            }
            Signal::Registry(changes) => self.feed(Event::Registry(changes)),
            Signal::Fire(at) => self.fired(at),
            Signal::Wake => self.feed(Event::Wake),
        }
        if may_affect_runs {
            self.update_runs();
        }
    }

    /// Passes one event to the coordinator and executes all of its commands.
    pub(crate) fn feed(&mut self, event: Event) {
        self.feed_all(vec![event]);
    }

    /// Passes a batch of events to the coordinator and executes all of its commands.
    fn feed_all(&mut self, events: Vec<Event>) {
        events.iter().for_each(|event| tracing::trace!(%event, "event"));
        let mut out: Vec<Command> = Vec::new();
        self.coordinator.handle_all(self.seams.now(), events, &mut out);
        for command in out {
            tracing::trace!(%command, "command");
            self.run_command(command);
        }
    }

    /// Updates the runs in progress: the configuration in force, and whether they should wind down.
    pub(crate) fn update_runs(&self) {
        if let Some(config) = self.coordinator.view().config() {
            self.executor.update_runs(config, |item| self.coordinator.may_stay(item));
        }
    }

    fn session_changed(&mut self, change: SessionChange) {
        tracing::debug!(%change, "session changed");
        self.state.lease_ends = None;
        match change {
            SessionChange::Connected { session, .. } => self.connected(session),
            SessionChange::Suspended { session } => self.suspended(session),
            SessionChange::Lost { .. } => self.feed(Event::Lost),
            SessionChange::Closed => self.closed(),
        }
    }

    fn connected(&mut self, session: SessionId) {
        let resumed = self.state.session == Some(session);
        if resumed && self.seams.registry.clock_reading().is_none() {
            self.ask_time();
        }
        let incarnation = self.incarnations.in_session(session, &*self.seams.randomness);
        self.state.span = job_span(&self.job, incarnation.as_str());
        self.state.session = Some(session);
        self.feed(Event::Connected { session, incarnation });
    }

    /// Requests the registry's time, because the reply that carried it was lost with the
    /// connection. The registry centre stores the time of the answer.
    fn ask_time(&self) {
        let (registry, probe) =
            (Arc::clone(&self.seams.registry), Layout::new(&self.job).system_time());
        let asked = async move { registry.registry_time(&probe).await };
        drop(self.seams.detach(asked));
    }

    /// Starts the lease timer, because the lease was measured now. After its end the session must
    /// not be used.
    fn suspended(&mut self, session: SessionId) {
        let remaining = self.seams.registry.lease_remaining(session).unwrap_or(Duration::ZERO);
        self.state.lease_ends = self.seams.clock.monotonic().checked_add(remaining);
        tracing::debug!(?remaining, "lease of the session measured");
        self.feed(Event::Suspended);
    }

    fn closed(&mut self) {
        tracing::warn!("the registry centre was closed while the job was running");
        self.feed(Event::Lost);
        self.state.over = true;
    }

    fn requested(&mut self, request: Request) {
        match request {
            Request::Send(event, done) => {
                if matches!(event, Event::Paused | Event::Resumed) {
                    self.state.paused_by_program = event == Event::Paused;
                }
                // A stop by an error handler ends only when an operator resumes the server in the
                // registry.
                if event != Event::Resumed || !self.is_held_here() {
                    self.feed(event);
                }
                let _ = done.send(());
            }
            Request::Status(reply) => drop(reply.send(self.status())),
            Request::Shutdown { deadline, report } => self.begin_shutdown(deadline, Some(report)),
        }
    }

    fn answered(&mut self, answer: Answer) {
        match answer {
            Answer::Replied { ticket, reply } => self.feed(Event::Replied { ticket, reply }),
            Answer::Clock(verdict) => self.clock_checked(verdict),
            Answer::Called { stage, token } => self.feed(Event::OnceReturned { stage, token }),
            Answer::StopJob { reason } => self.stop_job(reason),
            Answer::HeldBack { revision } => self.held_back(revision),
        }
    }

    /// Reports the end of a run to subscribers, the shutdown and error handlers, and returns the
    /// coordinator's event.
    fn finished(&mut self, run: FinishedRun) -> Event {
        let known = self.executor.forget(run.number);
        if let Some(shutdown) = &mut self.state.shutdown {
            shutdown.note(&run);
        }
        let FinishedRun { item, token, outcome, cause, details, .. } = run;
        let reason = cause.as_deref().and_then(FailureReason::new);
        if let Some(RunningItem { fire, source, holder, began, span, .. }) = known {
            let (job, ended) = (self.job.clone(), self.seams.clock.wall());
            let instance = holder;
            let report = RunReport {
                job,
                instance,
                item,
                fire,
                source,
                token,
                began,
                ended,
                outcome,
                cause,
            };
            self.subscribers.publish_end(&report);
            if let Some(reason) = self.errors.run_ended(&report, details, &span) {
                self.stop_job(reason);
            }
        }
        Event::ItemFinished { item, token, outcome, reason }
    }

    pub(crate) fn begin_shutdown(
        &mut self,
        deadline: Duration,
        waiter: Option<oneshot::Sender<ShutdownReport>>,
    ) {
        let (now, grace) = (self.seams.clock.monotonic(), self.limits.grace);
        let running = self.executor.running();
        let shutdown = self
            .state
            .shutdown
            .get_or_insert_with(|| Shutdown::begin(now, deadline, grace, running));
        shutdown.bring_forward(now, deadline, grace);
        if let Some(waiter) = waiter {
            shutdown.wait(waiter);
        }
        self.feed(Event::Drain);
    }

    fn next_wake(&self) -> Option<Duration> {
        let step = self.state.shutdown.as_ref().and_then(Shutdown::next_step);
        let choice = self.errors.next_try();
        let wakes = [self.coordinator.next_wake(), self.state.lease_ends, step, choice];
        wakes.into_iter().flatten().min()
    }

    /// Checks the deadlines after every signal, so that a burst of signals delays none of them.
    fn meet_deadlines(&mut self) {
        let now = self.seams.clock.monotonic();
        if self.state.lease_ends.is_some_and(|ends| ends <= now) {
            self.state.lease_ends = None;
            self.feed(Event::LeaseExpired);
        }
        if let Some(config) = &self.state.config {
            self.errors.try_again(config, now);
        }
        while let Some(step) = self.state.shutdown.as_mut().and_then(|s| s.due_step(now)) {
            tracing::warn!(?step, "shutdown deadline passed");
            self.take_step(step);
        }
    }

    pub(crate) fn take_step(&mut self, step: Step) {
        match step {
            Step::CancelRuns => self.executor.cancel_all(),
            Step::DropRuns => self.executor.abandon_all(),
            Step::GiveUp => self.state.over = true,
        }
    }

    pub(crate) fn record(&self, event: JobEvent) {
        let instance = self.coordinator.instance().cloned();
        let at = self.seams.clock.wall();
        self.subscribers.publish(&JobRecord { job: self.job.clone(), instance, at, event });
    }

    fn status(&self) -> JobStatus {
        let status = self.coordinator.status();
        let now = self.seams.clock.wall();
        JobStatus {
            job: self.job.clone(),
            phase: status.phase,
            instance: status.instance,
            registered: status.registered,
            available: status.available,
            paused: status.paused,
            leader: status.leader,
            leads: status.leads,
            owned: status.owned,
            running: status.running,
            waiting_for: status.waiting_for,
            waiting_since: status.waiting_since.map(|since| self.wall_at(since)),
            clock_differs_by: status.clock_differs_by.map(SignedDuration::from_millis),
            next_fire: self.next_fire_after(now),
            time_zone: self.state.timing.as_ref().map(|timing| timing.zone.name().to_owned()),
            config: self.state.config.clone(),
            config_fault: self.config_fault(),
            stopped: self.state.stop.as_ref().map(|stop| stop.reason.clone()),
        }
    }

    pub(crate) fn next_fire_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.state.timing.as_ref().and_then(|timing| timing.schedule.next_after(after))
    }

    /// Converts a time of the monotonic clock to the wall clock.
    fn wall_at(&self, mono: Duration) -> Timestamp {
        let ago = self.seams.clock.monotonic().saturating_sub(mono);
        self.seams.clock.wall().saturating_sub(ago).unwrap_or(Timestamp::MIN)
    }

    fn config_fault(&self) -> Option<String> {
        match self.coordinator.view().config_state() {
            ConfigState::Invalid { reason, .. } => Some(reason.clone()),
            ConfigState::Absent | ConfigState::Valid(_) => {
                let fault = self.state.schedule_fault.as_ref().or(self.errors.fault());
                fault.map(ToString::to_string)
            }
        }
    }

    /// Stops the remaining runs, closes the event record, and returns the final state with the
    /// callers to notify.
    fn end(mut self) -> (Ending, Vec<oneshot::Sender<ShutdownReport>>) {
        self.executor.abandon_all();
        self.miss_unchecked_fires(MissReason::Leaving);
        let status = self.status();
        let me = self.coordinator.instance();
        let gone = me.is_none_or(|me| !self.coordinator.view().is_registered(me));
        // An operator may have removed the instance before the ends of its runs were recorded.
        let deregistered = gone && status.running.is_empty();
        let now = self.seams.clock.monotonic();
        let shutdown = self.state.shutdown.take().unwrap_or_else(|| {
            Shutdown::begin(now, Duration::ZERO, Duration::ZERO, self.executor.running())
        });
        let (report, waiters) = shutdown.end(now, self.job.clone(), deregistered);
        self.subscribers.close();
        tracing::info!(deregistered, "job ended");
        (Ending { status, report }, waiters)
    }
}

/// Returns the span of a job in one session of this process.
pub(crate) fn job_span(job: &JobName, instance: &str) -> Span {
    // A root span, because it is created inside the span of the former session.
    tracing::info_span!(parent: None, "job", %job, instance)
}
