//! S1, S1a, S2, S6, S7, S10, S11: valid and invalid claims.

use checker::Property::{L0, L4, S1, S1a, S2, S3, S6, S7, S8, S10, S11};
use checker::history::{Fact, RegOp};
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

#[test]
fn s1_claims_are_ordered_by_token_and_replace_no_run() {
    assert_bad(
        S1,
        &[S1a, S2, S3, S6, S7, S8, L4],
        &[
            ("the token does not rise", |s| {
                s.at(10.01).tamper(|l| l["token"] = json!(0)).claim("a", 0, 1);
            }),
            ("the token decreases later", |s| {
                s.round(1).at(20.01).tamper(|l| l["token"] = json!(1)).claim("a", 0, 2);
            }),
            ("another instance claims a running item", |s| {
                s.at(10.01).claim("a", 0, 1).only_claim("b", 0, "NORMAL", fire(1));
            }),
            ("an orphan is taken over for another fire", |s| {
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b").orphan("a", 1);
                s.tamper(|l| l["fire"] = json!(fire(2))).only_take_over("a", 1);
            }),
            ("a run is taken over at once for another fire", |s| {
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b");
                s.tamper(|l| l["fire"] = json!(fire(2))).take_over_at_once("a", 1);
            }),
            ("an idle item is taken over", |s| {
                s.at(10.01).claim_as("a", 0, "FAILOVER", fire(1)).done("a", 0);
            }),
            ("the record is deleted", |s| {
                s.write("a", "/j/ledger/0", None);
            }),
            ("the record cannot be read", |s| {
                s.write("a", "/j/ledger/0", Some("{"));
            }),
            ("an idle item becomes an orphan", |s| {
                s.ledger("a", 0, |l| {
                    *l =
                        json!({"state":"orphan","token":0,"holder":"x","fire":1,"source":"NORMAL"});
                });
            }),
            ("the code runs without a claim", |s| {
                s.round(1).at(12.0);
                let mut run = s.run_id(0);
                run.token = 7;
                let ev = checker::history::ExecEvent::Start;
                s.says("a", Fact::Exec { ev, run, source: "NORMAL".into(), cfg: 0, result: None });
            }),
            ("another process than the claimant runs", |s| {
                s.at(10.01).only_claim("a", 0, "NORMAL", fire(1)).start("b", 0);
            }),
            ("the run begins before its claim", |s| {
                s.at(10.01).only_claim("a", 0, "NORMAL", fire(1)).start("a", 0);
                // The claim reaches the log late.
                let claim = s.records.len() - 2;
                s.records[claim].mt += 50_000_000;
            }),
            ("two runs at the same time without a cause, and both have effects", |s| {
                s.at(10.01).claim("a", 0, 1);
                let first = s.run_id(0);
                s.at(11.0).release("a", 0, "failed").at(12.0).claim_as("a", 0, "MANUAL", 12_001);
                s.effect_of(first.clone(), true).effect(0, true);
                s.stop_run("a", first, "error").done("a", 0);
            }),
        ],
    );
    assert_good(
        S1,
        &[
            ("the holder crashes, and the same fire runs under the next token", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).crash("b");
                s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1).assign(&["a"]);
                s.at(16.0).done("a", 1).at(17.0).assign(&["a"]).round(2).at(22.0);
            }),
            ("fires are noted during a run", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("b", 1);
                s.at(20.01).note("a", 0, 2).claim("b", 1, 2).at(21.0).done("b", 1).done("a", 0);
                s.claim_as("a", 0, "MISFIRE", fire(2)).at(22.0).done("a", 0);
            }),
            ("two runs at the same time: the first was paused beyond its session", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("a", 0)
                    .begin("pause", "b");
                let paused = s.run_id(1);
                s.at(16.0).expire("b").orphan("a", 1).take_over("a", 1).effect(1, true);
                s.at(17.0).over("pause", "b").effect_of(paused.clone(), false);
                s.stop_run("b", paused, "ok").done("a", 1);
            }),
            ("an operator repairs a record", |s| {
                s.write("operator", "/j/ledger/0", Some(r#"{"state":"idle","token":9}"#));
            }),
        ],
    );
}

