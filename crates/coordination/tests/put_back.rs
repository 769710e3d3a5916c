//! Scenario tests of records that are changed from outside: an operator restores an older record,
//! or removes it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::script::{Cluster, job_of};
use coordination::{
    Dialect, Event, FencingToken, JavaSettings, LedgerState, RunSource, decode_ledger,
};
use proptest::collection::vec;
use proptest::prelude::*;
use sharding::ShardingItem;

const FIRST: usize = 0;
const A_WHILE: Duration = Duration::from_secs(2);
const RECORD: &str = "ledger/0";
const MARKS: [&str; 4] =
    ["sharding/0/running", "coordination/runs/0", "sharding/0/failover", "sharding/0/failovering"];

/// Returns a cluster of one instance with one item.
fn one_instance(dialect: Dialect, failover: bool) -> Cluster {
    let config = job_of(1).with(|it| {
        it.java = JavaSettings::of(dialect);
        it.failover = failover;
    });
    match dialect {
        Dialect::V2 => Cluster::settled(1, &config),
        Dialect::V3 => Cluster::settled_with(1, &config, |c, _| c.speaking(Dialect::V3)),
    }
}

fn item() -> ShardingItem {
    ShardingItem::new(0)
}

fn record(cluster: &Cluster) -> String {
    cluster.data_of(RECORD).unwrap()
}

/// Fires, lets the run end and returns the record.
fn one_run(cluster: &mut Cluster) -> String {
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    record(cluster)
}

fn assert_unmarked(case: &str, cluster: &Cluster) {
    let left: Vec<_> = MARKS.into_iter().filter(|mark| cluster.data_of(mark).is_some()).collect();
    assert!(left.is_empty(), "{case}: marks {left:?} remain\n{}", cluster.trace());
}

/// Asserts that the next fire runs once under a new token, and that the instance can leave.
fn assert_works(case: &str, mut cluster: Cluster) {
    let before = cluster.ledger(item()).token;
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let runs: Vec<_> = cluster.runs_for(fire).map(|(_, start)| start.token).collect();
    assert_eq!(runs, [before.next()], "{case}\n{}", cluster.trace());
    let mut tokens: Vec<_> = cluster.runs().map(|(_, start)| start.token).collect();
    tokens.dedup();
    assert!(tokens.is_sorted() && tokens.len() == cluster.runs().count(), "{case}: {tokens:?}");
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_unmarked(case, &cluster);
    cluster.send_event(FIRST, Event::Drain);
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(FIRST), "{case}: the instance does not leave\n{}", cluster.trace());
}

fn in_both_dialects() -> impl Iterator<Item = (Dialect, bool, String)> {
    let dialects = [Dialect::V2, Dialect::V3];
    let all = dialects.into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)]);
    all.map(|(dialect, failover)| (dialect, failover, format!("{dialect}, failover {failover}")))
}

#[test]
fn item_runs_again_after_older_record_was_restored_during_its_run() {
    for (dialect, failover, case) in in_both_dialects() {
        let mut cluster = one_instance(dialect, failover);
        let older = one_run(&mut cluster);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert!(cluster.is_executing(FIRST), "{case}\n{}", cluster.trace());

        cluster.write(RECORD, &older);
        cluster.run_for(A_WHILE);
        assert!(cluster.data_of(MARKS[0]).is_some(), "{case}: the current run has no mark");
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);

        assert_unmarked(&case, &cluster);
        assert_eq!(cluster.runs_for(fire).count(), 1, "{case}\n{}", cluster.trace());
        assert_eq!(cluster.ledger(item()).token, FencingToken(2), "{case}: {}", record(&cluster));
        assert_eq!(cluster.ledger(item()).last_fire, Some(fire), "{case}: {}", record(&cluster));
        assert_works(&case, cluster);
    }
}

#[test]
fn item_runs_again_after_record_was_removed_during_its_run() {
    for (dialect, failover, case) in in_both_dialects() {
        let mut cluster = one_instance(dialect, failover);
        one_run(&mut cluster);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.remove(RECORD);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        assert_unmarked(&case, &cluster);
        assert_eq!(cluster.runs_for(fire).count(), 1, "{case}\n{}", cluster.trace());
        assert_eq!(cluster.ledger(item()).token, FencingToken(2), "{case}: {}", record(&cluster));
        assert_works(&case, cluster);
    }
}

/// The record of a run is restored after that run has ended.
#[test]
fn restored_record_of_ended_run_is_swept() {
    for (dialect, failover, case) in in_both_dialects() {
        let mut cluster = one_instance(dialect, failover);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        let running = record(&cluster);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);

        cluster.write(RECORD, &running);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);

        let runs: Vec<_> = cluster.runs_for(fire).map(|(_, start)| start.source).collect();
        let takeover = failover.then_some(RunSource::Failover);
        let expected: Vec<_> = [RunSource::Normal].into_iter().chain(takeover).collect();
        assert_eq!(runs, expected, "{case}\n{}", cluster.trace());
        assert_eq!(cluster.ledger(item()).state, LedgerState::Idle, "{case}: {}", record(&cluster));
        assert_unmarked(&case, &cluster);
        assert_works(&case, cluster);
    }
}

