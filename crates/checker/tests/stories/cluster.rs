//! S4, S5, S8, S9, S12: assignments, leaders and leaves.

use checker::Property::{L0, S1, S3, S4, S5, S6, S8, S9, S12};
use checker::history::{ProcessEvent, RegOp};
use serde_json::{Value, json};

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

/// The leader assigns the items, with a change in the assignment record.
fn assign_with(s: &mut Story, members: &[&str], change: impl FnOnce(&mut Value)) {
    let mut ops = s.assign_ops("a", members);
    for op in &mut ops {
        let (RegOp::Set { path, data, .. } | RegOp::Create { path, data, .. }) = op else {
            continue;
        };
        if path.ends_with("assignment") {
            let mut record: Value = serde_json::from_str(data).unwrap();
            change(&mut record);
            *data = record.to_string();
            break;
        }
    }
    s.commit("a", ops);
}

#[test]
fn s4_assignment_is_complete() {
    assert_bad(
        S4,
        &[S9],
        &[
            ("an owner changes without the assignment record", |s| {
                let (sid, b) = (s.sid("a"), s.id("b"));
                let ops = vec![
                    s.check("/j/coordination/term"),
                    s.put(sid, "/j/sharding/0/instance", Some(b), false),
                ];
                s.commit("a", ops);
            }),
            ("an item has no owner and is not pending", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(3));
                let mut ops = s.assign_ops("a", &["a", "b"]);
                ops.retain(
                    |op| !matches!(op, RegOp::Create { path, .. } if path.ends_with("2/instance")),
                );
                s.commit("a", ops);
            }),
            ("an owner is not a member", |s| {
                let a = s.id("a");
                assign_with(s, &["a", "b"], |record| record["members"] = json!([a]));
            }),
            ("the assignment record cannot be read", |s| {
                assign_with(s, &["a", "b"], |record| *record = json!("?"));
            }),
            ("an owner is deleted while its item is in force", |s| {
                let mut ops = s.assign_ops("a", &["a", "b"]);
                ops.push(s.put(s.sid("a"), "/j/sharding/0/instance", None, false));
                s.commit("a", ops);
            }),
            ("static sharding, and an item is given to an instance that is not a member", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0).join("c");
                let (a, b) = (s.id("a"), s.id("b"));
                assign_with(s, &["a", "c"], |record| record["members"] = json!([a, b]));
            }),
            ("static sharding was turned off before the resharding", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0);
                s.configure(|c| c["staticSharding"] = json!(false)).at(4.0);
                let a = s.id("a");
                assign_with(s, &["a", "b"], |record| record["members"] = json!([a]));
            }),
            ("an item in force is retired", |s| {
                let mut ops = s.assign_ops("a", &["a", "b"]);
                let mut ledger = s.ledgers[&0].clone();
                ledger["state"] = json!("retired");
                ops.push(s.ledger_op(s.sid("a"), 0, ledger));
                s.commit("a", ops);
            }),
        ],
    );
    assert_good(
        S4,
        &[
            ("items that do not fit the transaction are pending", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(3));
                let a = s.id("a");
                let mut ops = s.assign_ops("a", &["a", "b"]);
                let owner = ops.iter().position(
                    |op| matches!(op, RegOp::Create { path, .. } if path.ends_with("2/instance")),
                );
                ops.remove(owner.unwrap());
                for op in &mut ops {
                    if let RegOp::Set { path, data, .. } = op
                        && path.ends_with("assignment")
                    {
                        *data = data
                            .replace(r#""pending":{}"#, &format!(r#""pending":{{"{a}":[[2,2]]}}"#));
                    }
                }
                s.commit("a", ops);
            }),
            ("fewer items: surplus ones have no owner", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(1)).assign(&["a", "b"]).round(1);
            }),
            ("a busy item stays with an instance that has left", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.assign(&["a"]).orphan("a", 1).take_over("a", 1).done("a", 1).assign(&["a"]);
            }),
            ("static sharding, and items stay with a stable name whose instance is away", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).round(1).crash("b").at(16.0);
                s.expire("b").at(17.0).join("c");
                let (a, b, c) = (s.id("a"), s.id("b"), s.id("c"));
                assign_with(s, &["a", "b"], |record| {
                    record["members"] = json!([a, c]);
                    record["names"] = json!({ b: "second" });
                });
                s.heal();
                for k in 2..5 {
                    s.at(k as f64 * 10.0 + 0.01).claim("a", 0, k).done("a", 0);
                }
                s.at(49.0);
            }),
            ("the registry checks absence of a record by creating and deleting it", |s| {
                let mut ops = s.assign_ops("a", &["a", "b"]);
                let path = "/j/ledger/7".to_owned();
                let data = String::new();
                ops.push(RegOp::Create { path: path.clone(), data, ephemeral: false });
                ops.push(RegOp::Delete { path });
                s.commit("a", ops);
            }),
            ("static sharding, and an item moves to a stable name whose instance is away", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0).join("c").at(4.0);
                let (a, b, c) = (s.id("a"), s.id("b"), s.id("c"));
                assign_with(s, &["a", "c"], |record| {
                    record["members"] = json!([a, b]);
                    record["names"] = json!({ c: "third" });
                });
            }),
            ("static sharding was on in the last configuration that the leader could read", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0);
                s.configure(|c| c["staticSharding"] = json!(false)).at(4.0);
                s.write("operator", "/j/config", Some("[]")).at(5.0);
                let a = s.id("a");
                assign_with(s, &["a", "b"], |record| record["members"] = json!([a]));
            }),
            ("more items, with the configuration written first", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(4))
                    .at(3.0)
                    .assign(&["a", "b"])
                    .round(1);
            }),
        ],
    );
}

