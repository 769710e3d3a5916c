//! S24: valid and invalid runs of an item at the same time, and the rules that hold for each slot
//! or for all slots of an item.

use checker::Property::{
    self, L0, L2, L4, L7, S1, S1a, S1b, S2, S3, S4, S5, S6, S7, S8, S10, S11, S12, S13, S15, S16,
    S17, S20, S21, S23, S24,
};
use checker::Verdict;
use checker::history::RunId;
use serde_json::{Value, json};

use crate::story::verdict::{assert_bad, assert_good, broken};
use crate::story::{Story, fire, further};

/// Slots of item 1, which belongs to `b`.
const SLOT: u32 = further(1, 1);
const NEXT: u32 = further(1, 2);

/// A job whose items may have this many runs at the same time.
fn allow<'s>(s: &'s mut Story, max: u32, members: &[&str]) -> &'s mut Story {
    let overlap = if max > 1 { json!(format!("parallel {max}")) } else { json!(null) };
    s.configure(move |config| config["overlap"] = overlap).assign(members)
}

/// Item 1 of `b` runs fire 1.
fn one_run(s: &mut Story, max: u32) -> &mut Story {
    round(allow(s, max, &["a", "b"]), 1).claim("b", 1, 1)
}

/// Item 1 of `b` runs fire 1, and fire 2 in slot 1.
fn two_runs(s: &mut Story, max: u32) -> &mut Story {
    round(one_run(s, max), 2).add_slot("b", SLOT).beside("b", SLOT, "NORMAL", 2)
}

/// Item 0 of `a` runs fire `k`.
fn round(s: &mut Story, k: i64) -> &mut Story {
    s.at(k as f64 * 10.0 + 0.01).claim("a", 0, k).done("a", 0)
}

/// Both runs of item 1 end.
fn both_end(s: &mut Story) -> &mut Story {
    s.done("b", 1).done("b", SLOT)
}

/// Item 1 has run fires 1 and 2, and its slots are idle.
fn idle_slots(s: &mut Story, max: u32) -> &mut Story {
    let s = two_runs(s, max).at(21.0);
    both_end(s)
}

