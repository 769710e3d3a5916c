//! The driver of one job: passes events to the coordinator and executes its commands.

mod commands;
mod ending;
mod schedule;
mod session;
mod status;
mod waits;

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    Command, Coordinator, Event, FailureReason, FireTime, InvalidConfig, JobConfig, JobEvent,
    JobName,
};
use jiff::Timestamp;
use reg_center::{Scope, SessionId};
use tracing::Span;
use trigger::Zone;

use crate::config_check::Timing;
use crate::error_handler::{ErrorDispatcher, Stop};
use crate::executor::{Executor, FinishedRun, RunningItem, record_cause};
use crate::identity::Incarnations;
use crate::inbox::{Answer, Answers, Inbox, Request, Signal};
use crate::job_record::Subscribers;
use crate::once_listener::OnceListener;
use crate::reads::ReadTurns;
use crate::runtime::GenerationGuard;
use crate::seams::Seams;
use crate::shutdown::Shutdown;
use crate::timer::{JobTimer, Since};
use crate::{JobRecord, RunReport};
pub(crate) use ending::{Ending, ShutdownLimits};
pub(crate) use session::job_span;

/// Event loop of one job in this process.
pub(crate) struct Driver {
    pub(crate) job: JobName,
    pub(crate) coordinator: Coordinator,
    pub(crate) seams: Seams,
    pub(crate) incarnations: Arc<Incarnations>,
    pub(crate) executor: Executor,
    pub(crate) once_listener: Option<Arc<dyn OnceListener>>,
    /// Lets the code of a template run only in its own generation of the job.
    pub(crate) guard: Option<Arc<GenerationGuard>>,
    pub(crate) errors: ErrorDispatcher,
    pub(crate) timer: JobTimer,
    pub(crate) read_turns: ReadTurns,
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
    /// Span of the job in the present session.
    pub(crate) span: Span,
    pub(crate) session: Option<SessionId>,
    /// End of the session's lease, by the monotonic clock; set only while the connection is
    /// suspended.
    pub(crate) lease_ends: Option<Duration>,
    pub(crate) config: Option<Arc<JobConfig>>,
    pub(crate) timing: Option<Timing>,
    /// Time from which fires count, until the first schedule is known. `None` if the schedule is
    /// known, or if no earlier fires count.
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
    /// Runs that wait for a place in this process, as they are stored.
    pub(crate) waits: waits::Waits,
    /// Scope of the next feed, if the subscription has to change.
    pub(crate) follow: Option<Scope>,
    /// A read of the job's nodes has not been answered yet.
    pub(crate) reading: bool,
    /// The event loop ends after the present signal.
    pub(crate) over: bool,
}

impl State {
    /// Returns the state before the first session.
    pub(crate) fn new(job: &JobName, fires_since: Option<Since>) -> Self {
        Self {
            span: job_span(job, ""),
            session: None,
            lease_ends: None,
            config: None,
            timing: None,
            fires_since,
            changed_at: None,
            unchecked_fires: Vec::new(),
            clock_asked: None,
            schedule_fault: None,
            shutdown: None,
            paused_by_program: false,
            stop: None,
            waits: waits::Waits::default(),
            follow: None,
            reading: false,
            over: false,
        }
    }
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
            self.handle(signal);
            self.watch_stop();
            self.meet_deadlines();
            self.note_waits();
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

    /// Handles one signal, with all commands that follow from it.
    fn handle(&mut self, signal: Signal) {
        // Only these signals change the configuration, an owner, or the permission of this instance
        // to continue runs.
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

    fn requested(&mut self, request: Request) {
        match request {
            Request::Send(event, done) => {
                if matches!(event, Event::Paused | Event::Resumed) {
                    self.state.paused_by_program = event == Event::Paused;
                }
                // A stop by an error handler ends only when an operator resumes the server in the
                // registry.
                let is_held_by_stop = event == Event::Resumed && self.is_held_here();
                if !is_held_by_stop {
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
            Answer::Read(nodes) => {
                self.state.reading = false;
                if let Some(nodes) = nodes {
                    self.feed(Event::Read(nodes));
                }
            }
        }
    }

    /// Removes a run that has ended, reports its end, and returns the coordinator's event.
    fn finished(&mut self, run: FinishedRun) -> Event {
        let running = self.executor.forget(run.number);
        if let Some(shutdown) = &mut self.state.shutdown {
            shutdown.note(&run);
        }
        let event = Event::ItemFinished {
            item: run.item,
            slot: run.slot,
            token: run.token,
            outcome: run.outcome,
            reason: run.cause.as_deref().and_then(FailureReason::new),
        };
        if let Some(running) = running {
            self.report_end(running, run);
        }
        event
    }

    /// Reports the end of a run to subscribers and error handlers.
    fn report_end(&mut self, running: RunningItem, run: FinishedRun) {
        let report = RunReport {
            job: self.job.clone(),
            instance: running.holder,
            item: run.item,
            fire: running.fire,
            past_fire: running.past_fire,
            source: running.source,
            token: run.token,
            began: running.began,
            waited: running.waited.time(),
            ended: self.seams.clock.wall(),
            outcome: run.outcome,
            cause: run.cause,
        };
        self.subscribers.publish_end(&report);
        if let Some(reason) = self.errors.run_ended(&report, run.details, &running.span) {
            self.stop_job(reason);
        }
        if let Some(cause) = &report.cause {
            record_cause(&running.span, cause);
        }
    }

    fn next_wake(&self) -> Option<Duration> {
        let wakes = [
            self.coordinator.next_wake(),
            self.state.lease_ends,
            self.state.shutdown.as_ref().and_then(Shutdown::next_step),
            self.errors.next_try(),
            self.state.waits.next_look,
        ];
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

    pub(crate) fn record(&self, event: JobEvent) {
        let instance = self.coordinator.instance().cloned();
        let at = self.seams.clock.wall();
        self.subscribers.publish(&JobRecord { job: self.job.clone(), instance, at, event });
    }
}