/// Gives item 1 to `a` whatever its state.
fn change_owner_anyway(s: &mut Story) {
    let (sid, a) = (s.sid("a"), s.id("a"));
    let mut ops = s.assign_ops("a", &["a", "b"]);
    ops.push(s.put(sid, "/j/sharding/1/instance", Some(a), false));
    s.commit("a", ops);
}

#[test]
fn s5_no_owner_changes_under_a_run() {
    assert_bad(
        S5,
        &[S3, S4],
        &[
            ("the item runs", |s| {
                s.at(10.01).claim("b", 1, 1);
                change_owner_anyway(s);
            }),
            ("the item waits for a takeover", |s| {
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b").orphan("a", 1);
                change_owner_anyway(s);
            }),
            ("the item runs for a manual request", |s| {
                s.at(5.0).claim_as("b", 1, "MANUAL", fire(0) + 5_001);
                change_owner_anyway(s);
            }),
            ("the owner of a running item is deleted", |s| {
                s.at(10.01).claim("b", 1, 1).configure(|c| c["shardingTotalCount"] = json!(1));
                let mut ops = s.assign_ops("a", &["a", "b"]);
                ops.push(s.put(s.sid("a"), "/j/sharding/1/instance", None, false));
                s.commit("a", ops);
            }),
        ],
    );
    assert_good(
        S5,
        &[
            ("other items get new owners, and the pending item later", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).join("c").assign_by("a", &["c", "a"]);
                s.at(11.0).done("a", 0).done("b", 1).assign_by("a", &["c", "a"]).round(2);
            }),
            ("written again with the same owner", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1);
                let (sid, b) = (s.sid("a"), s.id("b"));
                let mut ops = s.assign_ops("a", &["a", "b"]);
                ops.push(s.put(sid, "/j/sharding/1/instance", Some(b), false));
                s.commit("a", ops).at(11.0).done("a", 0).done("b", 1);
            }),
            ("a job without monitoring has no run records", |s| {
                s.configure(|c| {
                    (c["monitorExecution"], c["failover"]) = (json!(false), json!(false))
                });
                change_owner_anyway(s);
            }),
        ],
    );
}

/// A third instance joins, and the second one is lost during its run.
fn lost_with_a_third_instance(s: &mut Story) -> &mut Story {
    s.join("c")
        .at(3.0)
        .assign(&["a", "b"])
        .at(10.01)
        .claim("b", 1, 1)
        .crash("b")
        .at(15.0)
        .expire("b")
}

