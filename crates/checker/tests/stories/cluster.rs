//! S4, S5, S8, S9, S12: assignments, leaders and leaves.

use checker::Property::{L0, S1, S3, S4, S5, S6, S8, S9, S12};
use checker::history::{ProcessEvent, RegOp};
use serde_json::{Value, json};

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

/// The leader deals the items out, with the record of the assignment changed.
fn deal_with(s: &mut Story, members: &[&str], change: impl FnOnce(&mut Value)) {
    let mut ops = s.deal_ops("a", members);
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
fn s4_an_assignment_is_whole() {
    assert_bad(
        S4,
        &[S9],
        &[
            ("an owner changes without the record", |s| {
                let (sid, b) = (s.sid("a"), s.id("b"));
                let ops = vec![
                    s.check("/j/coordination/term"),
                    s.put(sid, "/j/sharding/0/instance", Some(b), false),
                ];
                s.commit("a", ops);
            }),
            ("an item has no owner and does not wait", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(3));
                let mut ops = s.deal_ops("a", &["a", "b"]);
                ops.retain(
                    |op| !matches!(op, RegOp::Create { path, .. } if path.ends_with("2/instance")),
                );
                s.commit("a", ops);
            }),
            ("an owner is no member", |s| {
                let a = s.id("a");
                deal_with(s, &["a", "b"], |record| record["members"] = json!([a]));
            }),
            ("the record cannot be read", |s| {
                deal_with(s, &["a", "b"], |record| *record = json!("?"));
            }),
            ("an owner is deleted while its item is in force", |s| {
                let mut ops = s.deal_ops("a", &["a", "b"]);
                ops.push(s.put(s.sid("a"), "/j/sharding/0/instance", None, false));
                s.commit("a", ops);
            }),
            ("items are static, and one is given to somebody who is no member", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0).join("c");
                let (a, b) = (s.id("a"), s.id("b"));
                deal_with(s, &["a", "c"], |record| record["members"] = json!([a, b]));
            }),
            ("items were static until the leader was told otherwise", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0);
                s.configure(|c| c["staticSharding"] = json!(false)).at(4.0);
                let a = s.id("a");
                deal_with(s, &["a", "b"], |record| record["members"] = json!([a]));
            }),
            ("an item in force is retired", |s| {
                let mut ops = s.deal_ops("a", &["a", "b"]);
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
            ("items that do not fit the transaction wait", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(3));
                let a = s.id("a");
                let mut ops = s.deal_ops("a", &["a", "b"]);
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
            ("fewer items: those beyond have no owner", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(1)).deal(&["a", "b"]).round(1);
            }),
            ("a busy item stays with somebody who has left", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.deal(&["a"]).sweep("a", 1).take_over("a", 1).done("a", 1).deal(&["a"]);
            }),
            ("items are static, and stay with a stable name whose instance is away", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).round(1).crash("b").at(16.0);
                s.expire("b").at(17.0).join("c");
                let (a, b, c) = (s.id("a"), s.id("b"), s.id("c"));
                deal_with(s, &["a", "b"], |record| {
                    record["members"] = json!([a, c]);
                    record["names"] = json!({ b: "second" });
                });
                s.heal();
                for k in 2..5 {
                    s.at(k as f64 * 10.0 + 0.01).claim("a", 0, k).done("a", 0);
                }
                s.at(49.0);
            }),
            ("a registry checks that there is no record by making and unmaking it", |s| {
                let mut ops = s.deal_ops("a", &["a", "b"]);
                let path = "/j/ledger/7".to_owned();
                let data = String::new();
                ops.push(RegOp::Create { path: path.clone(), data, ephemeral: false });
                ops.push(RegOp::Delete { path });
                s.commit("a", ops);
            }),
            ("items are static, and one follows to a stable name whose instance is away", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0).join("c").at(4.0);
                let (a, b, c) = (s.id("a"), s.id("b"), s.id("c"));
                deal_with(s, &["a", "c"], |record| {
                    record["members"] = json!([a, b]);
                    record["names"] = json!({ c: "third" });
                });
            }),
            ("items were static in what the leader has last been able to read", |s| {
                s.configure(|c| c["staticSharding"] = json!(true)).at(3.0);
                s.configure(|c| c["staticSharding"] = json!(false)).at(4.0);
                s.write("operator", "/j/config", Some("[]")).at(5.0);
                let a = s.id("a");
                deal_with(s, &["a", "b"], |record| record["members"] = json!([a]));
            }),
            ("more items, with the configuration written first", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(4))
                    .at(3.0)
                    .deal(&["a", "b"])
                    .round(1);
            }),
        ],
    );
}