#[test]
fn s24_lawful_parallel_runs_are_valid() {
    assert_good(
        S24,
        &[
            ("two fires run at the same time", |s| {
                both_end(two_runs(s, 2).effect(1, true).effect(SLOT, true).at(21.0));
                round(s, 3).claim("b", 1, 3).done("b", 1).at(32.0);
            }),
            ("the slot gets its fires again and again", |s| {
                two_runs(s, 2).at(21.0).done("b", SLOT);
                round(s, 3).beside("b", SLOT, "NORMAL", 3).at(31.0);
                both_end(s).at(32.0);
            }),
            ("a noted fire runs in the slot that ends first", |s| {
                round(two_runs(s, 2), 3).note("b", 1, 3).at(31.0).done("b", SLOT);
                s.beside("b", SLOT, "MISFIRE", 3).at(32.0);
                both_end(s).at(33.0);
            }),
            ("a fire merges the noted one", |s| {
                round(two_runs(s, 2), 3).note("b", 1, 3).at(39.9).done("b", SLOT);
                round(s, 4).beside("b", SLOT, "NORMAL", 4).at(42.0);
                both_end(s).at(43.0);
            }),
            ("the holder is lost, and both runs are taken over", |s| {
                two_runs(s, 2).crash("b").at(25.0).expire("b");
                s.orphan("a", 1).orphan("a", SLOT).take_over("a", 1).take_over("a", SLOT);
                s.assign(&["a"]).at(26.0).effect(SLOT, true).done("a", SLOT).done("a", 1);
                s.assign(&["a"]);
                round(s, 3).claim("a", 1, 3).done("a", 1).at(32.0);
            }),
            ("the leader takes the run of a further slot over at once", |s| {
                two_runs(s, 2).at(21.0).done("b", 1).crash("b").at(25.0).expire("b");
                s.take_over_at_once("a", SLOT).assign(&["a"]).at(26.0).done("a", SLOT);
                s.assign(&["a"]).at(27.0);
            }),
            ("the run of a further slot is cancelled alone", |s| {
                two_runs(s, 2).cancel(SLOT).at(21.0).stop("b", SLOT, "cancelled");
                s.release("b", SLOT, "interrupted").at(22.0).done("b", 1).at(23.0);
            }),
            ("the item moves once all of its slots are idle", |s| {
                two_runs(s, 2).at(21.0).done("b", 1).at(22.0).join("c").assign(&["a", "c"]);
                s.at(23.0).done("b", SLOT).assign(&["a", "c"]);
                round(s, 3).claim("c", 1, 3).done("c", 1).at(32.0);
            }),
            ("the item retires once all of its slots are idle", |s| {
                two_runs(s, 2).at(21.0).done("b", 1);
                s.configure(|config| config["shardingTotalCount"] = json!(1));
                s.assign(&["a", "b"]).at(22.0).done("b", SLOT).assign(&["a", "b"]);
                s.heal();
                for k in 3..=5 {
                    round(s, k);
                }
            }),
            ("the limit is lowered to one, and the fire waits for the last run", |s| {
                two_runs(s, 2).at(21.0);
                allow(s, 1, &["a", "b"]).at(22.0).done("b", 1);
                round(s, 3).note("b", 1, 3).at(31.0).done("b", SLOT);
                s.claim_as("b", 1, "MISFIRE", fire(3)).at(32.0).done("b", 1).at(33.0);
            }),
            ("the limit is lowered to two, and runs beyond it are taken over", |s| {
                round(two_runs(s, 3), 3).add_slot("b", NEXT).beside("b", NEXT, "NORMAL", 3);
                allow(s.at(31.0), 2, &["a", "b"]).crash("b").at(35.0).expire("b");
                for i in [1, SLOT, NEXT] {
                    s.orphan("a", i).take_over("a", i).effect(i, true);
                }
                s.assign(&["a"]).at(36.0).done("a", 1).done("a", SLOT).done("a", NEXT);
                s.assign(&["a"]).at(37.0);
            }),
            ("a manual run in the first slot goes on beside a fire", |s| {
                round(allow(s, 2, &["a", "b"]), 1).claim("b", 1, 1).done("b", 1).at(15.0);
                s.ledger("b", 1, |l| l["request"] = json!({ "id": "x", "at": fire(1) + 5_000 }));
                s.tamper(|l| l["request"] = json!(null));
                s.claim_as("b", 1, "MANUAL", fire(1) + 5_000);
                round(s, 2).add_slot("b", SLOT).beside("b", SLOT, "NORMAL", 2).at(21.0);
                both_end(s).at(22.0);
            }),
            ("the item is disabled, and the run in its further slot goes on", |s| {
                two_runs(s, 2).at(21.0).done("b", 1);
                s.write("operator", "/j/sharding/1/disabled", Some("")).at(22.0);
                round(s, 3).ledger("b", 1, |l| {
                    l["previous"] = l["last"].clone();
                    (l["last"], l["outcome"]) = (json!(fire(3)), json!("disabled"));
                });
                s.at(31.0).done("b", SLOT).at(32.0);
            }),
            ("tokens of two slots are independent", |s| {
                for k in 1..=3 {
                    allow(s, 2, &["a", "b"]);
                    round(s, k).claim("b", 1, k).effect(1, true).done("b", 1);
                }
                round(s, 4).claim("b", 1, 4).effect(1, true);
                round(s, 5).add_slot("b", SLOT).beside("b", SLOT, "NORMAL", 5);
                both_end(s.effect(SLOT, true).effect(1, true)).at(52.0);
            }),
            ("a fire is completed once its run in a further slot has ended", |s| {
                both_end(two_runs(s, 2).once("a", "started", 2, 1).at(21.0)).at(22.0);
                s.once("a", "completed", 2, 1).at(23.0);
            }),
            ("a noted fire waits for as many runs as the job allows", |s| {
                two_runs(s, 2).heal();
                for k in 3..=6 {
                    round(s, k).note("b", 1, k);
                }
                s.at(61.0).done("b", SLOT).beside("b", SLOT, "MISFIRE", 6).at(62.0);
                both_end(s).at(63.0);
            }),
            ("a noted fire waits for a run of a further slot", |s| {
                two_runs(s, 2).at(21.0);
                allow(s, 1, &["a", "b"]).at(22.0).done("b", 1).heal();
                for k in 3..=6 {
                    round(s, k).note("b", 1, k);
                }
                s.at(61.0).done("b", SLOT).claim_as("b", 1, "MISFIRE", fire(6)).at(62.0);
                s.done("b", 1).at(63.0);
            }),
            ("each run writes the progress of its slot", |s| {
                two_runs(s, 2).progress("b", 1, None).progress("b", SLOT, None).at(21.0);
                both_end(s).at(22.0);
            }),
        ],
    );
}