#[test]
fn s1a_fire_is_claimed_once() {
    assert_bad(
        S1a,
        &[L0, S3],
        &[
            ("the same fire again", |s| {
                s.round(1).at(12.0).claim("a", 0, 1).done("a", 0);
            }),
            ("an earlier fire", |s| {
                s.round(1).round(2).at(22.0).claim("a", 0, 1).done("a", 0);
            }),
            ("the last fire decreases", |s| {
                s.round(1).round(2).ledger("a", 0, |l| l["last"] = json!(fire(1)));
            }),
            ("the same fire again, as a misfire", |s| {
                s.round(1).at(12.0).claim_as("a", 0, "MISFIRE", fire(1)).done("a", 0);
            }),
            ("a fire that a former run stands for", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(20.01)
                    .note("a", 0, 2);
                s.claim("b", 1, 2).done("b", 1).at(21.0).done("a", 0);
                s.at(30.01).claim("a", 0, 3).claim("b", 1, 3).done("b", 1).done("a", 0);
                s.at(32.0).claim_as("a", 0, "MISFIRE", fire(2)).done("a", 0);
            }),
            ("one claim has two runs", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).stop("a", 0, "ok").start("a", 0);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
        ],
    );
    assert_good(
        S1a,
        &[
            ("a manual run beside the schedule", |s| {
                s.round(1)
                    .at(12.0)
                    .claim_as("a", 0, "MANUAL", fire(1) + 2_001)
                    .done("a", 0)
                    .round(2);
            }),
            ("a takeover of the same fire", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b").at(15.0);
                s.expire("b").orphan("a", 1).take_over("a", 1).at(16.0).done("a", 1);
            }),
            ("the same transaction again", |s| {
                s.round(1).ledger("a", 0, |_| {}).ledger("a", 0, |_| {});
            }),
        ],
    );
}

/// After the first fire, writes a manual request with a parameter for an item.
fn request_run(s: &mut Story, i: u32) -> &mut Story {
    s.round(1).at(12.0).ledger("a", i, |l| {
        l["request"] = json!({ "id": "r", "at": 12_001, "parameter": "february" });
    })
}

/// Makes the next claim answer the request with this parameter.
fn with_parameter<'a>(s: &'a mut Story, parameter: &'static str) -> &'a mut Story {
    s.tamper(move |l| {
        l.as_object_mut().unwrap().remove("request");
        l["parameter"] = json!(parameter);
    })
}

/// An item of `b` runs for the request, and `b`, which does not lead, is lost.
fn orphaned_manual_run(s: &mut Story) -> &mut Story {
    with_parameter(request_run(s, 1), "february").claim_as("b", 1, "MANUAL", 12_001);
    s.crash("b").at(17.0).expire("b")
}