/// Moves item 1 to `a` whatever it does.
fn move_anyway(s: &mut Story) {
    let (sid, a) = (s.sid("a"), s.id("a"));
    let mut ops = s.deal_ops("a", &["a", "b"]);
    ops.push(s.put(sid, "/j/sharding/1/instance", Some(a), false));
    s.commit("a", ops);
}

#[test]
fn s5_nothing_moves_under_a_run() {
    assert_bad(
        S5,
        &[S3, S4],
        &[
            ("it runs", |s| {
                s.at(10.01).claim("b", 1, 1);
                move_anyway(s);
            }),
            ("it waits to be taken over", |s| {
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b").sweep("a", 1);
                move_anyway(s);
            }),
            ("it runs for an operator", |s| {
                s.at(5.0).claim_as("b", 1, "MANUAL", fire(0) + 5_001);
                move_anyway(s);
            }),
            ("its owner is deleted", |s| {
                s.at(10.01).claim("b", 1, 1).configure(|c| c["shardingTotalCount"] = json!(1));
                let mut ops = s.deal_ops("a", &["a", "b"]);
                ops.push(s.put(s.sid("a"), "/j/sharding/1/instance", None, false));
                s.commit("a", ops);
            }),
        ],
    );
    assert_good(
        S5,
        &[
            ("the others move, it follows later", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).join("c").deal_by("a", &["c", "a"]);
                s.at(11.0).done("a", 0).done("b", 1).deal_by("a", &["c", "a"]).round(2);
            }),
            ("written again with the same owner", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1);
                let (sid, b) = (s.sid("a"), s.id("b"));
                let mut ops = s.deal_ops("a", &["a", "b"]);
                ops.push(s.put(sid, "/j/sharding/1/instance", Some(b), false));
                s.commit("a", ops).at(11.0).done("a", 0).done("b", 1);
            }),
            ("a job without monitoring knows nothing about runs", |s| {
                s.configure(|c| {
                    (c["monitorExecution"], c["failover"]) = (json!(false), json!(false))
                });
                move_anyway(s);
            }),
        ],
    );
}

/// A third one joins, and the second one is lost in the middle of its run.
fn lost_beside_a_third(s: &mut Story) -> &mut Story {
    s.join("c").at(3.0).deal(&["a", "b"]).at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b")
}