/// The restored record shows a run of a lost instance, older than the current run.
#[test]
fn restored_run_of_lost_instance_is_taken_over_after_current_run() {
    for (dialect, _, case) in in_both_dialects().filter(|(_, failover, _)| *failover) {
        let mut cluster = one_instance(dialect, true);
        one_run(&mut cluster);
        cluster.fire();
        cluster.run_for(A_WHILE);
        let of_lost = record(&cluster).replace("10.0.0.1@-@1", "10.0.0.9@-@9");
        let of_lost = of_lost.replace("\"token\":2", "\"token\":1");
        assert!(decode_ledger(of_lost.as_bytes()).unwrap().token == FencingToken(1), "{of_lost}");

        cluster.write(RECORD, &of_lost);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.n_executing(FIRST), 1, "{case}\n{}", cluster.trace());
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let last = cluster.runs().last().map(|(_, start)| (start.source, start.token));
        let expected = Some((RunSource::Failover, FencingToken(3)));
        assert_eq!(last, expected, "{case}\n{}", cluster.trace());
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        assert_unmarked(&case, &cluster);
        assert_works(&case, cluster);
    }
}

/// A step of a cluster of two instances and two items.
#[derive(Clone, Copy, Debug)]
enum Step {
    Fire,
    EndRuns(usize),
    /// Restores an earlier record of an item, counted back from the latest one.
    Restore(u32, usize),
    Remove(u32),
    ReplaceSession(usize),
    Wait,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
            3 => Just(Step::Fire),
            2 => (0..2_usize).prop_map(Step::EndRuns),
            3 => (0..2_u32, 1..6_usize).prop_map(|(item, back)| Step::Restore(item, back)),
            1 => (0..2_u32).prop_map(Step::Remove),
            1 => (0..2_usize).prop_map(Step::ReplaceSession),
            2 => Just(Step::Wait),
    ];
    vec(step, 1..16)
}

/// The records that each item had, without repetitions in a row.
#[derive(Default)]
struct History([Vec<String>; 2]);

impl History {
    fn note(&mut self, cluster: &Cluster) {
        for (item, all) in self.0.iter_mut().enumerate() {
            let now = cluster.data_of(&format!("ledger/{item}"));
            all.extend(now.filter(|now| all.last() != Some(now)));
        }
    }

    fn back(&self, item: u32, back: usize) -> Option<&String> {
        let all = &self.0[item as usize];
        all.get(all.len().checked_sub(1 + back)?)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Soon after any sequence of restored or removed records each item runs, and no mark remains.
    #[test]
    fn items_run_again_after_any_external_record_changes(
        steps in steps(), third in any::<bool>(), failover in any::<bool>(),
    ) {
        let dialect = if third { Dialect::V3 } else { Dialect::V2 };
        let config = job_of(2).with(|it| { it.java = JavaSettings::of(dialect); it.failover = failover; });
        let mut cluster = match dialect {
            Dialect::V2 => Cluster::settled(2, &config),
            Dialect::V3 => Cluster::settled_with(2, &config, |c, _| c.speaking(Dialect::V3)),
        };
        let mut history = History::default();
        for step in steps {
            history.note(&cluster);
            match step {
                    Step::Fire => { cluster.fire(); }
                    Step::EndRuns(instance) => cluster.end_runs(instance),
                    Step::Restore(item, back) => if let Some(record) = history.back(item, back) {
                    cluster.create_or_write(&format!("ledger/{item}"), record);
                },
                Step::Remove(item) => {
                    let node = format!("ledger/{item}");
                    if cluster.data_of(&node).is_some() {
                        cluster.remove(&node);
                    }
                }
                Step::ReplaceSession(instance) => cluster.replace_session(instance),
                Step::Wait => cluster.run_for(A_WHILE),
            }
        }
        for _ in 0..6 {
            cluster.run_for(A_WHILE);
            cluster.end_all_runs();
        }
        let mut run = BTreeSet::new();
        for _ in 0..4 {
            let fire = cluster.fire();
            cluster.run_for(A_WHILE);
            run.extend(cluster.items_run_for(fire));
            cluster.end_all_runs();
            cluster.run_for(A_WHILE);
        }
        prop_assert_eq!(run, BTreeSet::from([0, 1]), "{}", cluster.trace());
        let of_item = |item: u32| MARKS.map(|mark| mark.replace('0', &item.to_string()));
        let marks = (0..2).flat_map(of_item).filter(|mark| cluster.data_of(mark).is_some());
        let marks: Vec<_> = marks.collect();
        prop_assert!(marks.is_empty(), "marks {marks:?} remain\n{}", cluster.trace());
        for instance in 0..2 {
            cluster.send_event(instance, Event::Drain);
            cluster.run_for(A_WHILE);
            prop_assert!(cluster.has_left(instance), "{}", cluster.trace());
        }
    }
}
