//! Scenario tests of jobs with `overlap = queue`: each fire that meets a run gets a run of its own.

use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    FireTime, JobConfig, JobEvent, Ledger, MissReason, Overlap, RunSource, StartItem,
};
use sharding::ShardingItem;

const A_WHILE: Duration = Duration::from_secs(2);

fn queueing(max: u32) -> JobConfig {
    job_of(2).with(|it| it.overlap = Some(Overlap::Queue(max)))
}

/// Two instances that run one item each, while later fires meet both runs.
struct Met {
    cluster: Cluster,
    /// The instance that does not lead, and its item.
    holder: usize,
    item: u32,
    /// The fire of the runs, and those that met them.
    fires: Vec<FireTime>,
}

fn met(max: u32, met: usize) -> Met {
    let mut cluster = Cluster::settled(2, &queueing(max));
    let holder = 1 - cluster.leader().unwrap();
    let of_holder = |item: &u32| cluster.owner(*item) == Some(cluster.id_of(holder));
    let item = (0..2).find(of_holder).unwrap();
    let fires = (0..=met).map(|_| next_fire(&mut cluster)).collect();
    Met { cluster, holder, item, fires }
}

fn next_fire(cluster: &mut Cluster) -> FireTime {
    let at = cluster.fire();
    cluster.run_for(A_WHILE);
    at
}

fn end_runs(cluster: &mut Cluster) {
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
}

fn record(cluster: &Cluster, item: u32) -> &Ledger {
    cluster.ledger(ShardingItem::new(item))
}

fn starts(cluster: &Cluster, item: u32) -> Vec<&StartItem> {
    cluster.runs().map(|(_, start)| start).filter(|start| start.item.index() == item).collect()
}

fn fires_run(cluster: &Cluster, item: u32) -> Vec<FireTime> {
    starts(cluster, item).iter().map(|start| start.fire).collect()
}

#[test]
fn each_fire_that_meets_a_run_gets_a_run_of_its_own_oldest_first() {
    let Met { mut cluster, holder, item, fires } = met(3, 2);
    assert_eq!(record(&cluster, item).queued, fires[1..], "{}", cluster.trace());
    end_runs(&mut cluster);
    assert_eq!(record(&cluster, item).queued, fires[2..], "{}", cluster.trace());
    let later = next_fire(&mut cluster);
    for _ in 0..3 {
        end_runs(&mut cluster);
    }
    assert_eq!(fires_run(&cluster, item), [&fires[..], &[later]].concat(), "{}", cluster.trace());
    let starts = starts(&cluster, item);
    assert!(starts[1..].iter().all(|start| start.source == RunSource::Misfire));
    assert!(starts.iter().all(|start| start.merged.is_none()), "{}", cluster.trace());
    assert!(record(&cluster, item).misfire.is_none() && record(&cluster, item).is_idle());
    let noted = cluster.events(holder).iter().filter_map(|event| {
        let JobEvent::MisfireNoted { waiting, .. } = event else { return None };
        Some(waiting.last)
    });
    assert!(noted.eq([fires[1], fires[2], later]), "{}", cluster.trace());
}

#[test]
fn fire_that_meets_a_full_queue_is_skipped_with_that_reason() {
    let Met { mut cluster, holder, item, fires } = met(1, 3);
    assert_eq!(record(&cluster, item).queued, [fires[1]], "{}", cluster.trace());
    let missed = |cluster: &Cluster| -> Vec<FireTime> {
        let full = cluster.misses(holder).into_iter();
        let full = full.filter(|(.., reason)| *reason == MissReason::QueueFull);
        full.map(|(_, fire, _)| fire).collect()
    };
    assert_eq!(missed(&cluster), [fires[2]], "the last one is still due");
    end_runs(&mut cluster);
    // The queue has room again before the next fire.
    assert_eq!(record(&cluster, item).queued, [fires[3]], "{}", cluster.trace());
    end_runs(&mut cluster);
    end_runs(&mut cluster);
    assert_eq!(fires_run(&cluster, item), [fires[0], fires[1], fires[3]], "{}", cluster.trace());
    assert_eq!(missed(&cluster), [fires[2]]);
    let has_it = |first, until| first <= fires[2] && fires[2] < until;
    let is_gap = |event: &JobEvent| matches!(event, JobEvent::Gap { gap, .. } if has_it(gap.first, gap.until));
    assert!(cluster.events(holder).iter().any(is_gap), "{}", cluster.trace());
}

#[test]
fn queued_fires_outlive_the_holder_of_the_run() {
    let Met { mut cluster, holder, item, fires } = met(3, 2);
    cluster.crash(holder);
    cluster.run_for(A_WHILE);
    for _ in 0..4 {
        end_runs(&mut cluster);
    }
    let expected = [fires[0], fires[0], fires[1], fires[2]];
    assert_eq!(fires_run(&cluster, item), expected, "{}", cluster.trace());
}

#[test]
fn queue_without_its_policy_runs_as_one() {
    let Met { mut cluster, item, fires, .. } = met(3, 2);
    cluster.configure(&job_of(2));
    cluster.run_for(A_WHILE);
    end_runs(&mut cluster);
    end_runs(&mut cluster);
    let starts = starts(&cluster, item);
    assert_eq!(starts.len(), 2, "{}", cluster.trace());
    assert_eq!(
        starts[1].merged.map(|it| (it.first, it.last, it.count)),
        Some((fires[1], fires[2], 2))
    );
}

#[test]
fn lower_bound_drops_no_queued_fire() {
    let Met { mut cluster, item, fires, .. } = met(3, 2);
    cluster.configure(&queueing(1));
    cluster.run_for(A_WHILE);
    next_fire(&mut cluster);
    assert_eq!(record(&cluster, item).queued, fires[1..], "{}", cluster.trace());
    let late = next_fire(&mut cluster);
    for _ in 0..4 {
        end_runs(&mut cluster);
    }
    assert_eq!(fires_run(&cluster, item), [&fires[..], &[late]].concat(), "{}", cluster.trace());
}

#[test]
fn disabled_item_keeps_its_queue_and_skips_later_fires() {
    let Met { mut cluster, item, fires, .. } = met(3, 1);
    cluster.create(&format!("sharding/{item}/disabled"), "");
    cluster.run_for(A_WHILE);
    end_runs(&mut cluster);
    next_fire(&mut cluster);
    assert_eq!(record(&cluster, item).queued, fires[1..], "{}", cluster.trace());
    cluster.remove(&format!("sharding/{item}/disabled"));
    cluster.run_for(A_WHILE);
    end_runs(&mut cluster);
    assert_eq!(fires_run(&cluster, item), fires, "{}", cluster.trace());
    assert!(record(&cluster, item).is_idle(), "{}", cluster.trace());
}