#[test]
fn s3_run_has_the_parameter_of_its_request() {
    assert_bad(
        S3,
        &[S1],
        &[
            ("the run has no parameter", |s| {
                request_run(s, 0).claim_as("a", 0, "MANUAL", 12_001).done("a", 0);
            }),
            ("the run has another parameter", |s| {
                with_parameter(request_run(s, 0), "march")
                    .claim_as("a", 0, "MANUAL", 12_001)
                    .done("a", 0);
            }),
            ("the run answers another request", |s| {
                with_parameter(request_run(s, 0), "february")
                    .claim_as("a", 0, "MANUAL", 12_003)
                    .done("a", 0);
            }),
            ("a scheduled run has a parameter", |s| {
                s.at(10.01).tamper(|l| l["parameter"] = json!("february")).claim("a", 0, 1);
                s.done("a", 0).claim("b", 1, 1).done("b", 1);
            }),
            ("the parameter of the waiting request changes", |s| {
                request_run(s, 0)
                    .at(13.0)
                    .ledger("a", 0, |l| l["request"]["parameter"] = json!("march"));
            }),
        ],
    );
    assert_bad(
        S1,
        &[S3],
        &[
            ("the takeover has no parameter", |s| {
                orphaned_manual_run(s).orphan("a", 1).tamper(|l| l["parameter"] = json!(null));
                s.only_take_over("a", 1);
            }),
            ("the orphaned run loses its parameter", |s| {
                orphaned_manual_run(s).tamper(|l| l["parameter"] = json!(null)).orphan("a", 1);
            }),
            ("the parameter changes during the run", |s| {
                with_parameter(request_run(s, 0), "february").claim_as("a", 0, "MANUAL", 12_001);
                s.at(13.0).ledger("a", 0, |l| l["parameter"] = json!("march"));
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("the run has the requested parameter, and a later request waits", |s| {
                with_parameter(request_run(s, 0), "february").claim_as("a", 0, "MANUAL", 12_001);
                s.ledger("a", 0, |l| l["request"] = json!({ "id": "q", "at": 12_003 }));
                s.done("a", 0);
            }),
            ("a request without a parameter", |s| {
                s.round(1).at(12.0);
                s.ledger("a", 0, |l| l["request"] = json!({ "id": "q", "at": 12_001 }));
                s.tamper(|l| l["request"] = json!(null)).claim_as("a", 0, "MANUAL", 12_001);
                s.done("a", 0);
            }),
            ("the takeover has the same parameter", |s| {
                orphaned_manual_run(s).orphan("a", 1).take_over("a", 1).assign(&["a"]);
                s.at(18.0).done("a", 1).at(19.0).assign(&["a"]);
            }),
        ],
    );
}

#[test]
fn s2_claim_conflicts_unless_the_claimant_owns_the_item() {
    assert_bad(
        S2,
        &[S3, S10],
        &[
            ("an item of another owner", |s| {
                s.at(10.01).claim("b", 0, 1).claim("b", 1, 1).at(11.0).done("b", 0).done("b", 1);
            }),
            ("in the name of another instance", |s| {
                let b = s.id("b");
                s.at(10.01).tamper(move |l| l["holder"] = json!(b)).claim("a", 0, 1);
            }),
            ("after the instance's node was deleted", |s| {
                let path = format!("/j/instances/{}", s.id("a"));
                s.write("operator", &path, None).at(10.01);
                let ops = {
                    let mut ledger = s.ledgers[&0].clone();
                    ledger["state"] = json!("running");
                    (ledger["holder"], ledger["fire"]) = (json!(s.id("a")), json!(fire(1)));
                    (ledger["source"], ledger["token"]) = (json!("NORMAL"), json!(1));
                    ledger["last"] = json!(fire(1));
                    vec![s.ledger_op(s.sid("a"), 0, ledger)]
                };
                s.commit("a", ops);
            }),
            ("a pending item", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).join("c").assign_by("a", &["c", "a"]);
                s.at(11.0).done("a", 0).done("b", 1).at(12.0);
                s.claim_as("a", 0, "MANUAL", fire(1) + 2_001).done("a", 0);
            }),
            ("the number of items changed after the assignment", |s| {
                s.at(5.0)
                    .configure(|c| c["shardingTotalCount"] = json!(3))
                    .at(10.01)
                    .claim("a", 0, 1);
            }),
            ("an instance that never registered takes over", |s| {
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b").orphan("a", 1);
                s.tamper(|l| l["holder"] = json!("10.0.0.9@-@9")).only_take_over("a", 1);
            }),
        ],
    );
    assert_good(
        S2,
        &[
            ("an item that has just got this owner", |s| {
                s.at(9.0).join("c").assign_by("a", &["c", "a"]).round(1);
            }),
            ("the process is registered in a new session", |s| {
                s.begin("expire", "b").expire("b").over("expire", "b").at(3.0).connect("b");
                s.assign(&["a", "b"]).round(1);
            }),
            (
                "the stored configuration is unusable, and the claimant has not seen that there are more items",
                |s| {
                    s.at(5.0).configure(|c| c["shardingTotalCount"] = json!(3)).at(5.1);
                    s.write("operator", "/j/config", Some("{"))
                        .at(10.01)
                        .claim("a", 0, 1)
                        .done("a", 0);
                    s.claim("b", 1, 1).done("b", 1).at(12.0).configure(|_| {}).assign(&["a", "b"]);
                },
            ),
            ("the instance that takes over does not own the item", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .crash("a")
                    .at(15.0)
                    .expire("a");
                s.lead("b").orphan("b", 0).take_over("b", 0).at(16.0).done("b", 0).assign(&["b"]);
            }),
        ],
    );
}

