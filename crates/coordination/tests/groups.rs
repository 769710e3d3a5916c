//! Scenario tests of groups of jobs: limits that the runs of several jobs share.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    CatchUp, Duty, GroupLimits, GroupName, JobConfig, MissReason, StartRate, encode_group_limits,
};
use sharding::ShardingItem;

const FIRST: usize = 0;
const SECOND: usize = 1;
const A_WHILE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_secs(60);
const LIMITS: &str = "/job@-@groups/db/limits";
const STARTS: &str = "/job@-@groups/db/starts";
/// The permit of a run of another job.
const PERMIT: &str = "/job@-@groups/db/permits/0";
const HOLDER: &str = r#"{"v":1,"job":"other","item":0,"by":"10.9.9.9@-@9","token":1}"#;
/// The place of another job in the line.
const PLACE: &str = "/job@-@groups/db/waiting/other";
const WAITER: &str = r#"{"v":1,"by":"10.9.9.9@-@9"}"#;

fn grouped(items: u32, group: &str) -> JobConfig {
    job_of(items).with(|it| it.group = GroupName::new(group).ok())
}

fn runs(max: u32) -> String {
    encode_group_limits(&GroupLimits { cluster_concurrency: Some(max), start_rate: None })
}

fn rate(text: &str) -> String {
    let start_rate = Some(StartRate::parse(text).unwrap());
    encode_group_limits(&GroupLimits { cluster_concurrency: None, start_rate })
}

/// A cluster of a job in the group `db` with these limits.
fn limited(instances: usize, items: u32, limits: &str) -> Cluster {
    let mut cluster = Cluster::settled(instances, &grouped(items, "db"));
    cluster.create(LIMITS, limits);
    cluster.run_for(A_WHILE);
    cluster
}

fn n_runs(cluster: &Cluster) -> usize {
    cluster.runs().count()
}

fn n_executing(cluster: &Cluster, instances: usize) -> usize {
    (0..instances).map(|of| cluster.n_executing(of)).sum()
}

#[test]
fn runs_of_all_instances_share_the_permits_of_the_group() {
    let mut cluster = limited(2, 5, &runs(2));
    cluster.fire();
    cluster.run_for(A_WHILE);
    let mut begun = 0;
    while n_executing(&cluster, 2) > 0 {
        let executing = n_executing(&cluster, 2);
        assert!(executing <= 2, "{}", cluster.trace());
        begun += executing;
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
    }
    assert_eq!((begun, n_runs(&cluster)), (5, 5), "{}", cluster.trace());
    assert!(cluster.nodes_below("/job@-@groups/db/permits").is_empty(), "{}", cluster.trace());
    assert!(cluster.nodes_below("/job@-@groups/db/waiting").is_empty(), "{}", cluster.trace());
}

#[test]
fn job_waits_for_the_permit_of_another_job() {
    let mut cluster = limited(1, 1, &runs(1));
    cluster.create(PERMIT, HOLDER);
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 0, "{}", cluster.trace());
    cluster.remove(PERMIT);
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
}

/// Two items and room for one run: by the limit of the job's runs or starts, or by its group's.
#[test]
fn fire_that_waits_for_a_limit_until_the_next_one_is_missed_with_that_reason() {
    let of_job = |change: fn(&mut JobConfig)| Cluster::settled(1, &job_of(2).with(change));
    let clusters = [
        ("runs of the job", of_job(|it| it.cluster_concurrency = Some(1))),
        // Without a lookup of fires, a first run catches up with nothing.
        (
            "runs of the job, with catch-up",
            of_job(|it| {
                it.cluster_concurrency = Some(1);
                it.catch_up = Some(CatchUp { window_seconds: 60, max: 5 });
            }),
        ),
        ("starts of the job", of_job(|it| it.start_rate = StartRate::parse("1 in 1m"))),
        ("runs of the group", limited(1, 2, &runs(1))),
        ("starts of the group", limited(1, 2, &rate("1 in 1m"))),
    ];
    for (limit, mut cluster) in clusters {
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert_eq!(n_runs(&cluster), 1, "{limit}\n{}", cluster.trace());
        cluster.fire();
        cluster.run_for(A_WHILE);
        let mut misses = cluster.misses(FIRST);
        misses.retain(|(_, of, _)| *of == fire);
        let reasons: Vec<_> = misses.into_iter().map(|(.., reason)| reason).collect();
        assert_eq!(reasons, [MissReason::LimitReached], "{limit}\n{}", cluster.trace());
    }
}

#[test]
fn lost_instance_gives_its_permits_back() {
    let mut cluster = limited(2, 2, &runs(1));
    cluster.fire();
    cluster.run_for(A_WHILE);
    let (holder, _) = cluster.runs().next().unwrap();
    cluster.crash(holder);
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.n_executing(1 - holder), 1, "{}", cluster.trace());
}

