//! The table of all metrics.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// What a metric counts or measures, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// Its name, which ends with the unit, and with `_total` if it only rises.
    pub name: &'static str,
    /// Which kind it is.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// What it says.
    pub meaning: &'static str,
}

/// Kinds of metrics.
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

/// All metrics of this crate. Each is of one process: add them up over processes.
pub const METRICS: [Metric; 15] = {
    use MetricKind::{Counter, Gauge, Seconds};
    [
        metric(RUNS, Counter, &["job", "source", "outcome"], "runs that have ended"),
        metric(RUN_SECONDS, Seconds, &["job"], "how long runs took, from their start"),
        metric(RUNNING, Gauge, &["job"], "monitored runs that have begun and not ended"),
        metric(DELAY, Seconds, &["job"], "how long after its fire was due a scheduled run began"),
        metric(LAST_SUCCESS, Gauge, &["job"], "when a run succeeded last, in seconds since 1970"),
        metric(MISSED, Counter, &["job", "reason"], "fires that are not run"),
        metric(MISFIRES, Counter, &["job"], "fires that met the running item"),
        metric(GAPS, Counter, &["job"], "stretches of fires that passed with nobody there"),
        metric(ORPHANS, Counter, &["job", "failover"], "runs that were found without their holder"),
        metric(FENCED, Counter, &["job"], "runs that ended after they had been taken over"),
        metric(JOINED, Gauge, &["job"], "1 from when the process has joined until it has left"),
        metric(LEADER, Gauge, &["job"], "1 while the process leads"),
        metric(RESHARDINGS, Counter, &["job"], "assignments that the process made as leader"),
        metric(MOVED, Counter, &["job"], "items that changed their owner by those assignments"),
        metric(FAULTS, Counter, &["job", "kind"], "what somebody must look at; see the log"),
    ]
};

/// Tells the recorder what the metrics mean.
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
