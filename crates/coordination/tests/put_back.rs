//! Stories of records that are changed from outside: an operator puts an older one back, or removes it.

#![expect(
    clippy::unwrap_used,
    reason = "the scripted cluster is test code outside of test functions"
)]

mod script;

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::{
    Dialect, Event, FencingToken, JavaSettings, JobConfig, LedgerState, RunSource, decode_ledger,
};
use proptest::collection::vec;
use proptest::prelude::*;
use script::{Cluster, job_of};
use sharding::ShardingItem;

const FIRST: usize = 0;
const A_WHILE: Duration = Duration::from_secs(2);
const RECORD: &str = "ledger/0";
const MARKS: [&str; 4] =
    ["sharding/0/running", "coordination/runs/0", "sharding/0/failover", "sharding/0/failovering"];

/// One instance with one item, in either dialect.
fn alone(dialect: Dialect, failover: bool) -> Cluster {
    let config = JobConfig { java: JavaSettings::of(dialect), failover, ..job_of(1) };
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

/// Fires, lets the run end, and returns the record that is left.
fn one_run(cluster: &mut Cluster) -> String {
    cluster.fire();
    cluster.run_for(A_WHILE);
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    record(cluster)
}

fn assert_unmarked(case: &str, cluster: &Cluster) {
    let left: Vec<_> = MARKS.into_iter().filter(|mark| cluster.data_of(mark).is_some()).collect();
    assert!(left.is_empty(), "{case}: {left:?} is left\n{}", cluster.story());
}

/// The next fire runs once, under a token that no run had before, and the instance can leave.
fn assert_works(case: &str, mut cluster: Cluster) {
    let before = cluster.ledger(item()).token;
    let fire = cluster.fire();
    cluster.run_for(A_WHILE);
    let runs: Vec<_> = cluster.runs_for(fire).map(|(_, start)| start.token).collect();
    assert_eq!(runs, [before.next()], "{case}\n{}", cluster.story());
    let mut tokens: Vec<_> = cluster.runs().map(|(_, start)| start.token).collect();
    tokens.dedup();
    assert!(tokens.is_sorted() && tokens.len() == cluster.runs().count(), "{case}: {tokens:?}");
    cluster.end_all_runs();
    cluster.run_for(A_WHILE);
    assert_unmarked(case, &cluster);
    cluster.tell(FIRST, Event::Drain);
    cluster.run_for(A_WHILE);
    assert!(cluster.has_left(FIRST), "{case}: it does not leave\n{}", cluster.story());
}

fn in_both_dialects() -> impl Iterator<Item = (Dialect, bool, String)> {
    let dialects = [Dialect::V2, Dialect::V3];
    let all = dialects.into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)]);
    all.map(|(dialect, failover)| (dialect, failover, format!("{dialect}, failover {failover}")))
}

#[test]
fn an_item_whose_record_was_put_back_during_its_run_runs_again() {
    for (dialect, failover, case) in in_both_dialects() {
        let mut cluster = alone(dialect, failover);
        let older = one_run(&mut cluster);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        assert!(cluster.is_executing(FIRST), "{case}\n{}", cluster.story());

        cluster.write(RECORD, &older);
        cluster.run_for(A_WHILE);
        assert!(cluster.data_of(MARKS[0]).is_some(), "{case}: its run goes on");
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);

        assert_unmarked(&case, &cluster);
        assert_eq!(cluster.runs_for(fire).count(), 1, "{case}\n{}", cluster.story());
        assert_eq!(cluster.ledger(item()).token, FencingToken(2), "{case}: {}", record(&cluster));
        assert_eq!(cluster.ledger(item()).last_fire, Some(fire), "{case}: {}", record(&cluster));
        assert_works(&case, cluster);
    }
}

#[test]
fn an_item_whose_record_was_removed_during_its_run_runs_again() {
    for (dialect, failover, case) in in_both_dialects() {
        let mut cluster = alone(dialect, failover);
        one_run(&mut cluster);
        let fire = cluster.fire();
        cluster.run_for(A_WHILE);
        cluster.remove(RECORD);
        cluster.run_for(A_WHILE);
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        assert_unmarked(&case, &cluster);
        assert_eq!(cluster.runs_for(fire).count(), 1, "{case}\n{}", cluster.story());
        assert_eq!(cluster.ledger(item()).token, FencingToken(2), "{case}: {}", record(&cluster));
        assert_works(&case, cluster);
    }
}

/// What the record said while the item ran is put back after that run has ended.
#[test]
fn a_run_that_only_a_record_shows_is_given_up() {
    for (dialect, failover, case) in in_both_dialects() {
        let mut cluster = alone(dialect, failover);
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
        let again = failover.then_some(RunSource::Failover);
        let expected: Vec<_> = [RunSource::Normal].into_iter().chain(again).collect();
        assert_eq!(runs, expected, "{case}\n{}", cluster.story());
        assert_eq!(cluster.ledger(item()).state, LedgerState::Idle, "{case}: {}", record(&cluster));
        assert_unmarked(&case, &cluster);
        assert_works(&case, cluster);
    }
}

