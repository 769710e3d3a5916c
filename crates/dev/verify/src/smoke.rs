//! A scenario that tests the harness itself: three workers, one of them killed in the middle of its
//! items.

use std::collections::BTreeSet;

use checker::history::{ExecEvent, Fact, ProcessEvent, Record, RunId};
use lite::{JobConfig, JobName};
use testkit::harness::{Cluster, ClusterError, InstOpts, Work};

/// Number of items of the job: two for each worker.
const N_ITEMS: u32 = 6;
/// Number of fires before the end.
const N_FIRES: usize = 5;

/// Plays the scenario and returns its history.
///
/// # Errors
/// Returns [`ClusterError`] if the cluster failed, or if a condition was not met in time.
pub async fn play(mut cluster: Box<dyn Cluster>) -> Result<Vec<Record>, ClusterError> {
    let name = JobName::new("smoke").map_err(|error| ClusterError::Harness {
        act: "name the job".to_owned(),
        source: error.into(),
    })?;
    let cron = Some(cluster.cron());
    let config = JobConfig::new(name, N_ITEMS).with(|it| {
        it.cron = cron;
        it.failover = true;
    });
    cluster.create_job(config).await?;
    for (worker, server) in [("a", "10.0.0.1"), ("b", "10.0.0.2"), ("c", "10.0.0.3")] {
        cluster.spawn(worker, worker_on(server)).await?;
    }
    cluster.until("three workers that take part", 15, &|records| n_ready(records) == 3).await?;
    cluster
        .until("a fire that all three work on", 5, &|records| {
            n_fires(records) >= 1 && running(records, "c").len() == 2
        })
        .await?;
    cluster.kill("c").await?;
    cluster.until("two items that are taken over", 5, &|records| n_takeovers(records) >= 2).await?;
    cluster.heal().await?;
    cluster.until("five fires", 10, &|records| n_fires(records) >= N_FIRES).await?;
    cluster
        .until("no item at work", 5, &|records| {
            ["a", "b"].iter().all(|worker| running(records, worker).is_empty())
        })
        .await?;
    cluster.finish().await
}

fn worker_on(server: &str) -> InstOpts {
    InstOpts::new(server, Work { periods: 0.4, ..Work::default() })
}

fn n_ready(records: &[Record]) -> usize {
    let ready =
        |record: &&Record| matches!(record.fact, Fact::Process { ev: ProcessEvent::Ready, .. });
    records.iter().filter(ready).count()
}

/// Returns the begins and ends of runs of the code.
fn executions(records: &[Record]) -> impl Iterator<Item = (&Record, ExecEvent, &RunId, &str)> {
    records.iter().filter_map(|record| {
        let Fact::Exec { ev, run, source, .. } = &record.fact else { return None };
        Some((record, *ev, run, source.as_str()))
    })
}

/// Returns the number of fires of which every item has ended.
fn n_fires(records: &[Record]) -> usize {
    let done: BTreeSet<(i64, u32)> = executions(records)
        .filter(|(_, ev, _, _)| *ev == ExecEvent::End)
        .map(|(_, _, run, _)| (run.fire, run.item))
        .collect();
    let fires: BTreeSet<i64> = done.iter().map(|(fire, _)| *fire).collect();
    let is_complete = |fire: &&i64| (0..N_ITEMS).all(|item| done.contains(&(**fire, item)));
    fires.iter().filter(is_complete).count()
}

/// Returns the runs that a worker has begun and not ended.
fn running(records: &[Record], worker: &str) -> BTreeSet<RunId> {
    let mut running = BTreeSet::new();
    for (_, ev, run, _) in executions(records).filter(|(record, ..)| record.p == worker) {
        match ev {
            ExecEvent::Start => running.insert(run.clone()),
            ExecEvent::End => running.remove(run),
        };
    }
    running
}

fn n_takeovers(records: &[Record]) -> usize {
    let ended = |ev| ev == ExecEvent::End;
    executions(records).filter(|(_, ev, _, source)| ended(*ev) && *source == "FAILOVER").count()
}