#[test]
fn s8_deposed_leader_cannot_write() {
    assert_bad(
        S8,
        &[S3],
        &[
            ("an instance that does not lead removes a server", |s| {
                let server = "/j/servers/10.0.0.9";
                s.write("operator", server, Some("")).removes("b", server);
            }),
            ("another instance than the leader assigns", |s| {
                s.assign_by("b", &["a", "b"]);
            }),
            ("a deposed leader assigns", |s| {
                let mut ops = s.assign_ops("a", &["a", "b"]);
                s.write("operator", "/j/leader/election/instance", None).lead("b");
                ops[0] = s.check("/j/coordination/term");
                s.commit("a", ops);
            }),
            ("the leader assigns without a check of the term", |s| {
                let mut ops = s.assign_ops("a", &["a", "b"]);
                ops.remove(0);
                s.commit("a", ops);
            }),
            ("the leader checks only that a term exists", |s| {
                let mut ops = s.assign_ops("a", &["a", "b"]);
                ops[0] = RegOp::Check { path: "/j/coordination/term".into(), ver: None };
                s.commit("a", ops);
            }),
            ("an instance becomes leader without a term of its own", |s| {
                let (sid, b) = (s.sid("b"), s.id("b"));
                s.write("operator", "/j/leader/election/instance", None);
                let op = s.put(sid, "/j/leader/election/instance", Some(b), true);
                s.commit("b", vec![op]);
            }),
            ("a term without a leader", |s| {
                let term = json!({ "leader": s.id("b") }).to_string();
                s.write("b", "/j/coordination/term", Some(&term));
            }),
            ("the term is deleted", |s| {
                s.write("a", "/j/coordination/term", None);
            }),
            ("an instance that does not lead orphans a run", |s| {
                lost_with_a_third_instance(s).orphan("c", 1);
            }),
            ("an instance that does not lead takes over in one write", |s| {
                lost_with_a_third_instance(s).take_over_at_once("c", 1);
            }),
        ],
    );
    assert_good(
        S8,
        &[
            ("a new leader assigns in its own term", |s| {
                s.write("operator", "/j/leader/election/instance", None)
                    .lead("b")
                    .assign_by("b", &["a", "b"]);
                s.round(1);
            }),
            ("the leader assigns after its node was deleted, before another election", |s| {
                s.write("operator", "/j/leader/election/instance", None)
                    .assign(&["a", "b"])
                    .round(1);
            }),
            ("the leader is elected again", |s| {
                s.write("operator", "/j/leader/election/instance", None)
                    .lead("a")
                    .assign(&["a", "b"]);
            }),
        ],
    );
}

#[test]
fn s9_no_resharding_request_is_lost() {
    assert_bad(
        S9,
        &[],
        &[
            ("a request is handled before it was made", |s| {
                assign_with(s, &["a", "b"], |record| record["handled"] = json!(99));
            }),
            ("the handled request decreases", |s| {
                s.join("c").at(3.0).assign(&["a", "b", "c"]);
                assign_with(s, &["a", "b", "c"], |record| record["handled"] = json!(0));
            }),
            ("assigned for another number of items than configured", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(3));
                assign_with(s, &["a", "b"], |record| record["total"] = json!(2));
            }),
            ("assigned by another strategy than configured", |s| {
                s.configure(|c| c["jobShardingStrategyClass"] = json!("ROTATE"));
                assign_with(s, &["a", "b"], |record| record["strategy"] = json!(""));
            }),
            ("assigned for other inputs while the stored configuration is unusable", |s| {
                s.write("operator", "/j/config", Some("{")).at(3.0).join("c");
                assign_with(s, &["a", "b", "c"], |record| record["strategy"] = json!("ODEVITY"));
            }),
            ("an instance joined, and no resharding follows", |s| {
                s.heal().join("c").round(1).round(2).at(29.0);
            }),
            ("a server was disabled, and no resharding follows", |s| {
                s.write("operator", "/j/servers/10.0.0.3", Some(""))
                    .join("c")
                    .assign(&["a", "b", "c"]);
                s.heal()
                    .write("operator", "/j/servers/10.0.0.3", Some("DISABLED"))
                    .round(1)
                    .round(2)
                    .at(29.0);
            }),
        ],
    );
    assert_good(
        S9,
        &[
            ("two instances join at once, and one resharding handles both", |s| {
                s.join("c")
                    .join("d")
                    .at(3.0)
                    .assign(&["a", "b", "c", "d"])
                    .heal()
                    .round(1)
                    .at(19.0);
            }),
            ("a resharding without need", |s| {
                s.assign(&["a", "b"]).assign(&["a", "b"]).round(1);
            }),
            ("the stored configuration is unusable: a resharding with the former inputs", |s| {
                s.at(3.0).configure(|c| c["jobShardingStrategyClass"] = json!("ODEVITY"));
                s.write("operator", "/j/config", Some("{")).at(3.1).join("c");
                assign_with(s, &["a", "b", "c"], |record| record["strategy"] = json!(""));
                s.round(1).at(12.0).configure(|_| {}).assign(&["a", "b", "c"]);
            }),
            ("handled in the end", |s| {
                s.heal().join("c").at(6.0).assign(&["a", "b", "c"]).round(1).round(2);
            }),
            ("no instance is left to assign", |s| {
                s.at(3.0).drain("b").leave("b").drain("a").leave("a").heal().at(29.0);
            }),
        ],
    );
}

