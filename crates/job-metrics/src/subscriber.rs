//! From records to metrics.

use coordination::{FencingToken, JobEvent, MissReason, Outcome, RunSource};
use jiff::Timestamp;
use lite::{EventSubscriber, JobRecord, RunReport};
use metrics::{counter, gauge, histogram};

use crate::table::{self, describe};

/// Tells a recorder of the `metrics` facade what happens to jobs.
///
/// It uses the recorder that is installed when something happens; without one nothing is done. It never blocks.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use job_metrics::MetricsSubscriber;
/// use lite::Scheduler;
///
/// let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
/// let scheduler = Scheduler::builder(registry).event_subscriber(MetricsSubscriber::new()).build()?;
/// # Ok::<(), lite::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MetricsSubscriber {
    _private: (),
}

impl MetricsSubscriber {
    /// Makes a subscriber, and tells the recorder what the metrics mean. Install the recorder before.
    #[expect(clippy::new_without_default, reason = "it does something outside of itself")]
    #[must_use]
    pub fn new() -> Self {
        describe();
        Self { _private: () }
    }
}

impl EventSubscriber for MetricsSubscriber {
    fn on_event(&self, record: &JobRecord) {
        let job = record.job.to_string();
        match &record.event {
            JobEvent::Joined { .. } => gauge!(table::JOINED, "job" => job).set(1.0),
            JobEvent::Left { .. } => gauge!(table::JOINED, "job" => job).set(0.0),
            JobEvent::BecameLeader { .. } => gauge!(table::LEADER, "job" => job).set(1.0),
            JobEvent::LostLeadership => gauge!(table::LEADER, "job" => job).set(0.0),
            JobEvent::Resharded { moved, .. } => {
                counter!(table::MOVED, "job" => job.clone()).increment(*moved as u64);
                counter!(table::RESHARDINGS, "job" => job).increment(1);
            }
            // Settled and Fenced come after the report of the run, which counts it.
            JobEvent::Claimed { .. } => gauge!(table::RUNNING, "job" => job).increment(1.0),
            JobEvent::Settled { .. } => {}
            JobEvent::Fenced { .. } => counter!(table::FENCED, "job" => job).increment(1),
            JobEvent::MisfireNoted { .. } => counter!(table::MISFIRES, "job" => job).increment(1),
            JobEvent::Missed { reason, .. } => {
                counter!(table::MISSED, "job" => job, "reason" => word(*reason)).increment(1);
            }
            JobEvent::Gap { .. } => counter!(table::GAPS, "job" => job).increment(1),
            JobEvent::Orphaned { failover, .. } => {
                let failover = if *failover { "true" } else { "false" };
                counter!(table::ORPHANS, "job" => job, "failover" => failover).increment(1);
            }
            JobEvent::StrategyFailed { .. }
            | JobEvent::ConfigRejected { .. }
            | JobEvent::Anomaly { .. }
            | JobEvent::RequestDropped { .. }
            | JobEvent::CommitRefused { .. }
            | JobEvent::ClockDiffers { .. }
            | JobEvent::Stopped { .. } => {
                let kind = record.event.name();
                counter!(table::FAULTS, "job" => job, "kind" => kind).increment(1);
            }
            JobEvent::Suspended
            | JobEvent::Reconnected { .. }
            | JobEvent::SessionLost { .. }
            | JobEvent::SessionStarted { .. }
            | JobEvent::ClockAgrees => {}
            _ => {}
        }
    }

    fn on_run_ended(&self, report: &RunReport) {
        let job = report.job.to_string();
        let (source, outcome) = (source(report.source), report.outcome.as_str());
        counter!(table::RUNS, "job" => job.clone(), "source" => source, "outcome" => outcome)
            .increment(1);
        let took = seconds_between(report.began, report.ended);
        histogram!(table::RUN_SECONDS, "job" => job.clone()).record(took);
        if report.source == RunSource::Normal
            && let Ok(due) = Timestamp::from_millisecond(report.fire.0)
        {
            let late = seconds_between(due, report.began);
            histogram!(table::DELAY, "job" => job.clone()).record(late);
        }
        if report.outcome == Outcome::Succeeded {
            let at = report.ended.as_duration().as_secs_f64();
            gauge!(table::LAST_SUCCESS, "job" => job.clone()).set(at);
        }
        // No event tells that a run has begun which is not monitored.
        if report.token != FencingToken(0) {
            gauge!(table::RUNNING, "job" => job).decrement(1.0);
        }
    }
}

/// A wall clock can go back; nothing takes less than no time.
fn seconds_between(begin: Timestamp, end: Timestamp) -> f64 {
    end.duration_since(begin).as_secs_f64().max(0.0)
}

fn source(source: RunSource) -> &'static str {
    match source {
        RunSource::Normal => "normal",
        RunSource::Misfire => "misfire",
        RunSource::Failover => "failover",
        RunSource::Manual => "manual",
    }
}

fn word(reason: MissReason) -> &'static str {
    match reason {
        MissReason::Superseded => "superseded",
        MissReason::RegistryUnreachable(_) => "registry_unreachable",
        MissReason::StillRunning => "still_running",
        MissReason::ItemDisabled => "item_disabled",
        MissReason::ItemRetired => "item_retired",
        MissReason::ParameterNotCarried => "parameter_not_carried",
        MissReason::Paused => "paused",
        MissReason::ServerDisabled => "server_disabled",
        MissReason::ClockDiffers => "clock_differs",
        MissReason::Leaving => "leaving",
        _ => "other",
    }
}