/// The record names a run of an instance that is gone, from before the run of the present one.
#[test]
fn a_run_of_a_lost_instance_that_was_put_back_is_taken_over_once_the_present_run_has_ended() {
    for (dialect, _, case) in in_both_dialects().filter(|(_, failover, _)| *failover) {
        let mut cluster = alone(dialect, true);
        one_run(&mut cluster);
        cluster.fire();
        cluster.run_for(A_WHILE);
        let of_lost = record(&cluster).replace("10.0.0.1@-@1", "10.0.0.9@-@9");
        let of_lost = of_lost.replace("\"token\":2", "\"token\":1");
        assert!(decode_ledger(of_lost.as_bytes()).unwrap().token == FencingToken(1), "{of_lost}");

        cluster.write(RECORD, &of_lost);
        cluster.run_for(A_WHILE);
        assert_eq!(cluster.n_executing(FIRST), 1, "{case}\n{}", cluster.story());
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        let last = cluster.runs().last().map(|(_, start)| (start.source, start.token));
        let expected = Some((RunSource::Failover, FencingToken(3)));
        assert_eq!(last, expected, "{case}\n{}", cluster.story());
        cluster.end_all_runs();
        cluster.run_for(A_WHILE);
        assert_unmarked(&case, &cluster);
        assert_works(&case, cluster);
    }
}

/// What happens to a cluster of two instances and two items.
#[derive(Clone, Copy, Debug)]
enum Act {
    Fire,
    EndRuns(usize),
    /// The record of an item becomes one that it was before, counted from the last one back.
    PutBack(u32, usize),
    Remove(u32),
    Reconnect(usize),
    Wait,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        3 => Just(Act::Fire),
        2 => (0..2_usize).prop_map(Act::EndRuns),
        3 => (0..2_u32, 1..6_usize).prop_map(|(item, back)| Act::PutBack(item, back)),
        1 => (0..2_u32).prop_map(Act::Remove),
        1 => (0..2_usize).prop_map(Act::Reconnect),
        2 => Just(Act::Wait),
    ];
    vec(act, 1..16)
}

/// The records that each item had, each once in a row.
#[derive(Default)]
struct Former([Vec<String>; 2]);

impl Former {
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
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Whichever records are put back or removed, and whenever: soon after it is over every item runs, and no mark is left.
    #[test]
    fn every_item_runs_again_whichever_records_were_changed(
        acts in acts(), third in any::<bool>(), failover in any::<bool>(),
    ) {
        let dialect = if third { Dialect::V3 } else { Dialect::V2 };
        let config = JobConfig { java: JavaSettings::of(dialect), failover, ..job_of(2) };
        let mut cluster = match dialect {
            Dialect::V2 => Cluster::settled(2, &config),
            Dialect::V3 => Cluster::settled_with(2, &config, |c, _| c.speaking(Dialect::V3)),
        };
        let mut former = Former::default();
        for act in acts {
            former.note(&cluster);
            match act {
                Act::Fire => { cluster.fire(); }
                Act::EndRuns(instance) => cluster.end_runs(instance),
                Act::PutBack(item, back) => if let Some(record) = former.back(item, back) {
                    cluster.damage(&format!("ledger/{item}"), record);
                },
                Act::Remove(item) => {
                    let node = format!("ledger/{item}");
                    if cluster.data_of(&node).is_some() {
                        cluster.remove(&node);
                    }
                }
                Act::Reconnect(instance) => cluster.reconnect(instance),
                Act::Wait => cluster.run_for(A_WHILE),
            }
        }
        for _ in 0..6 {
            cluster.run_for(A_WHILE);
            cluster.end_all_runs();
        }
        let mut again = BTreeSet::new();
        for _ in 0..4 {
            let fire = cluster.fire();
            cluster.run_for(A_WHILE);
            again.extend(cluster.items_run_for(fire));
            cluster.end_all_runs();
            cluster.run_for(A_WHILE);
        }
        prop_assert_eq!(again, BTreeSet::from([0, 1]), "{}", cluster.story());
        let of_item = |item: u32| MARKS.map(|mark| mark.replace('0', &item.to_string()));
        let marks = (0..2).flat_map(of_item).filter(|mark| cluster.data_of(mark).is_some());
        let marks: Vec<_> = marks.collect();
        prop_assert!(marks.is_empty(), "{marks:?} are left\n{}", cluster.story());
        for instance in 0..2 {
            cluster.tell(instance, Event::Drain);
            cluster.run_for(A_WHILE);
            prop_assert!(cluster.has_left(instance), "{}", cluster.story());
        }
    }
}
