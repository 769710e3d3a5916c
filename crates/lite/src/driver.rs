//! The driver of one job: moves events into the coordinator and carries out its commands.

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
use crate::error_handler::{ErrorDesk, Stop};
use crate::executor::{Executor, FinishedRun, RunningItem};
use crate::identity::Lives;
use crate::inbox::{Answer, Answers, Inbox, Request, Signal};
use crate::job_record::Subscribers;
use crate::once_listener::OnceListener;
use crate::runtime::LifeGuard;
use crate::seams::Seams;
use crate::shutdown::{Shutdown, Step};
use crate::timer::{JobTimer, Since};
use crate::{JobRecord, JobStatus, RunReport, ShutdownReport};

/// The last that is known of a job that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) status: JobStatus,
    pub(crate) report: ShutdownReport,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Between the cancellation of a run and its being dropped.
    pub(crate) grace: Duration,
    /// The deadline of a shutdown that an operator asked for through the registry.
    pub(crate) leave_deadline: Duration,
}

/// One job in this process.
pub(crate) struct Driver {
    pub(crate) job: JobName,
    pub(crate) coordinator: Coordinator,
    pub(crate) seams: Seams,
    pub(crate) lives: Arc<Lives>,
    pub(crate) executor: Executor,
    pub(crate) listener: Option<Arc<dyn OnceListener>>,
    /// Lets what came with the code of a template run in its own life of the job only.
    pub(crate) guard: Option<Arc<LifeGuard>>,
    pub(crate) errors: ErrorDesk,
    pub(crate) timer: JobTimer,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) answers: Answers,
    pub(crate) patience: Patience,
    /// The zone of configurations that name none.
    pub(crate) default_zone: Zone,
    pub(crate) state: State,
}

/// What a driver remembers between two signals.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) span: Span,
    pub(crate) session: Option<SessionId>,
    /// When the session can no longer be relied upon; only while the connection is gone.
    pub(crate) lease_ends: Option<Duration>,
    pub(crate) config: Option<Arc<JobConfig>>,
    pub(crate) timing: Option<Timing>,
    /// From when on fires count that pass before the first schedule is known; `None` if they do not, or no longer.
    pub(crate) fires_since: Option<Since>,
    /// When the schedule in force has come into force; `None` if it was when the job was joined.
    pub(crate) changed_at: Option<Timestamp>,
    /// Fires that wait for the registry's clock, in order.
    pub(crate) unchecked_fires: Vec<FireTime>,
    /// When the registry was last asked for its time before a fire, by the monotonic clock.
    pub(crate) clock_asked: Option<Duration>,
    /// What is wrong with the schedule of the configuration in force.
    pub(crate) schedule_fault: Option<InvalidConfig>,
    pub(crate) shutdown: Option<Shutdown>,
    /// The program itself holds runs back.
    pub(crate) paused_by_program: bool,
    /// An error handler has stopped the job here, and nobody has resumed it.
    pub(crate) stop: Option<Stop>,
    /// What the feed shall be about from now on.
    pub(crate) follow: Option<Scope>,
    pub(crate) over: bool,
}

impl Driver {
    /// Runs until the job has left, was aborted, or the registry centre was closed. Boxed, because a future has room for its arguments
    /// twice.
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
            // Who has stopped waiting does not want to know.
            let _ = waiter.send(report.clone());
        }
    }

    /// Error handlers have what a shutdown has left of its time, and otherwise none: then nobody waits. The same holds for what they
    /// have decided.
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
        // The ends of runs are many, and say nothing to the others.
        let looks_ahead =
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
        if looks_ahead {
            self.look_ahead();
        }
    }

    /// The heart of it: one event in, all commands out.
    pub(crate) fn feed(&mut self, event: Event) {
        self.feed_all(vec![event]);
    }

    /// The same for events that have come together.
    fn feed_all(&mut self, events: Vec<Event>) {
        events.iter().for_each(|event| tracing::trace!(%event, "event"));
        let mut out: Vec<Command> = Vec::new();
        self.coordinator.handle_all(self.seams.now(), events, &mut out);
        for command in out {
            tracing::trace!(%command, "command");
            self.run_command(command);
        }
    }

    /// Tells the runs in progress whether they may go on for long.
    pub(crate) fn look_ahead(&self) {
        if let Some(config) = self.coordinator.view().config() {
            self.executor.look_ahead(config, |item| self.coordinator.may_stay(item));
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
        let incarnation = self.lives.in_session(session, &*self.seams.randomness);
        self.state.span = job_span(&self.job, incarnation.as_str());
        self.state.session = Some(session);
        self.feed(Event::Connected { session, incarnation });
    }

    /// The reply to the registration was lost with the connection, and the registry's time with it. The centre notes the time
    /// of the answer.
    fn ask_time(&self) {
        let (registry, probe) =
            (Arc::clone(&self.seams.registry), Layout::new(&self.job).system_time());
        let asked = async move { registry.registry_time(&probe).await };
        drop(self.seams.detach(asked));
    }

    /// Counts from now, because the lease was measured now; past its end nothing may go on in this session.
    fn suspended(&mut self, session: SessionId) {
        let remaining = self.seams.registry.lease_remaining(session).unwrap_or(Duration::ZERO);
        self.state.lease_ends = self.seams.clock.monotonic().checked_add(remaining);
        tracing::debug!(?remaining, "lease of the session measured");
        self.feed(Event::Suspended);
    }

    fn closed(&mut self) {
        tracing::warn!("the registry centre was closed under the job");
        self.feed(Event::Lost);
        self.state.over = true;
    }

    fn requested(&mut self, request: Request) {
        match request {
            Request::Tell(event, done) => {
                if matches!(event, Event::Paused | Event::Resumed) {
                    self.state.paused_by_program = event == Event::Paused;
                }
                // What an error handler has stopped waits for the registry, and for whoever resumes the server there.
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

    /// Tells everybody else of the end of a run, and returns what the coordinator is told.
    fn finished(&mut self, run: FinishedRun) -> Event {
        let known = self.executor.forget(run.number);
        if let Some(shutdown) = &mut self.state.shutdown {
            shutdown.note(&run);
        }
        let FinishedRun { item, token, outcome, cause, more, .. } = run;
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
            self.subscribers.tell_end(&report);
            if let Some(reason) = self.errors.run_ended(&report, more, &span) {
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
        let (now, grace) = (self.seams.clock.monotonic(), self.patience.grace);
        let running = self.executor.running();
        let shutdown = self
            .state
            .shutdown
            .get_or_insert_with(|| Shutdown::begin(now, deadline, grace, running));
        shutdown.hurry(now, deadline, grace);
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

    /// Looks at the clock after every signal, so that no flood of others delays a deadline.
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
        self.subscribers.tell(&JobRecord { job: self.job.clone(), instance, at, event });
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

    /// Returns what the wall clock showed, or would have, at a time on the monotonic one.
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

    /// Stops what is left, closes the record and says how it ended, and who is to be told.
    fn end(mut self) -> (Ending, Vec<oneshot::Sender<ShutdownReport>>) {
        self.executor.abandon_all();
        self.miss_unchecked_fires(MissReason::Leaving);
        let status = self.status();
        let me = self.coordinator.instance();
        let gone = me.is_none_or(|me| !self.coordinator.view().is_registered(me));
        // An operator may have taken the instance out before the ends of its runs were recorded.
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

/// Returns the span that everything about a job happens in, in one life.
pub(crate) fn job_span(job: &JobName, instance: &str) -> Span {
    // A root: it is made inside the span of the life before.
    tracing::info_span!(parent: None, "job", %job, instance)
}