#[test]
fn s6_no_failover_while_the_session_of_the_holder_lives() {
    assert_bad(
        S6,
        &[S3],
        &[
            ("the session lives", |s| {
                s.at(10.01).claim("b", 1, 1).at(12.0).orphan("a", 1);
            }),
            ("the holder crashed, and its session has not ended yet", |s| {
                s.at(10.01)
                    .claim("b", 1, 1)
                    .crash("b")
                    .at(13.9)
                    .orphan("a", 1)
                    .at(15.0)
                    .expire("b");
            }),
            ("another session of the same process has ended", |s| {
                s.expire("b")
                    .at(3.0)
                    .connect("b")
                    .assign(&["a", "b"])
                    .at(10.01)
                    .claim("b", 1, 1)
                    .orphan("a", 1);
            }),
            ("taken over in one write", |s| {
                s.at(10.01).claim("b", 1, 1).take_over_at_once("a", 1);
            }),
            ("taken over in one write by the holder itself", |s| {
                s.at(10.01).claim("a", 0, 1).take_over_at_once("a", 0);
            }),
            ("given up as interrupted", |s| {
                s.configure(|c| c["failover"] = json!(false)).at(10.01).claim("b", 1, 1);
                s.at(11.0).ledger_by_leader(1, "interrupted");
            }),
        ],
    );
    assert_good(
        S6,
        &[
            ("the holder gives the run up itself", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).at(11.0).stop(
                    "b",
                    1,
                    "cancelled",
                );
                s.ledger("b", 1, |l| l["state"] = json!("orphan"));
                s.at(12.0).write("b", "/j/sharding/1/running", None).take_over("a", 1).done("a", 1);
            }),
            ("the session has ended, and the leader takes over in one write", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b");
                s.at(15.0).expire("b").take_over_at_once("a", 1).at(16.0).done("a", 1);
            }),
            ("the session has ended, and the process lives on", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).begin("partition", "b");
                s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1).at(16.0).done("a", 1);
                s.over("partition", "b");
            }),
            ("a pause shorter than the session timeout", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .begin("pause", "b")
                    .at(11.0)
                    .done("a", 0);
                s.at(13.0).over("pause", "b").done("b", 1);
            }),
        ],
    );
}

/// Both items run fire 1. The record of item 0 has a version in which ends are counted.
fn counting(s: &mut Story) -> &mut Story {
    s.at(10.01).tamper(|l| l["v"] = json!(1)).claim("a", 0, 1).claim("b", 1, 1).at(11.0)
}

