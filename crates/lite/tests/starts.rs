//! The limit of the runs that begin in a period on all instances.

use crate::support;

use std::time::Duration;

use lite::{JobBuilder, JobConfig, JobHandle, StartRate};

use support::{Cluster, Member, Runs, balanced, within};

fn rated(items: u32, max: u32) -> JobConfig {
    let rate = StartRate { max, period_seconds: 10 };
    JobBuilder::new("job", items).failover(true).start_rate(rate).build().unwrap()
}

async fn join(member: &Member, config: JobConfig, runs: &Runs) -> JobHandle {
    let handle = member.scheduler.schedule(config, runs.job()).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    handle
}

/// Requested runs count, and nothing but the time lets the waiting items begin.
#[tokio::test(start_paused = true)]
async fn start_rate_holds_over_all_instances() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let runs = Runs::default();
    let first = join(&one, rated(8, 3), &runs).await;
    let second = join(&two, rated(8, 3), &runs).await;
    balanced(&cluster, &[&first, &second], 8).await;
    first.trigger().await.unwrap();
    for (begun, total) in [(3, 3), (3, 6), (2, 8)] {
        runs.until("the runs of a period", |seen| seen.len() >= total).await;
        cluster.pass(Duration::from_millis(9_900)).await;
        let seen = runs.until("no more runs", |_| true).await.len();
        assert_eq!(seen, total, "{begun} runs begin in the period");
        cluster.pass(Duration::from_millis(100)).await;
    }
}