#[test]
fn s12_graceful_leave_leaves_no_run() {
    assert_bad(
        S12,
        &[L0, S1, S3, S6],
        &[
            ("an instance leaves with a run", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("a", 0)
                    .drain("b")
                    .leave("b");
            }),
            ("its code runs on", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).drain("b");
                s.release("b", 1, "failed").leave("b");
            }),
            ("a completed run is given up", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).drain("b");
                s.stop("b", 1, "ok").ledger("b", 1, |l| l["state"] = json!("orphan"));
                s.write("b", "/j/sharding/1/running", None).leave("b");
                s.take_over("a", 1).at(12.0).done("a", 1);
            }),
            ("a process reports that it has left and holds an item", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).drain("b");
                s.process("b", ProcessEvent::Left).stop("b", 1, "ok");
            }),
        ],
    );
    assert_good(
        S12,
        &[
            ("an instance waits for its run", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).drain("b");
                s.at(12.0).done("b", 1).leave("b").assign(&["a"]).round(2);
            }),
            ("the leave times out: the run is cancelled and given up", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("a", 0)
                    .drain("b")
                    .at(14.0);
                s.stop("b", 1, "cancelled").ledger("b", 1, |l| l["state"] = json!("orphan"));
                s.write("b", "/j/sharding/1/running", None)
                    .leave("b")
                    .take_over("a", 1)
                    .done("a", 1);
            }),
            (
                "the session of the run was lost before, so that its end could not be recorded",
                |s| {
                    s.at(10.01)
                        .claim("a", 0, 1)
                        .claim("b", 1, 1)
                        .done("a", 0)
                        .begin("partition", "b");
                    let run = s.run_id(1);
                    s.at(15.0)
                        .expire("b")
                        .orphan("a", 1)
                        .stop_run("b", run, "ok")
                        .take_over("a", 1);
                    s.at(16.0).done("a", 1).over("partition", "b").connect("b").assign(&["a", "b"]);
                    s.at(18.0).drain("b").assign(&["a"]).leave("b").round(2);
                },
            ),
            ("the session of the run was lost, and the leader has not found the run yet", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).begin("partition", "b");
                s.at(15.0).expire("b").stop("b", 1, "cancelled").over("partition", "b");
                s.connect("b").at(17.0).drain("b").leave("b").orphan("a", 1).take_over("a", 1);
                s.at(18.0).done("a", 1).assign(&["a"]).round(2);
            }),
            ("the process crashes during the leave", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("a", 0)
                    .drain("b")
                    .crash("b");
                s.at(16.0).expire("b").orphan("a", 1).take_over("a", 1).at(17.0).done("a", 1);
            }),
        ],
    );
}