#[test]
fn s7_only_the_holder_completes() {
    assert_bad(
        S7,
        &[S3, S6, S8],
        &[
            ("another instance completes the run", |s| {
                s.at(10.01).claim("b", 1, 1).at(11.0).stop("b", 1, "ok").release(
                    "a",
                    1,
                    "succeeded",
                );
            }),
            ("the process completes it after its session was lost and the run taken over", |s| {
                s.at(10.01).claim("b", 1, 1).begin("expire", "b");
                let run = s.run_id(1);
                s.expire("b").orphan("a", 1).connect("b").over("expire", "b").take_over("a", 1);
                s.at(11.0).stop_run("b", run, "ok").release("b", 1, "succeeded");
            }),
            ("an orphan is given up although failover is on", |s| {
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b").orphan("a", 1);
                s.ledger_by_leader(1, "interrupted");
            }),
            ("failover was turned on while the run was under way", |s| {
                s.configure(|c| c["failover"] = json!(false)).at(10.01).claim("b", 1, 1).crash("b");
                s.at(12.0).configure(|c| c["failover"] = json!(true));
                s.at(15.0).expire("b").ledger_by_leader(1, "interrupted");
            }),
            ("a running item is retired", |s| {
                s.at(10.01)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .ledger("b", 1, |l| l["state"] = json!("retired"));
            }),
            ("an end is not counted", |s| {
                counting(s).done("a", 0);
            }),
            ("an end is counted twice", |s| {
                counting(s).tamper(|l| l["succeeded"] = json!(2)).done("a", 0);
            }),
            ("a failure is counted as a success", |s| {
                let s = counting(s).stop("a", 0, "failed");
                s.tamper(|l| l["succeeded"] = json!(1)).release("a", 0, "failed");
            }),
            ("a claim loses the counts", |s| {
                counting(s).tamper(|l| l["succeeded"] = json!(1)).done("a", 0);
                s.at(20.01).tamper(|l| l["succeeded"] = json!(0)).claim("a", 0, 2);
            }),
            ("an interrupted run is counted", |s| {
                s.configure(|c| c["failover"] = json!(false));
                s.at(10.01).tamper(|l| l["v"] = json!(1)).claim("b", 1, 1).crash("b");
                s.at(15.0).expire("b").tamper(|l| l["failed"] = json!(1));
                s.ledger_by_leader(1, "interrupted");
            }),
            ("an orphan is completed as if it had succeeded", |s| {
                s.configure(|c| c["failover"] = json!(false));
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b").orphan("a", 1);
                s.ledger_by_leader(1, "succeeded");
            }),
        ],
    );
    assert_good(
        S7,
        &[
            ("each end is counted by its outcome", |s| {
                counting(s).tamper(|l| l["succeeded"] = json!(1)).done("a", 0).done("b", 1);
                s.at(20.01).claim("a", 0, 2).claim("b", 1, 2).stop("a", 0, "failed");
                s.tamper(|l| l["failed"] = json!(1)).release("a", 0, "failed").done("b", 1);
                s.at(30.01).claim("a", 0, 3).claim("b", 1, 3).done("b", 1);
                s.tamper(|l| l["succeeded"] = json!(2)).done("a", 0);
            }),
            ("failover is off: the lost run is interrupted", |s| {
                s.configure(|c| c["failover"] = json!(false))
                    .at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1);
                s.done("a", 0).crash("b").at(15.0).expire("b").ledger_by_leader(1, "interrupted");
            }),
            ("the stored configuration is unusable, and failover was off before", |s| {
                s.configure(|c| c["failover"] = json!(false)).at(10.01).claim("a", 0, 1);
                s.claim("b", 1, 1).done("a", 0).crash("b");
                s.at(12.0).configure(|c| c["failover"] = json!(true));
                s.write("operator", "/j/config", Some("poison"));
                s.at(15.0).expire("b").ledger_by_leader(1, "interrupted");
            }),
            ("failover is turned off while an orphan waits", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.orphan("a", 1).configure(|c| c["failover"] = json!(false));
                s.ledger_by_leader(1, "interrupted");
            }),
            ("the holder completes it after an operator deleted its instance node", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0);
                let path = format!("/j/instances/{}", s.id("b"));
                s.write("operator", &path, None).at(11.0).done("b", 1);
            }),
        ],
    );
}

