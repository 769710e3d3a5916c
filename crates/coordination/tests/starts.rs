//! Scenario tests of jobs with a start rate: the runs that begin in a period on all instances.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{Duty, JobConfig, StartRate};

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_secs(60);
/// A record whose start has expired, so that a claim replaces it.
const EXPIRED: &str = r#"{"v":1,"starts":[[1,1]]}"#;

fn rated(items: u32, max: u32) -> JobConfig {
    let rate = StartRate::parse(&format!("{max} in 1m")).unwrap();
    job_of(items).with(|it| it.start_rate = Some(rate))
}

fn n_runs(cluster: &Cluster) -> usize {
    cluster.runs().count()
}

/// No change of the registry shows that a start has expired.
#[test]
fn waiting_items_begin_when_earliest_start_expires() {
    let mut cluster = Cluster::settled(2, &rated(5, 2));
    cluster.fire();
    for begun in [2, 4, 5] {
        cluster.run_for(PERIOD - A_WHILE);
        assert_eq!(n_runs(&cluster), begun, "{}", cluster.trace());
        cluster.run_for(A_WHILE);
    }
}

/// Both instances see a free start; the transaction of one of them takes it.
#[test]
fn claim_conflicts_when_another_instance_recorded_a_start() {
    let mut cluster = Cluster::settled(2, &rated(2, 1));
    cluster.create("coordination/starts", EXPIRED);
    cluster.run_for(A_WHILE);
    cluster.fire();
    let [one, other] = [FIRST, SECOND].map(|of| cluster.hold_commit(of, Duty::Claim));
    assert!(!cluster.is_rejected(one), "{}", cluster.trace());
    assert!(cluster.is_rejected(other), "{}", cluster.trace());
}

/// The former starts count until the clock reaches their end again.
#[test]
fn clock_set_back_begins_no_run_early() {
    let back = PERIOD / 2;
    let mut cluster = Cluster::settled(1, &rated(3, 1));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.set_clocks_back(back);
    cluster.run_for(PERIOD + back - 2 * A_WHILE);
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
    cluster.run_for(2 * A_WHILE);
    assert_eq!(n_runs(&cluster), 2, "{}", cluster.trace());
    cluster.run_for(PERIOD);
    assert_eq!(n_runs(&cluster), 3, "{}", cluster.trace());
}

/// A start that lies far ahead by the clock of an instance is a true start if that clock is slow:
/// the instance does not count it, and keeps it for the others.
#[test]
fn slow_clock_does_not_erase_the_starts_of_others() {
    let mut cluster = Cluster::settled(2, &rated(4, 1));
    cluster.set_clock_ahead(SECOND, -70_000);
    for of in [FIRST, SECOND] {
        cluster.fire_by_own_clock(of);
        cluster.run_for(A_WHILE);
    }
    assert_eq!(n_runs(&cluster), 2, "one start for each clock\n{}", cluster.trace());
    cluster.run_for(PERIOD - 3 * A_WHILE);
    assert_eq!(n_runs(&cluster), 2, "{}", cluster.trace());
    cluster.run_for(3 * A_WHILE);
    assert_eq!(n_runs(&cluster), 4, "{}", cluster.trace());
}

/// A later version may count in another way.
#[test]
fn record_of_later_version_is_not_replaced() {
    const LATER: &str = r#"{"v":99}"#;
    let mut cluster = Cluster::settled(1, &rated(1, 1));
    cluster.create("coordination/starts", LATER);
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(2 * PERIOD);
    assert_eq!(n_runs(&cluster), 0, "{}", cluster.trace());
    assert_eq!(cluster.data_of("coordination/starts").as_deref(), Some(LATER));
    cluster.remove("coordination/starts");
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
}

/// The takeover counts, so it waits for the lost run's own start to expire.
#[test]
fn takeover_of_lost_run_waits_for_the_rate() {
    let mut cluster = Cluster::settled(2, &rated(1, 1));
    cluster.fire();
    cluster.run_for(A_WHILE);
    let (holder, _) = cluster.runs().next().unwrap();
    cluster.crash(holder);
    cluster.run_for(PERIOD - 2 * A_WHILE);
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
    cluster.run_for(2 * A_WHILE);
    assert_eq!(n_runs(&cluster), 2, "{}", cluster.trace());
}