#[test]
fn s24_a_run_in_a_further_slot_settles_its_fire_in_the_record_of_the_item() {
    assert_bad(
        S24,
        &[S1, S1a, S3, S7, S13, L0, L2, L4],
        &[
            ("the claim does not write the record of the item", |s| {
                round(one_run(s, 2), 2).add_slot("b", SLOT);
                let before = s.ledgers[&1].clone();
                let mut ops = s.beside_ops("b", SLOT, ("NORMAL", 2), |_, _| {});
                ops.remove(1);
                s.ledgers.insert(1, before);
                s.versions_back("/j/ledger/1");
                both_end(s.commit("b", ops).start("b", SLOT).at(21.0)).at(22.0);
            }),
            ("the record of the item stays as it is", |s| {
                round(one_run(s, 2), 2).add_slot("b", SLOT);
                let before = s.ledgers[&1].clone();
                s.beside_with("b", SLOT, ("NORMAL", 2), |item, _| *item = before);
                both_end(s.start("b", SLOT).at(21.0)).at(22.0);
            }),
            ("the fire stays noted", |s| {
                round(two_runs(s, 2), 3).note("b", 1, 3).at(31.0).done("b", SLOT);
                let noted = s.ledgers[&1]["misfire"].clone();
                s.beside_with("b", SLOT, ("MISFIRE", 3), |item, _| item["misfire"] = noted);
                s.start("b", SLOT).at(32.0);
                both_end(s).at(33.0);
            }),
            ("the claim ends the run of the first slot", |s| {
                round(one_run(s, 2), 2).add_slot("b", SLOT).stop("b", 1, "ok");
                s.beside_with("b", SLOT, ("NORMAL", 2), |item, _| {
                    (item["state"], item["outcome"]) = (json!("idle"), json!("succeeded"));
                });
                s.start("b", SLOT).at(21.0).done("b", SLOT).at(22.0);
            }),
            ("the claim drops the request of the item", |s| {
                round(one_run(s, 2), 2);
                s.ledger("b", 1, |l| l["request"] = json!({ "id": "x", "at": fire(1) + 5_000 }));
                s.add_slot("b", SLOT);
                s.beside_with("b", SLOT, ("NORMAL", 2), |item, _| item["request"] = json!(null));
                both_end(s.start("b", SLOT).at(21.0)).at(22.0);
            }),
            ("a manual run begins in a further slot", |s| {
                round(one_run(s, 2), 2).add_slot("b", SLOT);
                s.beside_with("b", SLOT, ("MANUAL", 2), |_, _| {}).start("b", SLOT).at(21.0);
                both_end(s).at(22.0);
            }),
            ("two runs begin with one write", |s| {
                round(one_run(s, 3), 2).add_slot("b", SLOT).add_slot("b", NEXT);
                let mut ops = s.beside_ops("b", SLOT, ("NORMAL", 2), |_, _| {});
                let again = s.beside_ops("b", NEXT, ("NORMAL", 2), |_, _| {});
                ops.extend(again.into_iter().skip(2));
                s.versions_back("/j/ledger/1");
                s.commit("b", ops).start("b", SLOT).start("b", NEXT).at(21.0);
                both_end(s.done("b", NEXT)).at(22.0);
            }),
        ],
    );
}

#[test]
fn s24_no_run_begins_beyond_the_limit_of_the_item() {
    assert_bad(
        S24,
        &[L0, L4],
        &[
            ("a third run begins", |s| {
                round(two_runs(s, 2), 3).add_slot("b", NEXT).beside("b", NEXT, "NORMAL", 3);
                both_end(s.at(31.0).done("b", NEXT)).at(32.0);
            }),
            ("the job has no parallel runs", |s| {
                both_end(two_runs(s, 1).at(21.0)).at(22.0);
            }),
            ("the first slot runs beside as many as the job allows now", |s| {
                two_runs(s, 2).at(21.0);
                allow(s, 1, &["a", "b"]).at(22.0).done("b", 1);
                round(s, 3).claim("b", 1, 3).at(31.0);
                both_end(s).at(32.0);
            }),
            ("the first slot runs a request beside the runs that the job allows", |s| {
                two_runs(s, 2).at(21.0);
                allow(s, 1, &["a", "b"]).at(22.0).done("b", 1).at(25.0);
                s.ledger("b", 1, |l| l["request"] = json!({ "id": "x", "at": fire(2) + 5_000 }));
                s.tamper(|l| l["request"] = json!(null));
                s.claim_as("b", 1, "MANUAL", fire(2) + 5_000).at(26.0);
                both_end(s).at(27.0);
            }),
            ("an orphaned run counts", |s| {
                two_runs(s, 2).at(21.0).stop("b", SLOT, "cancelled");
                s.ledger("b", SLOT, |l| l["state"] = json!("orphan"));
                s.write("b", "/j/sharding/1.1/running", None);
                round(s, 3).add_slot("b", NEXT).beside("b", NEXT, "NORMAL", 3).at(31.0);
                s.take_over("a", SLOT).at(32.0).done("a", SLOT).done("b", 1).done("b", NEXT);
            }),
            ("the slot is beyond the limit", |s| {
                round(two_runs(s, 3), 3).add_slot("b", NEXT).beside("b", NEXT, "NORMAL", 3);
                both_end(s.at(31.0)).done("b", NEXT);
                round(allow(s, 2, &["a", "b"]), 4).beside("b", NEXT, "NORMAL", 4).at(42.0);
                s.done("b", NEXT).at(43.0);
            }),
        ],
    );
}

/// Adds the slot with other records.
fn added<'s>(
    s: &'s mut Story,
    p: &str,
    change: impl FnOnce(&mut Value, &mut Value),
) -> &'s mut Story {
    round(one_run(s, 2).at(11.0).done("b", 1), 2).claim("b", 1, 2).done("b", 1);
    s.add_slot_with(p, SLOT, change).at(22.0)
}

