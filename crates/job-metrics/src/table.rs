//! Table of all metrics.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Name, which ends with the unit, or with `_total` for a counter.
    pub name: &'static str,
    /// Kind of the metric.
    pub kind: MetricKind,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// Meaning, as the recorder shows it.
    pub meaning: &'static str,
}

/// Kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// A count that only rises.
    Counter,
    /// A number that rises and falls.
    Gauge,
    /// A distribution of seconds.
    Seconds,
}

pub(crate) const RUNS: &str = "ejob_runs_total";
pub(crate) const RUN_SECONDS: &str = "ejob_run_duration_seconds";
pub(crate) const RUNNING: &str = "ejob_runs_in_progress";
pub(crate) const WAITING: &str = "ejob_runs_waiting";
pub(crate) const WAIT_SECONDS: &str = "ejob_run_wait_seconds";
pub(crate) const DELAY: &str = "ejob_fire_delay_seconds";
pub(crate) const LAST_SUCCESS: &str = "ejob_last_success_timestamp_seconds";
pub(crate) const MISSED: &str = "ejob_fires_missed_total";
pub(crate) const MISFIRES: &str = "ejob_misfires_total";
pub(crate) const GAPS: &str = "ejob_gaps_total";
pub(crate) const ORPHANS: &str = "ejob_orphans_total";
pub(crate) const FENCED: &str = "ejob_runs_fenced_total";
pub(crate) const JOINED: &str = "ejob_joined";
pub(crate) const LEADER: &str = "ejob_leader";
pub(crate) const RESHARDINGS: &str = "ejob_reshardings_total";
pub(crate) const MOVED: &str = "ejob_items_moved_total";
pub(crate) const FAULTS: &str = "ejob_faults_total";

const fn metric(
    name: &'static str,
    kind: MetricKind,
    labels: &'static [&'static str],
    meaning: &'static str,
) -> Metric {
    Metric { name, kind, labels, meaning }
}

/// All metrics of this crate. Each process has its own values: add them up over processes.
pub const METRICS: [Metric; 17] = {
    use MetricKind::{Counter, Gauge, Seconds};
    [
        metric(RUNS, Counter, &["job", "source", "outcome"], "runs that have ended"),
        metric(RUN_SECONDS, Seconds, &["job"], "duration of runs, from their start"),
        metric(RUNNING, Gauge, &["job"], "monitored runs in progress"),
        metric(WAITING, Gauge, &["job"], "claimed runs that wait for a place in the process"),
        metric(WAIT_SECONDS, Seconds, &["job"], "time that ended runs have waited for a place"),
        metric(DELAY, Seconds, &["job"], "time from the scheduled fire time to the start"),
        metric(
            LAST_SUCCESS,
            Gauge,
            &["job"],
            "end of the last successful run, in seconds since 1970",
        ),
        metric(MISSED, Counter, &["job", "reason"], "missed fires"),
        metric(MISFIRES, Counter, &["job"], "fires that met a busy item"),
        metric(GAPS, Counter, &["job"], "consecutive fires that no instance ran"),
        metric(ORPHANS, Counter, &["job", "failover"], "runs whose holder is gone"),
        metric(FENCED, Counter, &["job"], "runs that another instance had taken over"),
        metric(JOINED, Gauge, &["job"], "1 from joining the job to leaving it"),
        metric(LEADER, Gauge, &["job"], "1 while the process is the leader"),
        metric(RESHARDINGS, Counter, &["job"], "assignments that the process made as leader"),
        metric(MOVED, Counter, &["job"], "items that changed their owner by those assignments"),
        metric(FAULTS, Counter, &["job", "kind"], "faults to examine; see the log"),
    ]
};

/// Describes the metrics to the recorder.
pub(crate) fn describe() {
    for Metric { name, kind, meaning, .. } in METRICS {
        match kind {
            MetricKind::Counter => describe_counter!(name, Unit::Count, meaning),
            MetricKind::Gauge if name == LAST_SUCCESS => {
                describe_gauge!(name, Unit::Seconds, meaning);
            }
            MetricKind::Gauge => describe_gauge!(name, Unit::Count, meaning),
            MetricKind::Seconds => describe_histogram!(name, Unit::Seconds, meaning),
        }
    }
}