#[test]
fn s10_disabled_or_paused_starts_nothing() {
    assert_bad(
        S10,
        &[S3],
        &[
            ("the server is disabled", |s| {
                s.at(5.0).write("operator", "/j/servers/10.0.0.1", Some("DISABLED")).round(1);
            }),
            ("the server is paused", |s| {
                s.at(5.0).write("operator", "/j/servers/10.0.0.2", Some("PAUSED")).round(1);
            }),
            ("the server is unknown", |s| {
                s.at(5.0).write("operator", "/j/servers/10.0.0.2", None).round(1);
            }),
            ("the item is disabled", |s| {
                s.at(5.0).ledger("a", 0, |l| l["disabled"] = json!(true)).round(1);
            }),
            ("a takeover on a disabled server", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.write("operator", "/j/servers/10.0.0.1", Some("DISABLED")).orphan("a", 1);
                s.take_over("a", 1).done("a", 1);
            }),
        ],
    );
    assert_good(
        S10,
        &[
            ("disabled during the run, which may end", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1);
                s.write("operator", "/j/servers/10.0.0.2", Some("DISABLED"));
                s.ledger("a", 0, |l| l["disabled"] = json!(true))
                    .at(11.0)
                    .done("a", 0)
                    .done("b", 1);
            }),
            ("a takeover of an item that was disabled meanwhile", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.orphan("a", 1).ledger("a", 1, |l| l["disabled"] = json!(true)).take_over("a", 1);
                s.at(16.0).done("a", 1);
            }),
            ("the node is disabled, and the record does not have it yet", |s| {
                s.at(10.0).write("operator", "/j/sharding/0/disabled", Some("")).round(1);
            }),
            ("disabled, skipped, enabled again", |s| {
                s.at(5.0)
                    .ledger("a", 0, |l| l["disabled"] = json!(true))
                    .at(10.01)
                    .claim("b", 1, 1);
                s.ledger("a", 0, |l| {
                    (l["last"], l["outcome"]) = (json!(fire(1)), json!("disabled"));
                });
                s.done("b", 1).ledger("a", 0, |l| l["disabled"] = json!(false)).round(2);
            }),
        ],
    );
}

#[test]
fn s11_run_sees_the_configuration_of_its_claim() {
    assert_bad(
        S11,
        &[L0],
        &[
            ("the claim names an older version", |s| {
                s.at(5.0).configure(|c| c["misfire"] = json!(false)).at(10.01);
                s.tamper(|l| l["config"] = json!(0)).only_claim("a", 0, "NORMAL", fire(1));
            }),
            ("the claim names a version that does not exist yet", |s| {
                s.at(10.01).tamper(|l| l["config"] = json!(1)).only_claim(
                    "a",
                    0,
                    "NORMAL",
                    fire(1),
                );
            }),
            ("the code sees a newer version than its claim", |s| {
                s.at(10.01).only_claim("a", 0, "NORMAL", fire(1));
                s.configure(|c| c["misfire"] = json!(false)).start("a", 0);
            }),
            ("a takeover names the version of the former claim", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.orphan("a", 1).configure(|c| c["misfire"] = json!(false));
                s.tamper(|l| l["config"] = json!(0)).only_take_over("a", 1);
            }),
        ],
    );
    assert_good(
        S11,
        &[
            ("changed during the run", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1);
                s.configure(|c| c["misfire"] = json!(false))
                    .at(11.0)
                    .done("a", 0)
                    .done("b", 1)
                    .round(2);
            }),
            ("a claim that names no version", |s| {
                s.at(10.01).tamper(|l| drop(l.as_object_mut().unwrap().remove("config")));
                s.claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
            ("the stored configuration is unusable: the last usable one stays in force", |s| {
                s.at(5.0).write("operator", "/j/config", Some("poison")).round(1);
            }),
            ("a takeover under a newer version", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.orphan("a", 1)
                    .configure(|c| c["misfire"] = json!(false))
                    .take_over("a", 1)
                    .done("a", 1);
            }),
        ],
    );
}

impl crate::story::Story {
    /// The leader `a` gives up a run for good.
    fn ledger_by_leader(&mut self, i: u32, outcome: &str) -> &mut Self {
        let mut ledger = self.ledgers[&i].clone();
        ledger["state"] = json!("idle");
        ledger["outcome"] = json!(outcome);
        let check: RegOp = self.check("/j/coordination/term");
        let op = self.ledger_op(self.sid("a"), i, ledger);
        self.commit("a", vec![check, op])
    }
}