#[test]
fn s8_who_writes_as_the_leader_leads() {
    assert_bad(
        S8,
        &[S3],
        &[
            ("somebody else deals", |s| {
                s.deal_by("b", &["a", "b"]);
            }),
            ("a former leader deals", |s| {
                let mut ops = s.deal_ops("a", &["a", "b"]);
                s.write("operator", "/j/leader/election/instance", None).lead("b");
                ops[0] = s.check("/j/coordination/term");
                s.commit("a", ops);
            }),
            ("the leader deals without a check of the term", |s| {
                let mut ops = s.deal_ops("a", &["a", "b"]);
                ops.remove(0);
                s.commit("a", ops);
            }),
            ("the leader checks only that there is a term", |s| {
                let mut ops = s.deal_ops("a", &["a", "b"]);
                ops[0] = RegOp::Check { path: "/j/coordination/term".into(), ver: None };
                s.commit("a", ops);
            }),
            ("somebody leads without a term of its own", |s| {
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
            ("somebody sweeps who does not lead", |s| {
                lost_beside_a_third(s).sweep("c", 1);
            }),
            ("somebody takes over at once who does not lead", |s| {
                lost_beside_a_third(s).take_at_once("c", 1);
            }),
        ],
    );
    assert_good(
        S8,
        &[
            ("a new leader deals in its own term", |s| {
                s.write("operator", "/j/leader/election/instance", None)
                    .lead("b")
                    .deal_by("b", &["a", "b"]);
                s.round(1);
            }),
            ("the former leader deals while nobody else was elected", |s| {
                s.write("operator", "/j/leader/election/instance", None).deal(&["a", "b"]).round(1);
            }),
            ("the leader leads again", |s| {
                s.write("operator", "/j/leader/election/instance", None)
                    .lead("a")
                    .deal(&["a", "b"]);
            }),
        ],
    );
}

#[test]
fn s9_no_request_is_lost() {
    assert_bad(
        S9,
        &[],
        &[
            ("handled before it was made", |s| {
                deal_with(s, &["a", "b"], |record| record["handled"] = json!(99));
            }),
            ("handled goes back", |s| {
                s.join("c").at(3.0).deal(&["a", "b", "c"]);
                deal_with(s, &["a", "b", "c"], |record| record["handled"] = json!(0));
            }),
            ("made for another number of items than there are", |s| {
                s.configure(|c| c["shardingTotalCount"] = json!(3));
                deal_with(s, &["a", "b"], |record| record["total"] = json!(2));
            }),
            ("made by another strategy", |s| {
                s.configure(|c| c["jobShardingStrategyClass"] = json!("ROTATE"));
                deal_with(s, &["a", "b"], |record| record["strategy"] = json!(""));
            }),
            ("made for neither, while what is stored cannot be read", |s| {
                s.write("operator", "/j/config", Some("{")).at(3.0).join("c");
                deal_with(s, &["a", "b", "c"], |record| record["strategy"] = json!("ODEVITY"));
            }),
            ("somebody joined, and in the end nobody cares", |s| {
                s.heal().join("c").round(1).round(2).at(29.0);
            }),
            ("a server was disabled, and in the end nobody cares", |s| {
                s.write("operator", "/j/servers/10.0.0.3", Some(""))
                    .join("c")
                    .deal(&["a", "b", "c"]);
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
            ("two join at once and are dealt with together", |s| {
                s.join("c").join("d").at(3.0).deal(&["a", "b", "c", "d"]).heal().round(1).at(19.0);
            }),
            ("dealt again without need", |s| {
                s.deal(&["a", "b"]).deal(&["a", "b"]).round(1);
            }),
            ("what is stored cannot be read: dealt anew as it was before", |s| {
                s.at(3.0).configure(|c| c["jobShardingStrategyClass"] = json!("ODEVITY"));
                s.write("operator", "/j/config", Some("{")).at(3.1).join("c");
                deal_with(s, &["a", "b", "c"], |record| record["strategy"] = json!(""));
                s.round(1).at(12.0).configure(|_| {}).deal(&["a", "b", "c"]);
            }),
            ("dealt with in the end", |s| {
                s.heal().join("c").at(6.0).deal(&["a", "b", "c"]).round(1).round(2);
            }),
            ("nobody is there to deal", |s| {
                s.at(3.0).drain("b").leave("b").drain("a").leave("a").heal().at(29.0);
            }),
        ],
    );
}

#[test]
fn s12_a_graceful_leave_leaves_nothing() {
    assert_bad(
        S12,
        &[L0, S1, S3, S6],
        &[
            ("it leaves with a run", |s| {
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
            ("what it finished is handed over", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).drain("b");
                s.stop("b", 1, "ok").ledger("b", 1, |l| l["state"] = json!("orphan"));
                s.write("b", "/j/sharding/1/running", None).leave("b");
                s.take_over("a", 1).at(12.0).done("a", 1);
            }),
            ("it says that it has left and holds an item", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).drain("b");
                s.process("b", ProcessEvent::Left).stop("b", 1, "ok");
            }),
        ],
    );
    assert_good(
        S12,
        &[
            ("it waits for its run", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).drain("b");
                s.at(12.0).done("b", 1).leave("b").deal(&["a"]).round(2);
            }),
            ("its time is up: the run is cancelled and handed over", |s| {
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
            ("it had lost the session of the run before, and could not record its end", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).begin("partition", "b");
                let run = s.run_id(1);
                s.at(15.0).expire("b").sweep("a", 1).stop_run("b", run, "ok").take_over("a", 1);
                s.at(16.0).done("a", 1).over("partition", "b").connect("b").deal(&["a", "b"]);
                s.at(18.0).drain("b").deal(&["a"]).leave("b").round(2);
            }),
            ("it had lost the session of a run that nobody has found yet", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).begin("partition", "b");
                s.at(15.0).expire("b").stop("b", 1, "cancelled").over("partition", "b");
                s.connect("b").at(17.0).drain("b").leave("b").sweep("a", 1).take_over("a", 1);
                s.at(18.0).done("a", 1).deal(&["a"]).round(2);
            }),
            ("it crashes while it leaves", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("a", 0)
                    .drain("b")
                    .crash("b");
                s.at(16.0).expire("b").sweep("a", 1).take_over("a", 1).at(17.0).done("a", 1);
            }),
        ],
    );
}
