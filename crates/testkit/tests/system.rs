//! The simulated cluster without faults, and with single ones.

use std::time::Duration;

use checker::history::{ExecEvent, Fact, Record};
use lite::{JobBuilder, JobConfig};
use testkit::scenario::{Cluster, InstOpts, LinkMode, Work};
use testkit::system::{SimCluster, run};

fn config(items: u32) -> JobConfig {
    JobBuilder::new("job", items).cron(SimCluster::CRON).failover(true).build().unwrap()
}

fn worker(n: usize, periods: f64) -> InstOpts {
    let (fail, panic, hang, slow) = (vec![], vec![], vec![], vec![]);
    let work = Work { periods, slow, fail, panic, hang };
    InstOpts { server: format!("10.0.0.{n}"), work, life: None }
}

async fn cluster(seed: u64, names: &[&str], items: u32, periods: f64) -> SimCluster {
    let mut cluster = SimCluster::new(seed);
    cluster.create_job(config(items)).await.unwrap();
    for (n, name) in names.iter().enumerate() {
        cluster.spawn(name, worker(n + 1, periods)).await.unwrap();
    }
    cluster
}

/// Returns fire, item, source and process of every run that ended well.
fn done(records: &[Record]) -> Vec<(i64, u32, String, String)> {
    let done = records.iter().filter_map(|record| match &record.fact {
        Fact::Exec { ev: ExecEvent::End, run, source, result, .. }
            if result.as_deref() == Some("ok") =>
        {
            Some((run.fire, run.item, source.clone(), record.p.clone()))
        }
        _ => None,
    });
    done.collect()
}

#[test]
fn without_faults_every_fire_of_every_item_is_run_once() {
    let records = run(async {
        let mut cluster = cluster(1, &["a", "b", "c"], 6, 0.2).await;
        cluster.elapse(Duration::from_secs(125)).await;
        Box::new(cluster).finish().await.unwrap()
    });
    let mut done: Vec<_> =
        done(&records).into_iter().map(|(fire, item, ..)| (fire, item)).collect();
    let n_done = done.len();
    done.sort_unstable();
    done.dedup();
    assert_eq!(done.len(), n_done, "nothing runs twice");
    assert!(n_done >= 6 * 11, "{n_done}");
}

#[test]
fn what_a_killed_process_ran_is_run_again_by_another() {
    let records = run(async {
        let mut cluster = cluster(2, &["a", "b"], 4, 0.5).await;
        let running = |records: &[Record]| {
            records.iter().any(|record| record.p == "a" && matches!(record.fact, Fact::Exec { .. }))
        };
        cluster.until("a runs something", 6, &running).await.unwrap();
        cluster.kill("a").await.unwrap();
        let taken_over = |records: &[Record]| {
            done(records).iter().any(|(_, _, source, p)| source == "FAILOVER" && p == "b")
        };
        cluster.until("b takes it over", 6, &taken_over).await.unwrap();
        Box::new(cluster).finish().await.unwrap()
    });
    let after_death = records.iter().skip_while(|record| match &record.fact {
        Fact::Nemesis { kind, .. } => kind != "crash",
        _ => true,
    });
    assert_eq!(after_death.filter(|record| record.p == "a").count(), 0, "the dead are silent");
}

#[test]
fn a_process_behind_a_partition_loses_its_session_and_comes_back_in_another() {
    let records = run(async {
        let mut cluster = cluster(3, &["a", "b"], 4, 0.1).await;
        cluster.elapse(Duration::from_secs(12)).await;
        cluster.link("a", LinkMode::Black).await.unwrap();
        cluster.elapse(Duration::from_secs(15)).await;
        cluster.link("a", LinkMode::Pass).await.unwrap();
        let n_sessions = |records: &[Record]| {
            let opened = |record: &&Record| matches!(&record.fact, Fact::SessionOpened { owner, .. } if owner == "a");
            records.iter().filter(opened).count()
        };
        cluster
            .until("a has another session", 2, &move |records| n_sessions(records) == 2)
            .await
            .unwrap();
        cluster.heal().await.unwrap();
        let healed = |records: &[Record]| {
            let healed = records.iter().rposition(|record| record.fact == Fact::Healed);
            let late = done(&records[healed.unwrap_or(records.len())..]);
            late.iter().any(|(.., p)| p == "a")
        };
        cluster.until("a runs items again", 6, &healed).await.unwrap();
        Box::new(cluster).finish().await.unwrap()
    });
    assert!(!done(&records).is_empty());
}
