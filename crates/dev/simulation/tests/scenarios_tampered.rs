//! Scenarios can fail: tampered histories are not accepted.

use checker::history::{ExecEvent, Fact, Record, RegOp};
use checker::{Options, Verdict};
use simulation::scenario::{self, Judgement, Scenario, Seen};
use testkit::harness::{ClusterOptions, ScenarioCluster};
use testkit::run;

const SEED: u64 = 1;

fn play(scenario: &Scenario) -> Judgement {
    run(async {
        let cluster = ScenarioCluster::with_options(ClusterOptions::new(SEED));
        let played = scenario::run(scenario, Box::new(cluster), SEED, &Options::default()).await;
        played.expect("a simulated cluster always ends with a history")
    })
}

fn judge(scenario: &Scenario, records: &[Record]) -> Judgement {
    let seen = Seen::new(records, ScenarioCluster::PERIOD, ScenarioCluster::SESSION_TIMEOUT);
    Judgement::of(scenario, seen, Ok(()), &Options::default())
}

/// Replaces text in the data of nodes whose path contains `node`. Skips the first `nth` writes that
/// contain it.
fn rewrite(records: &mut [Record], node: &str, from: &str, to: &str, nth: usize) {
    let mut seen = 0;
    for record in records {
        let Fact::Reg { ops, .. } = &mut record.fact else { continue };
        for op in ops {
            if let RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. } = op
                && path.contains(node)
                && data.contains(from)
            {
                seen += 1;
                if seen > nth {
                    *data = data.replace(from, to);
                }
            }
        }
    }
}

/// Removes writes of data that contains `data` to nodes whose path contains `node`.
fn drop_writes(records: &mut [Record], node: &str, data: &str, since: u64) {
    for record in records.iter_mut().filter(|record| record.mt > since) {
        let Fact::Reg { ops, .. } = &mut record.fact else { continue };
        ops.retain(|op| match op {
            RegOp::Create { path, data: written, .. } | RegOp::Set { path, data: written, .. } => {
                !(path.contains(node) && written.contains(data))
            }
            RegOp::Delete { .. } | RegOp::Check { .. } => true,
        });
    }
}

/// Changes the result of all runs of a process.
fn end_as(records: &mut [Record], p: &str, how: &str) {
    for record in records.iter_mut().filter(|record| record.p == p) {
        if let Fact::Exec { ev: ExecEvent::End, result, .. } = &mut record.fact {
            *result = Some(how.to_owned());
        }
    }
}

/// Returns the time of the first fault of this kind.
fn fault(records: &[Record], wanted: &str) -> u64 {
    let is_meant =
        |record: &&Record| matches!(&record.fact, Fact::Nemesis { kind, .. } if kind == wanted);
    records.iter().find(is_meant).expect("a fault of this kind").mt
}

/// Inserts a copy of the first matching record at a later time.
fn repeat(records: &mut Vec<Record>, mt: u64, is_meant: impl Fn(&Fact) -> bool) {
    let mut again =
        records.iter().find(|record| is_meant(&record.fact)).expect("such a record").clone();
    again.mt = mt;
    let place = records.partition_point(|record| record.mt <= mt);
    records.insert(place, again);
}

fn sets(fact: &Fact, node: &str) -> bool {
    let Fact::Reg { ops, .. } = fact else { return false };
    ops.iter().any(|op| writes_to(op, node))
}

/// Returns true if the operation writes a node whose path contains `node`.
fn writes_to(op: &RegOp, node: &str) -> bool {
    matches!(op, RegOp::Create { path, .. } | RegOp::Set { path, .. } if path.contains(node))
}

type Tamper = fn(&mut Vec<Record>);

