//! Start of a job whose configuration is settled: its coordinator, its driver and its handle.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use coordination::{Coordinator, Dialect, Identity};

use super::{CodeSource, Registration};
use crate::driver::{Driver, State};
use crate::error_handler::ErrorDispatcher;
use crate::executor::Executor;
use crate::handle::Shared;
use crate::inbox::{Inbox, Senders};
use crate::job_listener::Listeners;
use crate::job_record::Subscribers;
use crate::log::LogSubscriber;
use crate::run::{RunLimits, RunRules};
use crate::runtime::GenerationGuard;
use crate::timer::Since;
use crate::{ConfigDifference, EventSubscriber, JobHandle, config_check};

/// Results of the checks and of the settlement, which the start needs.
pub(super) struct Ready {
    pub(super) coordinator: Coordinator,
    pub(super) max_concurrency: Option<NonZeroUsize>,
    /// Time from which fires count before the first schedule is known.
    pub(super) fires_since: Option<Since>,
    pub(super) differences: Vec<ConfigDifference>,
}

impl Registration {
    /// Returns the coordinator of the job, whose nodes are in this dialect.
    pub(super) fn coordinator(&self, dialect: Dialect) -> Coordinator {
        let scheduler = &self.scheduler;
        let job = self.config.job_name.clone();
        let identity = Identity { job, server: scheduler.incarnations.server().clone() };
        let mut coordinator = Coordinator::new(identity, scheduler.strategies.clone())
            .speaking(dialect)
            .following(scheduler.following)
            .limited_to(scheduler.seams.registry.limits())
            .checked_by(config_check::check_timing)
            .scheduled_by(config_check::lookup(scheduler.default_time_zone.clone()));
        coordinator = coordinator.placed_by(scheduler.attributes.clone());
        if let Some(name) = &scheduler.stable_name {
            coordinator = coordinator.named(name);
        }
        if self.once_listener.is_some() {
            coordinator = coordinator.calling_back();
        }
        coordinator
    }

    /// Starts the driver, and returns the job's handle.
    pub(super) fn start(self, ready: Ready) -> JobHandle {
        let Self { scheduler, config, limits, .. } = self;
        let (job, seams) = (config.job_name, scheduler.seams.clone());
        let (inbox, senders) = Inbox::open(&job, &seams, scheduler.abort.child_token());
        let Senders { requests, answers, ends, fires } = senders;
        let guard = match self.code_source {
            CodeSource::Code => None,
            CodeSource::Template(generation) => Some(Arc::new(GenerationGuard::new(generation))),
        };
        let subscribers = with_log(self.subscribers);
        let shared = Arc::new(Shared {
            job: job.clone(),
            differences: ready.differences,
            subscribers: Arc::clone(&subscribers),
            seams: seams.clone(),
            join_deadline: scheduler.connect_deadline,
            ending: OnceLock::new(),
        });
        let rules = RunRules {
            timeout: self.timeout,
            grace: limits.grace,
            retry: self.retry,
            output_bytes: self.output_bytes,
        };
        let listeners =
            Listeners::new(self.listeners, self.listener_timeout, Arc::clone(&seams.clock));
        let limits_of_runs = RunLimits::new(ready.max_concurrency, scheduler.places.clone());
        let kept = Arc::clone(&subscribers);
        let executor =
            Executor::new(self.job, &seams, kept, ends, limits_of_runs, rules, listeners);
        let driver = Box::new(Driver {
            coordinator: ready.coordinator,
            once_listener: self.once_listener,
            incarnations: Arc::clone(&scheduler.incarnations),
            executor: executor.guarded_by(guard.clone()),
            guard,
            errors: ErrorDispatcher::new(self.errors, &seams, answers.clone(), inbox.abort.clone()),
            timer: scheduler.timer().place(fires),
            read_turns: scheduler.read_turns.clone(),
            subscribers,
            answers,
            limits,
            default_zone: scheduler.default_time_zone.clone(),
            state: State::new(&job, ready.fires_since),
            job,
            seams: seams.clone(),
        });
        let shared_with_driver = Arc::clone(&shared);
        let ended = move |ending| drop(shared_with_driver.ending.set(ending));
        seams.spawn.spawn(Box::pin(driver.run(inbox, ended)));
        JobHandle::new(shared, requests)
    }
}

/// Returns the subscribers of a job, the log first.
fn with_log(subscribers: Vec<Arc<dyn EventSubscriber>>) -> Arc<Subscribers> {
    let log: Arc<dyn EventSubscriber> = Arc::new(LogSubscriber);
    Arc::new(Subscribers::new(std::iter::once(log).chain(subscribers).collect()))
}
