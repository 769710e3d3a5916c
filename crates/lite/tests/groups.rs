//! Groups of jobs: limits that the runs of several jobs share.

use crate::support;

use lite::{GroupLimits, GroupName, JobBuilder, JobConfig, ShardingContext, StartRate};

use support::gated::Gated;
use support::{Cluster, within};

fn job_name(run: &ShardingContext) -> String {
    run.job_name().to_string()
}

fn group() -> GroupName {
    GroupName::new("db").unwrap()
}

/// Returns true if the group has this node.
fn exists(cluster: &Cluster, node: &str) -> bool {
    let path = format!("/job@-@groups/db/{node}");
    cluster.everything().iter().any(|(found, _)| *found == path)
}

fn runs(max: u32) -> GroupLimits {
    GroupLimits { cluster_concurrency: Some(max), start_rate: None }
}

fn grouped(name: &str, items: u32) -> JobConfig {
    JobBuilder::new(name, items).failover(true).group("db").build().unwrap()
}

/// A job with one item does not wait for all items of a large job.
#[tokio::test(start_paused = true)]
async fn jobs_of_a_group_share_its_permits_in_turn() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    one.scheduler.define_group(group(), runs(1)).await.unwrap();
    let (work, mut begins) = Gated::new(job_name);
    let large = work.join(&one, grouped("large", 6)).await;
    let small = work.join(&two, grouped("small", 1)).await;
    large.trigger().await.unwrap();
    let mut seen = vec![within("the first run", begins.recv()).await.unwrap()];
    small.trigger().await.unwrap();
    let waits = || exists(&cluster, "waiting/small");
    cluster.until("job@-@groups", "the small job in the line", waits).await;
    for _ in 0..6 {
        work.gate.add_permits(1);
        seen.push(within("the next run", begins.recv()).await.unwrap());
    }
    work.gate.add_permits(1);
    let place = seen.iter().position(|job| job == "small").unwrap();
    assert!(place <= 2, "{seen:?}");
    assert_eq!(work.most_at_once(), 1);
    let free = || !exists(&cluster, "permits/0");
    cluster.until("job@-@groups", "the end of the runs", free).await;
}

#[tokio::test(start_paused = true)]
async fn lost_instance_gives_the_permits_of_a_group_back() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    one.scheduler.define_group(group(), runs(1)).await.unwrap();
    let (work, mut begins) = Gated::new(job_name);
    let first = work.join(&one, grouped("first", 1)).await;
    let second = work.join(&two, grouped("second", 1)).await;
    first.trigger().await.unwrap();
    assert_eq!(within("the first run", begins.recv()).await.unwrap(), "first");
    second.trigger().await.unwrap();
    let waits = || exists(&cluster, "waiting/second");
    cluster.until("job@-@groups", "the second job in the line", waits).await;
    one.scheduler.abort();
    one.center.expire();
    assert_eq!(within("the next run", begins.recv()).await.unwrap(), "second");
    work.gate.add_permits(1);
}

#[tokio::test(start_paused = true)]
async fn definition_of_a_group_keeps_stored_limits() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let rate = GroupLimits { cluster_concurrency: None, start_rate: StartRate::parse("9 in 1m") };
    assert_eq!(one.scheduler.define_group(group(), rate).await.unwrap(), rate);
    assert_eq!(two.scheduler.define_group(group(), runs(3)).await.unwrap(), rate);
    let error = two.scheduler.define_group(group(), runs(0)).await.unwrap_err().to_string();
    assert!(error.contains("cluster_concurrency is 0"), "{error}");
}