/// Scenario, name of the case, tampering, and part of the expected sentence.
const ROWS: [(&str, &str, Tamper, &str); 26] = [
    (
        "F01",
        "no instance takes over",
        |records| drop_writes(records, "/ledger/", "FAILOVER", 0),
        "was run again under token None",
    ),
    (
        "F02",
        "the takeovers come late",
        |records| {
            let takes = |fact: &Fact| sets(fact, "/failover") && sets(fact, "/ledger/");
            for record in records.iter_mut().filter(|record| takes(&record.fact)) {
                record.mt += 90_000_000_000;
            }
        },
        "was taken over after",
    ),
    (
        "F03",
        "the runs of c were cancelled when it left",
        |records| end_as(records, "c", "cancelled"),
        "did not succeed before c left",
    ),
    (
        "F04",
        "the second takeover has the token of the first",
        |records| {
            rewrite(
                records,
                "/ledger/",
                "\"source\":\"FAILOVER\",\"token\":3",
                "\"source\":\"FAILOVER\",\"token\":2",
                0,
            )
        },
        "run again under",
    ),
    (
        "F05",
        "the resource accepts the rejected effects",
        |records| {
            for record in records {
                if let Fact::Effect { accepted, .. } = &mut record.fact {
                    *accepted = true;
                }
            }
        },
        "were accepted; expected is",
    ),
    (
        "F06",
        "items are resharded after the pause",
        |records| {
            let mt = fault(records, "pause") + 1;
            repeat(records, mt, |fact| sets(fact, "coordination/assignment"));
        },
        "items were resharded 1 times",
    ),
    (
        "F07",
        "a has the same id in its next session",
        |records| {
            let ids: Vec<String> = records
                .iter()
                .filter(|record| record.p == "a")
                .filter_map(|record| {
                    let Fact::Session { instance, .. } = &record.fact else { return None };
                    instance.clone()
                })
                .collect();
            let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return };
            for record in records {
                let Fact::Reg { ops, .. } = &mut record.fact else { continue };
                for op in ops {
                    if let RegOp::Create { path, .. } = op {
                        *path = path.replace(last.as_str(), first);
                    }
                }
            }
        },
        "a new id in each of its three sessions",
    ),
    (
        "F08",
        "the run is cancelled by the reconnect",
        |records| end_as(records, "a", "cancelled"),
        "ended as Some",
    ),
    (
        "F09",
        "no other leader is elected",
        |records| {
            let cut = fault(records, "partition");
            drop_writes(records, "coordination/term", "", cut);
        },
        "the election of another leader took None",
    ),
    (
        "F10",
        "no leader reshards after the crash",
        |records| {
            let crash = fault(records, "crash");
            drop_writes(records, "coordination/assignment", "", crash);
        },
        "the next resharding took None",
    ),
    (
        "F12",
        "the last request is lost",
        |records| rewrite(records, "coordination/assignment", "\"handled\":", "\"handled\":1", 0),
        "the last assignment has handled request",
    ),
    (
        "F13",
        "the old owner runs the item that moved",
        |records| {
            for record in records.iter_mut().filter(|record| record.p == "b") {
                if matches!(record.fact, Fact::Exec { .. }) {
                    record.p = "a".to_owned();
                }
            }
        },
        "was run by",
    ),
    (
        "F14",
        "a claim leads to two runs",
        |records| {
            let mt = fault(records, "lose_reply") + 1_000_000_000;
            repeat(records, mt, |fact| matches!(fact, Fact::Exec { ev: ExecEvent::Start, .. }));
        },
        "led to 2 runs",
    ),
    (
        "F16",
        "the noted misfire is lost after the crash",
        |records| {
            let crash = fault(records, "crash");
            drop_writes(records, "/ledger/", "\"source\":\"MISFIRE\"", crash);
        },
        "was not run after it",
    ),
    (
        "F20",
        "surplus items are not retired",
        |records| rewrite(records, "/ledger/", "retired", "idle", 0),
        "was not retired",
    ),
    (
        "F22",
        "the lost runs are recorded as succeeded",
        |records| rewrite(records, "/ledger/", "interrupted", "succeeded", 0),
        "was recorded as Some(\"succeeded\")",
    ),
    (
        "F28",
        "a failed item is recorded as succeeded",
        |records| rewrite(records, "/ledger/0", "failed", "succeeded", 0),
        "recorded as Some(\"succeeded\"), not failed",
    ),
    (
        "F29",
        "a quick item waits for the slow one",
        |records| {
            for record in records {
                if matches!(&record.fact, Fact::Exec { run, .. } if run.item == 3) {
                    record.wt += 5_000;
                }
            }
        },
        "with a delay of",
    ),
    (
        "F38",
        "no process takes over the run of the killed holder",
        |records| drop_writes(records, "/ledger/", "FAILOVER", 0),
        "was run again under token None",
    ),
    (
        "F38",
        "a second run of the group begins beside the first",
        |records| {
            let mt = fault(records, "crash") - 1_000_000_000;
            repeat(records, mt, |fact| matches!(fact, Fact::Exec { ev: ExecEvent::Start, .. }));
        },
        "2 runs of the group at once",
    ),
    (
        "F39",
        "no process takes over the run of the killed holder in the further slot",
        |records| drop_writes(records, "/ledger/1.1", "FAILOVER", 0),
        "was run again under token None",
    ),
    (
        "F39",
        "a fire is noted that begins a run beside the others",
        |records| drop_writes(records, ".1", "NORMAL", 0),
        "with a gap from None; the gap must cover",
    ),
    (
        "F40",
        "the items of the killed zone stay with it",
        |records| {
            let (killed, stopped) = (fault(records, "crash"), fault(records, "pause"));
            let is_between = |mt: u64| (killed..stopped).contains(&mt);
            let keep_owners = |record: &mut Record| {
                if let Fact::Reg { ops, .. } = &mut record.fact {
                    ops.retain(|op| !writes_to(op, "/sharding/"));
                }
            };
            records.iter_mut().filter(|record| is_between(record.mt)).for_each(keep_owners);
        },
        "without zone y, the zones had",
    ),
    (
        "F40",
        "no process takes over the run of a killed process",
        |records| drop_writes(records, "/ledger/", "FAILOVER", 0),
        "was run again under token None",
    ),
    (
        "F41",
        "the first absence of an instance counts for the second",
        |records| {
            let removes =
                |op: &RegOp| matches!(op, RegOp::Delete { path } if path.contains("/servers/"));
            for record in records {
                if matches!(&record.fact, Fact::Reg { ops, .. } if ops.iter().any(removes)) {
                    record.mt -= 15_000_000_000;
                }
            }
        },
        "was removed after",
    ),
    (
        "F41",
        "the removal of a server is not audited",
        |records| rewrite(records, "/coordination/audit", "\"expired\"", "\"removed\"", 0),
        "is not in the audit",
    ),
];