#[test]
fn s24_the_record_of_an_item_names_each_further_slot() {
    assert_bad(
        S24,
        &[S4, S8],
        &[
            ("a slot gets a record, and the item does not name it", |s| {
                added(s, "b", |item, _| item["slots"] = json!(0));
            }),
            ("the item names a slot without a record", |s| {
                added(s, "b", |item, _| item["slots"] = json!(2));
            }),
            ("another instance adds the slot", |s| {
                added(s, "a", |_, _| {});
            }),
            ("the item names fewer slots than before", |s| {
                idle_slots(s, 2).ledger("b", 1, |l| l["slots"] = json!(null)).at(22.0);
            }),
            ("the record of a further slot notes a fire", |s| {
                added(s, "b", |_, slot| {
                    slot["misfire"] = json!({ "first": fire(2), "last": fire(2), "count": 1 });
                });
            }),
            ("the record of a further slot has a request", |s| {
                idle_slots(s, 2)
                    .ledger("b", SLOT, |l| l["request"] = json!({ "id": "x", "at": 1 }));
            }),
            ("the record of a further slot names slots", |s| {
                idle_slots(s, 2).ledger("b", SLOT, |l| l["slots"] = json!(1)).at(22.0);
            }),
            ("a further slot retires", |s| {
                idle_slots(s, 2).ledger("b", SLOT, |l| l["state"] = json!("retired")).at(22.0);
            }),
            ("a further slot is marked as misfired", |s| {
                idle_slots(s, 2).write("b", "/j/sharding/1.1/misfire", Some("")).at(22.0);
            }),
            ("a further slot has an owner", |s| {
                idle_slots(s, 2).write("b", "/j/sharding/1.1/instance", Some("b")).at(22.0);
            }),
        ],
    );
}

#[test]
fn s24_no_more_runs_of_an_item_have_effects_than_its_job_allows() {
    assert_bad(
        S24,
        &[S1, L4],
        &[
            ("a run of a slot beyond the limit goes on", |s| {
                round(two_runs(s, 3), 3).add_slot("b", NEXT).beside("b", NEXT, "NORMAL", 3);
                let former = s.effect(NEXT, true).run_id(NEXT);
                both_end(s.at(31.0)).release("b", NEXT, "failed");
                round(allow(s, 2, &["a", "b"]), 4).claim("b", 1, 4).effect(1, true);
                round(s, 5).beside("b", SLOT, "NORMAL", 5).effect(SLOT, true).at(51.0);
                both_end(s).stop_run("b", former, "error").at(52.0);
            }),
            ("the first slot runs on beside the only run that the job allows now", |s| {
                two_runs(s, 2).effect(1, true).at(21.0).release("b", SLOT, "failed");
                let former = s.run_id(SLOT);
                allow(s.effect(SLOT, true), 1, &["a", "b"]).at(22.0).done("b", 1);
                round(s, 3).claim("b", 1, 3).effect(1, true).at(31.0).done("b", 1);
                s.stop_run("b", former, "error").at(32.0);
            }),
            ("two runs of further slots go on", |s| {
                round(two_runs(s, 3), 3).add_slot("b", NEXT).beside("b", NEXT, "NORMAL", 3);
                s.effect(SLOT, true).effect(NEXT, true).at(31.0).done("b", 1);
                let former = [s.run_id(SLOT), s.run_id(NEXT)];
                s.release("b", SLOT, "failed").release("b", NEXT, "failed");
                allow(s, 2, &["a", "b"]);
                round(s, 4).claim("b", 1, 4).effect(1, true).at(41.0).done("b", 1);
                for run in former {
                    s.stop_run("b", run, "error");
                }
                s.at(42.0);
            }),
        ],
    );
}

type Case = (Property, &'static [Property], &'static str, fn(&mut Story));

/// A cluster whose job queues or cancels instead after two runs began.
fn overlaps<'s>(s: &'s mut Story, overlap: &'static str) -> &'s mut Story {
    two_runs(s, 2).at(21.0).configure(move |config| config["overlap"] = json!(overlap));
    s.assign(&["a", "b"]).at(22.0).done("b", 1)
}

