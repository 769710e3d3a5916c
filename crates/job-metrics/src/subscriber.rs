//! Converts job records and run reports to metrics.

use coordination::{FencingToken, JobEvent, JobName, MissReason, Outcome, RunSource};
use jiff::Timestamp;
use lite::{EventSubscriber, JobRecord, RunReport};
use metrics::{counter, gauge, histogram};

use crate::table::{self, describe};

/// Subscriber that reports job events and runs to the recorder of the `metrics` facade.
///
/// It uses the recorder that is installed when an event arrives; without a recorder it does
/// nothing. It never blocks.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use job_metrics::MetricsSubscriber;
/// use lite::Scheduler;
///
/// let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
/// let metrics = MetricsSubscriber::new();
/// let scheduler = Scheduler::builder(registry).event_subscriber(metrics).build()?;
/// # Ok::<(), lite::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MetricsSubscriber {
    _private: (),
}

impl MetricsSubscriber {
    /// Creates a subscriber, and describes the metrics to the recorder. Install the recorder first.
    #[expect(clippy::new_without_default, reason = "it has a side effect on the recorder")]
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
            // The report of the run comes before Settled or Fenced, and counts the run.
            JobEvent::Claimed { .. } => gauge!(table::RUNNING, "job" => job).increment(1.0),
            JobEvent::Settled { .. } | JobEvent::Cancelled { .. } => {}
            JobEvent::Fenced { .. } => counter!(table::FENCED, "job" => job).increment(1),
            JobEvent::MisfireNoted { .. } => counter!(table::MISFIRES, "job" => job).increment(1),
            JobEvent::Missed { reason, .. } => {
                counter!(table::MISSED, "job" => job, "reason" => reason_label(*reason))
                    .increment(1);
            }
            JobEvent::Gap { .. } => counter!(table::GAPS, "job" => job).increment(1),
            JobEvent::Orphaned { failover, .. } => {
                let failover = if *failover { "true" } else { "false" };
                counter!(table::ORPHANS, "job" => job, "failover" => failover).increment(1);
            }
            JobEvent::StrategyFailed { .. }
            | JobEvent::ConfigRejected { .. }
            | JobEvent::Anomaly { .. }
            | JobEvent::ChangesMissed { .. }
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
        let (source, outcome) = (source_label(report.source), report.outcome.as_str());
        counter!(table::RUNS, "job" => job.clone(), "source" => source, "outcome" => outcome)
            .increment(1);
        let took = seconds_between(report.began, report.ended);
        histogram!(table::RUN_SECONDS, "job" => job.clone()).record(took);
        let waited = report.waited.as_secs_f64();
        histogram!(table::WAIT_SECONDS, "job" => job.clone()).record(waited);
        if report.source == RunSource::Normal
            && let Ok(due) = Timestamp::from_millisecond(report.fire.0)
        {
            // The run has begun when its code is called, not when it is claimed.
            let late = seconds_between(due, report.began) + report.waited.as_secs_f64();
            histogram!(table::DELAY, "job" => job.clone()).record(late);
        }
        if report.outcome == Outcome::Succeeded {
            let at = report.ended.as_duration().as_secs_f64();
            gauge!(table::LAST_SUCCESS, "job" => job.clone()).set(at);
        }
        // An unmonitored run has no `Claimed` event, so it never raised the gauge.
        if report.token != FencingToken::UNFENCED {
            gauge!(table::RUNNING, "job" => job).decrement(1.0);
        }
    }

    fn on_waiting_runs(&self, job: &JobName, waiting: usize) {
        #[expect(clippy::cast_precision_loss, reason = "the number is small")]
        gauge!(table::WAITING, "job" => job.to_string()).set(waiting as f64);
    }
}

/// Returns the seconds from `begin` to `end`, at least 0: a wall clock can go back.
fn seconds_between(begin: Timestamp, end: Timestamp) -> f64 {
    end.duration_since(begin).as_secs_f64().max(0.0)
}

fn source_label(source: RunSource) -> &'static str {
    match source {
        RunSource::Normal => "normal",
        RunSource::Misfire => "misfire",
        RunSource::Failover => "failover",
        RunSource::Manual => "manual",
        RunSource::Backfill => "backfill",
    }
}

fn reason_label(reason: MissReason) -> &'static str {
    match reason {
        MissReason::Superseded => "superseded",
        MissReason::RegistryUnreachable(_) => "registry_unreachable",
        MissReason::StillRunning => "still_running",
        MissReason::QueueFull => "queue_full",
        MissReason::LimitReached => "limit_reached",
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