/// Both instances see a free permit; the transaction of one of them takes it.
#[test]
fn claim_conflicts_when_another_run_took_the_permit() {
    let config = grouped(2, "db");
    let mut cluster = Cluster::settled(2, &config);
    cluster.create(LIMITS, &runs(1));
    cluster.run_for(A_WHILE);
    cluster.fire();
    let commit = cluster.hold_commit(FIRST, Duty::Claim);
    cluster.create(PERMIT, HOLDER);
    assert!(cluster.is_rejected(commit), "{}", cluster.trace());
}

#[test]
fn claim_conflicts_when_another_run_was_counted() {
    let mut cluster = limited(2, 2, &rate("1 in 1m"));
    cluster.create(STARTS, r#"{"v":1,"starts":[[1,1]]}"#);
    cluster.run_for(A_WHILE);
    cluster.fire();
    let [one, other] = [FIRST, SECOND].map(|of| cluster.hold_commit(of, Duty::Claim));
    assert!(!cluster.is_rejected(one), "{}", cluster.trace());
    assert!(cluster.is_rejected(other), "{}", cluster.trace());
}

/// No change of the registry shows that a start has expired.
#[test]
fn waiting_items_begin_when_earliest_start_of_the_group_expires() {
    let mut cluster = limited(2, 5, &rate("2 in 1m"));
    cluster.fire();
    for begun in [2, 4, 5] {
        cluster.run_for(PERIOD - A_WHILE);
        assert_eq!(n_runs(&cluster), begun, "{}", cluster.trace());
        cluster.run_for(A_WHILE);
    }
}

/// Unknown is never absent: limits that cannot be read do not mean that there are none.
#[test]
fn runs_wait_while_a_later_version_wrote_the_limits() {
    let mut cluster = limited(1, 1, r#"{"v":99}"#);
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 0, "{}", cluster.trace());
    cluster.write(LIMITS, &runs(1));
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
}

#[test]
fn starts_of_a_later_version_are_not_replaced() {
    const LATER: &str = r#"{"v":99}"#;
    let mut cluster = limited(1, 1, &rate("1 in 1m"));
    cluster.create(STARTS, LATER);
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(2 * PERIOD);
    assert_eq!(n_runs(&cluster), 0, "{}", cluster.trace());
    assert_eq!(cluster.data_of(STARTS).as_deref(), Some(LATER));
}

#[test]
fn job_without_stored_limits_is_not_limited() {
    let mut cluster = Cluster::settled(1, &grouped(3, "db"));
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 3, "{}", cluster.trace());
}

/// A permit is free, but the other job came first.
#[test]
fn job_that_came_first_gets_the_free_permit() {
    let mut cluster = limited(1, 1, &runs(1));
    cluster.create(PLACE, WAITER);
    cluster.run_for(A_WHILE);
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 0, "{}", cluster.trace());
    cluster.remove(PLACE);
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
}

#[test]
fn change_of_the_group_leaves_the_line_and_follows_the_new_limits() {
    let mut cluster = limited(1, 2, &runs(1));
    cluster.create(PERMIT, HOLDER);
    cluster.fire();
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.nodes_below("/job@-@groups/db/waiting").len(), 1, "{}", cluster.trace());
    cluster.create("/job@-@groups/files/limits", &runs(1));
    cluster.configure(&grouped(2, "files"));
    cluster.run_for(A_WHILE);
    assert!(cluster.nodes_below("/job@-@groups/db/waiting").is_empty(), "{}", cluster.trace());
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
    assert_eq!(cluster.nodes_below("/job@-@groups/files/permits").len(), 1, "{}", cluster.trace());
}

/// The run keeps the permit of its former group until it ends.
#[test]
fn run_returns_its_permit_after_a_change_of_the_group() {
    let mut cluster = limited(1, 1, &runs(1));
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.configure(&job_of(1));
    cluster.run_for(A_WHILE);
    assert_eq!(cluster.nodes_below("/job@-@groups/db/permits").len(), 1, "{}", cluster.trace());
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert!(cluster.nodes_below("/job@-@groups/db/permits").is_empty(), "{}", cluster.trace());
}

#[test]
fn unknown_outcome_of_a_claim_loses_no_permit() {
    let mut cluster = limited(1, 1, &runs(1));
    cluster.fire();
    cluster.execute_all(FIRST);
    cluster.lose_reply(FIRST);
    cluster.run_for(A_WHILE);
    assert_eq!(n_runs(&cluster), 1, "{}", cluster.trace());
    let permit = cluster.ledger(ShardingItem::new(0)).running().unwrap().group_permit.clone();
    assert_eq!(permit.unwrap().number, 0);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert!(cluster.nodes_below("/job@-@groups/db/permits").is_empty(), "{}", cluster.trace());
}