#[test]
fn rules_hold_for_each_slot_and_for_all_slots_of_an_item() {
    let rows: &[Case] = &[
        (S1, &[S24], "a record begins with a run", |s| {
            round(one_run(s, 2), 2);
            s.beside_with("b", SLOT, ("NORMAL", 2), |item, _| item["slots"] = json!(1));
            both_end(s.start("b", SLOT).at(21.0)).at(22.0);
        }),
        (S1, &[S1a, S3], "a claim keeps the token", |s| {
            idle_slots(s, 2);
            round(s, 3).claim("b", 1, 3);
            round(s, 4);
            s.beside_with("b", SLOT, ("NORMAL", 4), |_, slot| slot["token"] = json!(1));
            both_end(s.start("b", SLOT).at(41.0)).at(42.0);
        }),
        (S1, &[L0], "a claim replaces a run", |s| {
            two_runs(s, 2).at(21.0).ledger("b", SLOT, |l| l["fire"] = json!(fire(1))).at(22.0);
            s.ledger("b", SLOT, |l| l["fire"] = json!(fire(2)));
            both_end(s).at(23.0);
        }),
        (S1, &[L4], "two runs of a further slot have effects at the same time", |s| {
            let former = two_runs(s, 2).effect(SLOT, true).run_id(SLOT);
            s.at(21.0).release("b", SLOT, "failed");
            round(s, 3).beside("b", SLOT, "NORMAL", 3).effect(SLOT, true).at(31.0);
            both_end(s.stop_run("b", former, "error")).at(32.0);
        }),
        (S1a, &[S24, S3], "a fire of the first slot is claimed in a further one", |s| {
            one_run(s, 2).add_slot("b", SLOT).beside("b", SLOT, "NORMAL", 1).at(11.0);
            both_end(s).at(12.0);
        }),
        (S1a, &[S24], "a fire of a further slot is claimed in the first one", |s| {
            two_runs(s, 2).at(21.0).done("b", 1).claim_as("b", 1, "MISFIRE", fire(2)).at(22.0);
            both_end(s).at(23.0);
        }),
        (S1a, &[], "a fire runs twice in a further slot", |s| {
            both_end(two_runs(s, 2).start("b", SLOT).at(21.0)).at(22.0).stop("b", SLOT, "ok");
        }),
        (S1b, &[], "the resource accepts a stale token of a slot", |s| {
            let former = two_runs(s, 2).effect(SLOT, true).run_id(SLOT);
            s.at(21.0).done("b", SLOT);
            round(s, 3).beside("b", SLOT, "NORMAL", 3).effect(SLOT, true);
            both_end(s.effect_of(former, true).at(31.0)).at(32.0);
        }),
        (S1b, &[], "a run of another slot did not begin", |s| {
            let run = RunId { slot: 2, ..two_runs(s, 3).run_id(SLOT) };
            both_end(s.effect_of(run, true).at(21.0)).at(22.0);
        }),
        (S2, &[S24], "another instance claims in a further slot", |s| {
            round(one_run(s, 2), 2).add_slot("b", SLOT).beside("a", SLOT, "NORMAL", 2).at(21.0);
            s.done("b", 1).done("a", SLOT).at(22.0);
        }),
        (S2, &[], "a pending item runs in a further slot", |s| {
            round(one_run(s, 2).join("c").assign(&["a", "c"]), 2).add_slot("b", SLOT);
            both_end(s.beside("b", SLOT, "NORMAL", 2).at(21.0)).assign(&["a", "c"]).at(22.0);
        }),
        (S3, &[], "a claim in a further slot names another previous fire", |s| {
            round(one_run(s, 2), 2).add_slot("b", SLOT);
            s.beside_with("b", SLOT, ("NORMAL", 2), |item, _| item["previous"] = json!(1));
            both_end(s.start("b", SLOT).at(21.0)).at(22.0);
        }),
        (S3, &[], "a claim in a further slot loses a noted fire", |s| {
            round(two_runs(s, 2), 3).note("b", 1, 3).at(39.9).done("b", SLOT);
            round(s, 4);
            s.beside_with("b", SLOT, ("NORMAL", 4), |_, slot| slot["merged"] = json!(null));
            both_end(s.start("b", SLOT).at(42.0)).at(43.0);
        }),
        (S3, &[], "the last fire of a further slot is changed alone", |s| {
            idle_slots(s, 2).ledger("b", SLOT, |l| l["last"] = json!(fire(9))).at(22.0);
        }),
        (S3, &[], "a run of a further slot is recorded as succeeded and failed", |s| {
            two_runs(s, 2).at(21.0).stop("b", SLOT, "error").release("b", SLOT, "succeeded");
            s.done("b", 1).at(22.0);
        }),
        (S3, &[L0], "a fire passes while the job allows one run more", |s| {
            s.configure(|config| config["misfire"] = json!(false));
            round(one_run(s, 2), 2);
            round(s, 3).hide_gaps().add_slot("b", SLOT).beside("b", SLOT, "NORMAL", 3).at(31.0);
            both_end(s).at(32.0);
        }),
        (S5, &[S24, L4], "an item moves under the run of a further slot", |s| {
            two_runs(s, 2).at(21.0).done("b", 1).join("c");
            let record = s.ledgers.remove(&SLOT).unwrap();
            s.assign(&["a", "c"]).ledgers.insert(SLOT, record);
            s.at(22.0).done("b", SLOT).at(23.0);
        }),
        (S5, &[], "an item moves, and no version of a further slot is checked", |s| {
            idle_slots(s, 2).join("c");
            let record = s.ledgers.remove(&SLOT).unwrap();
            s.assign(&["a", "c"]).ledgers.insert(SLOT, record);
            s.at(23.0);
        }),
        (S7, &[S5, S24, L4], "an item retires during the run of a further slot", |s| {
            two_runs(s, 2).at(21.0).done("b", 1);
            s.configure(|config| config["shardingTotalCount"] = json!(1));
            let record = s.ledgers.remove(&SLOT).unwrap();
            s.assign(&["a", "b"]).ledgers.insert(SLOT, record);
            s.at(22.0).done("b", SLOT).at(23.0);
        }),
        (S6, &[], "a run of a further slot is orphaned while its holder lives", |s| {
            let former = two_runs(s, 2).run_id(SLOT);
            s.at(21.0).orphan("a", SLOT).take_over("a", SLOT).at(22.0);
            s.stop_run("b", former, "cancelled").done("a", SLOT).done("b", 1).at(23.0);
        }),
        (S7, &[S3, S6, S8, L4], "another instance ends the run of a further slot", |s| {
            two_runs(s, 2).at(21.0).stop("b", SLOT, "ok").release("a", SLOT, "succeeded");
            s.done("b", 1).at(22.0);
        }),
        (S8, &[], "the run of a further slot is orphaned without a check of the term", |s| {
            two_runs(s, 2).at(21.0).done("b", 1).crash("b").at(25.0).expire("b");
            s.ledger("a", SLOT, |l| l["state"] = json!("orphan")).take_over("a", SLOT);
            s.assign(&["a"]).at(26.0).done("a", SLOT).assign(&["a"]).at(27.0);
        }),
        (S10, &[], "a disabled item runs in a further slot", |s| {
            one_run(s, 2).add_slot("b", SLOT);
            s.write("operator", "/j/sharding/1/disabled", Some(""));
            s.ledger("operator", 1, |l| l["disabled"] = json!(true)).at(19.0);
            round(s, 2).beside("b", SLOT, "NORMAL", 2).at(21.0);
            both_end(s).at(22.0);
        }),
        (S11, &[], "a run of a further slot sees another configuration", |s| {
            round(one_run(s, 2), 2).add_slot("b", SLOT);
            s.beside_with("b", SLOT, ("NORMAL", 2), |_, slot| slot["config"] = json!(0));
            both_end(s.start("b", SLOT).at(21.0)).at(22.0);
        }),
        (S12, &[S24, L4, L0], "an instance leaves with a run in a further slot", |s| {
            two_runs(s, 2).at(21.0).done("b", 1).drain("b").leave("b").at(22.0);
            s.orphan("a", SLOT).take_over("a", SLOT).assign(&["a"]).at(23.0).done("a", SLOT);
            s.assign(&["a"]).at(24.0);
        }),
        (S13, &[], "a fire counts as completed during its run in a further slot", |s| {
            two_runs(s, 2).at(21.0).done("b", 1);
            s.once("a", "completed", 2, 1).at(22.0).done("b", SLOT).at(23.0);
        }),
        (S15, &[S7], "a cancelled run of a further slot is continued", |s| {
            two_runs(s, 2).cancel(SLOT).at(21.0).done("b", 1).crash("b").at(25.0).expire("b");
            s.orphan("a", SLOT).take_over("a", SLOT).assign(&["a"]).at(26.0).done("a", SLOT);
            s.assign(&["a"]).at(27.0);
        }),
        (S16, &[], "a run writes the progress of another slot", |s| {
            idle_slots(s, 2);
            round(s, 3).claim("b", 1, 3).progress("b", SLOT, None).at(31.0).done("b", 1).at(32.0);
        }),
        (S16, &[], "the progress of a slot has the token of another one", |s| {
            both_end(two_runs(s, 2).progress("b", SLOT, Some(7)).at(21.0)).at(22.0);
        }),
        (S17, &[S24, L7], "two slots have the same permit", |s| {
            limited(s, 2).permit(0).beside("b", SLOT, "NORMAL", 2);
            s.tamper(|l| l["permit"] = json!(0)).at(21.0);
            both_end(s).at(22.0);
        }),
        (S17, &[], "a run of a further slot has no permit", |s| {
            limited(s, 2).beside("b", SLOT, "NORMAL", 2).at(21.0);
            both_end(s).at(22.0);
        }),
        (S20, &[], "the start in a further slot is not recorded", |s| {
            s.configure(|config| {
                (config["startRate"], config["overlap"]) = (json!("9 in 1s"), json!("parallel 2"));
            });
            s.assign(&["a", "b"]).at(10.01).starts(&[(10_010, 1)]).claim("a", 0, 1).done("a", 0);
            s.starts(&[(10_010, 2)]).claim("b", 1, 1).at(20.01);
            s.starts(&[(20_010, 1)]).claim("a", 0, 2).done("a", 0).add_slot("b", SLOT);
            s.starts(&[(20_010, 1)]).beside("b", SLOT, "NORMAL", 2).at(21.0);
            both_end(s).at(22.0);
        }),
        (S21, &[], "a fire does not end the run of a further slot that it meets", |s| {
            round(overlaps(s, "cancel"), 3).note("b", 1, 3).at(31.0).done("b", SLOT);
            s.claim_as("b", 1, "MISFIRE", fire(3)).at(32.0).done("b", 1).at(33.0);
        }),
        (S23, &[L7], "the permit of the group names another slot", |s| {
            grouped(s).group_permit(1);
            let mut ops = s.beside_ops("b", SLOT, ("NORMAL", 2), |_, _| {});
            for op in &mut ops {
                let checker::history::RegOp::Create { path, data, .. } = op else { continue };
                if path.contains("groups") {
                    *data = data.replace(r#""slot":1"#, r#""slot":2"#);
                }
            }
            both_end(s.commit("b", ops).start("b", SLOT).at(21.0)).at(22.0);
        }),
        (S23, &[L7], "the permit of the group is returned during the run of a slot", |s| {
            grouped(s).group_permit(1).beside("b", SLOT, "NORMAL", 2);
            let (sid, token) = (s.sid("b"), json!({ "token": 1 }).to_string());
            let ops = vec![
                s.put(sid, "/job@-@groups/db/permits/1", None, true),
                s.put(sid, "/j/coordination/progress/1.1", Some(token), false),
            ];
            s.commit("b", ops).at(21.0);
            both_end(s).at(22.0);
        }),
        (L2, &[L7], "the run of a lost further slot is not taken over", |s| {
            two_runs(s, 2).at(21.0).done("b", 1).crash("b").at(25.0).expire("b");
            s.orphan("a", SLOT).assign(&["a"]).heal().at(28.0);
            s.take_over("a", SLOT).done("a", SLOT).assign(&["a"]);
            for k in 3..=4 {
                round(s, k).claim("a", 1, k).done("a", 1);
            }
            s.crash("a").at(49.9).heal();
            s.ledger("operator", SLOT, |l| l["state"] = json!("orphan"));
            s.at(80.0);
        }),
        (L7, &[], "the mark of a further slot stays", |s| {
            let s = idle_slots(s, 2).heal();
            s.write("b", "/j/leader/failover/items/1.1", Some(""));
            for k in 3..=6 {
                round(s, k).claim("b", 1, k).done("b", 1);
            }
        }),
        (L7, &[], "a noted fire waits although a further slot is free", |s| {
            round(two_runs(s, 2), 3).note("b", 1, 3).at(31.0).done("b", SLOT).heal();
            for k in 4..=5 {
                round(s, k).note("b", 1, k);
            }
            s.at(51.0).beside("b", SLOT, "MISFIRE", 5).at(52.0);
            both_end(s).at(53.0);
        }),
        (L7, &[], "a surplus item is not retired after the run of its further slot", |s| {
            two_runs(s, 2).at(21.0).done("b", 1).heal();
            s.configure(|config| config["shardingTotalCount"] = json!(1));
            s.assign(&["a", "b"]).at(22.0).done("b", SLOT);
            for k in 3..=5 {
                round(s, k);
            }
        }),
        (L4, &[], "the end of the run of a further slot is not recorded", |s| {
            two_runs(s, 2).at(21.0).done("b", 1).stop("b", SLOT, "ok").at(29.0);
        }),
        (L0, &[], "a claim in a further slot is not run", |s| {
            round(one_run(s, 2), 2).add_slot("b", SLOT);
            s.beside_with("b", SLOT, ("NORMAL", 2), |_, _| {}).at(25.0);
            s.done("b", 1).at(26.0);
        }),
    ];
    let failure = |(property, also, case, play): &Case| {
        let mut story = Story::cluster(2);
        play(&mut story);
        let report = story.judge();
        let broken = broken(&report);
        let is_found = broken.contains(property);
        let others: Vec<_> =
            broken.iter().filter(|p| *p != property && !also.contains(p)).collect();
        let is_right = is_found && others.is_empty() && report.problems.is_empty();
        (!is_right).then(|| format!("{property}: {case}: {broken:?}\n{report}"))
    };
    let failures: Vec<_> = rows.iter().filter_map(failure).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// A job of two permits, whose item 1 has one of them.
fn limited(s: &mut Story, max: u32) -> &mut Story {
    s.configure(move |config| config["clusterConcurrency"] = json!(max + 1));
    allow(s, 2, &["a", "b"]).at(10.01).permit(1).claim("a", 0, 1).done("a", 0);
    s.permit(0).claim("b", 1, 1).at(20.01).permit(1).claim("a", 0, 2).done("a", 0);
    s.add_slot("b", SLOT)
}

/// A job of a group of two permits, whose item 1 has one of them.
fn grouped(s: &mut Story) -> &mut Story {
    let limits = r#"{"v":1,"cluster_concurrency":2}"#;
    s.write("operator", "/job@-@groups/db/limits", Some(limits));
    s.configure(|config| config["group"] = json!("db"));
    allow(s, 2, &["a", "b"]).at(10.01).group_permit(1).claim("a", 0, 1).done("a", 0);
    s.group_permit(0).claim("b", 1, 1).at(20.01).group_permit(1).claim("a", 0, 2).done("a", 0);
    s.add_slot("b", SLOT)
}

#[test]
fn limits_count_runs_of_further_slots() {
    assert_good(
        S17,
        &[
            ("each slot has a permit of the job", |s| {
                limited(s, 2).permit(1).beside("b", SLOT, "NORMAL", 2).at(21.0);
                both_end(s).at(22.0);
            }),
            ("each slot has a permit of the group", |s| {
                grouped(s).group_permit(1).beside("b", SLOT, "NORMAL", 2).at(21.0);
                both_end(s).at(22.0);
            }),
            ("a fire ends the run of a further slot that it meets", |s| {
                round(overlaps(s, "cancel"), 3);
                let mut of_item = s.ledgers[&1].clone();
                let mut of_slot = s.ledgers[&SLOT].clone();
                of_item["misfire"] = json!({ "first": fire(3), "last": fire(3), "count": 1 });
                of_slot["cancel"] = json!({ "token": 1, "by": "x", "why": "overlap", "at": 1 });
                of_slot["last"] = of_item["last"].clone();
                let sid = s.sid("b");
                let ops = vec![s.ledger_op(sid, 1, of_item), s.ledger_op(sid, SLOT, of_slot)];
                s.commit("b", ops).at(31.0).stop("b", SLOT, "cancelled");
                s.release("b", SLOT, "interrupted").claim_as("b", 1, "MISFIRE", fire(3));
                s.at(32.0).done("b", 1).at(33.0);
            }),
            ("a fire joins the queue behind the run of a further slot", |s| {
                round(overlaps(s, "queue 2"), 3).tamper(|l| {
                    l["misfire"]["each"] = json!([fire(3)]);
                });
                s.note("b", 1, 3).at(31.0).done("b", SLOT);
                s.tamper(|l| l["merged"] = json!(null));
                s.claim_as("b", 1, "MISFIRE", fire(3)).at(32.0).done("b", 1).at(33.0);
            }),
        ],
    );
}

#[test]
fn violations_name_the_slot() {
    let mut story = Story::cluster(2);
    two_runs(&mut story, 2).at(21.0).progress("b", SLOT, Some(7));
    both_end(&mut story).at(22.0);
    let report = story.judge();
    assert_eq!(report.verdict, Verdict::Invalid);
    let text = report.to_string();
    assert!(text.contains("j item 1.1: progress under token 7"), "{text}");
    assert!(text.contains("j item 1.1: start NORMAL"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    let subject = json!({ "job": "j", "item": 1, "slot": 1 });
    assert_eq!(json["violations"][0]["subject"], subject);
    assert_eq!(report.coverage["parallel"].reached, 1);
    let history = checker::History::from_records(story.records);
    assert!(checker::svg::timeline(&history, &report).contains("j 1.1<"));
}

/// Fire 3 was missed, and the claim of fire 4 in slot 1 keeps it in a gap.
fn kept(s: &mut Story) -> &mut Story {
    two_runs(s, 2).at(21.0).done("b", SLOT).at(25.0).begin("registry_down", "registry");
    round(s.at(35.0).over("registry_down", "registry"), 4);
    s.beside_with("b", SLOT, ("NORMAL", 4), |item, _| {
        item["gaps"] = json!([{ "first": fire(3), "until": fire(4) }]);
    });
    s.start("b", SLOT).at(45.0).done("b", SLOT)
}

/// Slot 1 runs fire `k`.
fn next_beside(s: &mut Story, k: i64) -> &mut Story {
    round(s, k).beside("b", SLOT, "NORMAL", k).at(k as f64 * 10.0 + 5.0).done("b", SLOT)
}

#[test]
fn s3_gap_in_the_record_waits_for_one_more_claim_in_any_slot() {
    assert_good(
        S3,
        &[
            ("no instance has claimed since", |s| {
                kept(s).done("b", 1);
            }),
            ("the next claim is in a further slot", |s| {
                next_beside(kept(s), 5).done("b", 1);
            }),
            ("the instance of the next claim was lost before it could report the gap", |s| {
                round(kept(s), 5).beside("b", SLOT, "NORMAL", 5).crash("b").at(55.0).expire("b");
                s.orphan("a", 1).orphan("a", SLOT).take_over("a", 1).take_over("a", SLOT);
                s.assign(&["a"]).at(56.0).done("a", SLOT).done("a", 1).assign(&["a"]);
                round(s, 6).beside("a", SLOT, "NORMAL", 6).at(61.0).done("a", SLOT);
            }),
        ],
    );
    assert_bad(
        S3,
        &[],
        &[
            ("two claims follow in the further slot", |s| {
                next_beside(next_beside(kept(s), 5), 6).done("b", 1);
            }),
            ("claims in both slots follow", |s| {
                next_beside(kept(s), 5).done("b", 1);
                round(s, 6).claim("b", 1, 6).done("b", 1).at(62.0);
            }),
            ("the gap leaves the record with a claim in the further slot", |s| {
                round(kept(s), 5);
                s.beside_with("b", SLOT, ("NORMAL", 5), |item, _| item["gaps"] = json!([]));
                both_end(s.start("b", SLOT).at(51.0)).at(52.0);
            }),
        ],
    );
}