#[test]
fn tampered_history_is_invalid_and_names_the_expectation() {
    for (id, case, tamper, expected) in ROWS {
        let scenario = scenario::find(id).expect("a scenario of this number");
        let played = play(scenario);
        assert_eq!(played.verdict(), Verdict::Valid, "{id} without tampering: {played}");
        let mut records = played.records;
        tamper(&mut records);
        let judged = judge(scenario, &records);
        assert_eq!(judged.verdict(), Verdict::Invalid, "{id}, {case}: {judged}");
        let says_so = judged.unmet.iter().any(|sentence| sentence.contains(expected));
        assert!(says_so, "{id}, {case}: no sentence contains {expected:?} in {:#?}", judged.unmet);
    }
}

/// A run that did not reach its subject proves nothing, even if all expectations hold.
#[test]
fn history_without_its_fault_is_not_valid() {
    let quiet = |kind: &'static str| {
        move |records: &mut Vec<Record>| {
            for record in records {
                if let Fact::Nemesis { kind: of, outcome, .. } = &mut record.fact
                    && of == kind
                {
                    *outcome = checker::history::FaultOutcome::Skipped;
                }
            }
        }
    };
    for (id, kind) in [("F01", "crash"), ("F06", "pause"), ("F15", "lose_reply"), ("F25", "skew")] {
        let scenario = scenario::find(id).expect("a scenario of this number");
        let mut records = play(scenario).records;
        quiet(kind)(&mut records);
        let judged = judge(scenario, &records);
        assert!(!judged.unreached.is_empty(), "{id} without {kind}: {judged}");
        assert_ne!(judged.verdict(), Verdict::Valid, "{id} without {kind}: {judged}");
    }
}
