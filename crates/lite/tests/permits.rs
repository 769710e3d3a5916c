//! The limit of runs at the same time on all instances.

use crate::support;

use lite::{JobBuilder, JobConfig, ShardingContext};

use support::gated::Gated;
use support::{Cluster, balanced, within};

/// Returns the item of a run, and its source.
fn begin(run: &ShardingContext) -> (u32, &'static str) {
    (run.item().index(), run.source().as_str())
}

fn limited(items: u32, max: u32) -> JobConfig {
    JobBuilder::new("job", items).failover(true).cluster_concurrency(max).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn limit_of_cluster_holds_over_all_instances() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let (work, mut begins) = Gated::new(begin);
    let first = work.join(&one, limited(8, 3)).await;
    let second = work.join(&two, limited(8, 3)).await;
    balanced(&cluster, &[&first, &second], 8).await;
    first.trigger().await.unwrap();
    let mut seen = Vec::new();
    for n in 0..8 {
        if n >= 3 {
            work.gate.add_permits(1);
        }
        seen.push(within("the next run", begins.recv()).await.unwrap().0);
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(work.most_at_once(), 3);
    work.gate.add_permits(3);
    let free = || cluster.stored("job", &["coordination", "permits", "0"]).is_none();
    cluster.until("job", "the end of the runs", free).await;
}

#[tokio::test(start_paused = true)]
async fn lost_instance_gives_its_permits_back() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let (work, mut begins) = Gated::new(begin);
    let first = work.join(&one, limited(2, 1)).await;
    let second = work.join(&two, limited(2, 1)).await;
    balanced(&cluster, &[&first, &second], 2).await;
    first.trigger().await.unwrap();
    let (item, source) = within("the first run", begins.recv()).await.unwrap();
    assert_eq!(source, "MANUAL");
    let (lost, left) =
        if first.status().await.unwrap().running.is_empty() { (&two, one) } else { (&one, two) };
    lost.scheduler.abort();
    lost.center.expire();
    let mut next = Vec::new();
    for _ in 0..2 {
        next.push(within("the next run", begins.recv()).await.unwrap());
        work.gate.add_permits(1);
    }
    next.sort_unstable();
    let other = 1 - item;
    let mut expected = [(item, "FAILOVER"), (other, "MANUAL")];
    expected.sort_unstable();
    assert_eq!(next, expected);
    assert_eq!(work.most_at_once(), 1);
    drop(left);
}
