//! L1–L4, L6, L7: liveness after healing.

use checker::Property::{L0, L1, L2, L3, L4, L6, L7, S3, S9};
use checker::{Options, Verdict};
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

#[test]
fn l1_every_item_belongs_to_an_available_instance() {
    assert_bad(
        L1,
        &[S3, S9, L3],
        &[
            ("an owner is gone, and no resharding follows", |s| {
                s.round(1).crash("b").at(15.0).expire("b").heal().at(39.0);
            }),
            ("an owner is gone after healing", |s| {
                s.heal().round(1).expire("b").at(39.0);
            }),
            ("an owner's server is disabled, and no resharding follows", |s| {
                s.heal().write("operator", "/j/servers/10.0.0.2", Some("DISABLED")).at(39.0);
            }),
            ("more items, and no resharding follows", |s| {
                s.heal().configure(|c| c["shardingTotalCount"] = json!(3)).at(39.0);
            }),
        ],
    );
    assert_good(
        L1,
        &[
            ("resharded in time", |s| {
                s.round(1)
                    .crash("b")
                    .at(15.0)
                    .expire("b")
                    .heal()
                    .at(20.01)
                    .claim("a", 0, 2)
                    .done("a", 0)
                    .at(24.0)
                    .assign(&["a"])
                    .claim("a", 1, 2)
                    .done("a", 1)
                    .round(3);
            }),
            ("a run delays the new owner", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b")
                    .assign(&["a"]);
                s.orphan("a", 1)
                    .take_over("a", 1)
                    .heal()
                    .at(20.01)
                    .claim("a", 0, 2)
                    .done("a", 0)
                    .note("a", 1, 2);
                s.at(30.01)
                    .claim("a", 0, 3)
                    .done("a", 0)
                    .note("a", 1, 3)
                    .at(39.0)
                    .done("a", 1)
                    .assign(&["a"]);
                s.round(4);
            }),
            ("no instance is left", |s| {
                s.round(1).crash("a").crash("b").at(16.0).expire("a").expire("b").heal().at(59.0);
            }),
            ("not healed", |s| {
                s.round(1).crash("a").crash("b").at(16.0).expire("a").at(59.0);
            }),
        ],
    );
}

#[test]
fn l2_orphans_are_taken_over() {
    assert_bad(
        L2,
        &[S3, S9, L1, L3, L7],
        &[
            ("the orphan stays", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.orphan("a", 1)
                    .heal()
                    .round_of("a", 0, 2)
                    .round_of("a", 0, 3)
                    .round_of("a", 0, 4)
                    .at(49.0);
            }),
            ("no instance finds the run of a lost holder", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.heal().round_of("a", 0, 2).round_of("a", 0, 3).round_of("a", 0, 4).at(49.0);
            }),
            ("all instances are lost, two new ones join, and none finds the runs", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .crash("a")
                    .crash("b")
                    .at(16.0)
                    .expire("a");
                s.expire("b").join("c").join("d").lead("c").heal().at(49.0);
            }),
            ("failover is turned off, and an earlier orphan stays", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.orphan("a", 1).configure(|c| c["failover"] = json!(false)).heal();
                s.round_of("a", 0, 2).round_of("a", 0, 3).round_of("a", 0, 4).at(49.0);
            }),
        ],
    );
    assert_good(
        L2,
        &[
            ("taken over in time", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b")
                    .heal();
                s.assign(&["a"])
                    .orphan("a", 1)
                    .at(18.0)
                    .take_over("a", 1)
                    .at(19.0)
                    .done("a", 1)
                    .assign(&["a"])
                    .round(2);
            }),
            ("all instances are busy", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .crash("b")
                    .at(15.0)
                    .expire("b")
                    .orphan("a", 1);
                s.assign(&["a"]).heal();
                for k in 2..6 {
                    s.at(k as f64 * 10.0 + 0.01).note("a", 0, k).note("a", 1, k);
                }
                s.done("a", 0).take_over("a", 1).at(51.0).done("a", 1);
                s.assign(&["a"]).claim_as("a", 0, "MISFIRE", fire(5)).claim_as(
                    "a",
                    1,
                    "MISFIRE",
                    fire(5),
                );
                s.done("a", 0).done("a", 1).assign(&["a"]);
            }),
            ("the last instance has left", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.drain("a").leave("a").heal().at(59.0);
            }),
        ],
    );
}

#[test]
fn l3_an_available_instance_leads() {
    assert_bad(
        L3,
        &[S3, S9, L1],
        &[
            ("the leader is gone", |s| {
                s.crash("a").at(7.0).expire("a").heal().at(39.0);
            }),
            ("an operator deleted the leader's node", |s| {
                s.heal()
                    .write("operator", "/j/leader/election/instance", None)
                    .round(1)
                    .round(2)
                    .at(29.0);
            }),
            ("the leader's server is disabled, and the leader stays", |s| {
                s.heal().write("operator", "/j/servers/10.0.0.1", Some("DISABLED")).at(39.0);
            }),
        ],
    );
    assert_good(
        L3,
        &[
            ("elected in time", |s| {
                s.crash("a")
                    .at(7.0)
                    .expire("a")
                    .heal()
                    .at(10.01)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(15.0)
                    .lead("b")
                    .assign(&["b"])
                    .claim("b", 0, 1)
                    .done("b", 0)
                    .round(2);
            }),
            ("no instance could lead", |s| {
                s.crash("a").crash("b").at(7.0).expire("a").expire("b").heal().at(39.0);
            }),
            ("another fault after healing", |s| {
                s.crash("a")
                    .at(7.0)
                    .expire("a")
                    .heal()
                    .at(10.01)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(14.0)
                    .begin("registry_down", "registry")
                    .at(24.0);
                s.over("registry_down", "registry").lead("b").assign(&["b"]).round(3);
            }),
        ],
    );
}

#[test]
fn l4_end_of_a_run_is_recorded() {
    assert_bad(
        L4,
        &[S3, L0],
        &[
            ("the run ended, and the record stays running", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("b", 1)
                    .stop("a", 0, "ok")
                    .at(19.0);
            }),
            ("recorded after three seconds", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("b", 1)
                    .stop("a", 0, "ok");
                s.at(14.0).release("a", 0, "succeeded");
            }),
            ("a failed run is never recorded", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("b", 1)
                    .stop("a", 0, "error")
                    .at(19.0);
            }),
        ],
    );
    assert_good(
        L4,
        &[
            ("recorded at once", |s| {
                s.round(1).at(19.0);
            }),
            ("the reply was lost, and the end was written again", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("b", 1)
                    .begin("lose_reply", "a");
                s.stop("a", 0, "ok").at(14.0).over("lose_reply", "a").release("a", 0, "succeeded");
            }),
            ("killed before the end could be recorded", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .at(11.0)
                    .done("a", 0)
                    .stop("b", 1, "ok")
                    .crash("b");
                s.at(16.0).expire("b").orphan("a", 1).take_over("a", 1).at(17.0).done("a", 1);
            }),
        ],
    );
}

#[test]
fn l6_leave_ends() {
    assert_bad(
        L6,
        &[S3, L0, L1, L3],
        &[
            ("the instance never leaves", |s| {
                s.round(1).drain("b").assign(&["a"]);
                (2..9).for_each(|k| {
                    s.round(k);
                });
            }),
            ("the leave exceeds its bound", |s| {
                s.round(1).drain("b").assign(&["a"]);
                (2..9).for_each(|k| {
                    s.round(k);
                });
                s.leave("b");
            }),
            ("another instance leaves, and this one does not", |s| {
                s.round(1).drain("b").assign(&["a"]).round(2).drain("a").leave("a").at(99.0);
            }),
        ],
    );
    assert_good(
        L6,
        &[
            ("the instance leaves", |s| {
                s.round(1).drain("b").assign(&["a"]).at(15.0).leave("b").assign(&["a"]);
                (2..9).for_each(|k| {
                    s.round(k);
                });
            }),
            ("the process was killed during the leave", |s| {
                s.round(1).drain("b").assign(&["a"]).crash("b");
                (2..9).for_each(|k| {
                    s.round(k);
                });
            }),
            ("the bound has not passed yet", |s| {
                s.round(1).round(2).drain("b").assign(&["a"]).round(3).at(39.0);
            }),
        ],
    );
}

#[test]
fn l7_no_stale_node_stays() {
    assert_bad(
        L7,
        &[],
        &[
            ("marked as running", |s| {
                let op = s.put(s.sid("a"), "/j/sharding/0/running", Some(String::new()), true);
                s.commit("a", vec![op]).heal().only("b", 1..4);
            }),
            ("in the failover queue", |s| {
                s.write("a", "/j/leader/failover/items/0", Some("")).heal().rounds(1..4);
            }),
            ("marked as misfired", |s| {
                s.write("a", "/j/sharding/1/misfire", Some(""))
                    .heal()
                    .rounds_without_misfire_mark(1..4);
            }),
            ("beyond the number of items, with an owner", |s| {
                let b = s.id("b");
                s.heal().configure(|c| c["shardingTotalCount"] = json!(1)).assign(&["a", "b"]);
                s.write("operator", "/j/sharding/1/instance", Some(&b)).only("a", 1..4);
            }),
            ("the draining mark of an instance that has left", |s| {
                s.write("operator", "/j/coordination/draining/10.0.0.9@-@9", Some(""))
                    .heal()
                    .rounds(1..4);
            }),
            ("a noted fire that no instance runs", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(20.01)
                    .note("a", 0, 2);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .configure(|c| c["cron"] = json!(""))
                    .at(22.0)
                    .done("a", 0);
                s.heal().at(59.0);
            }),
        ],
    );
    assert_good(
        L7,
        &[
            ("removed in time", |s| {
                s.write("a", "/j/leader/failover/items/0", Some("")).heal().round(1);
                s.write("a", "/j/leader/failover/items/0", None).rounds(2..4);
            }),
            ("a noted fire waits for the run before it", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .heal()
                    .at(20.01)
                    .note("a", 0, 2);
                s.claim("b", 1, 2).done("b", 1).only("b", 3..6).done("a", 0);
            }),
            ("a surplus item that still runs", |s| {
                s.heal().at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0);
                s.configure(|c| c["shardingTotalCount"] = json!(1))
                    .assign(&["a", "b"])
                    .only("a", 2..5);
            }),
        ],
    );
}

#[test]
fn bounds_are_scaled() {
    let mut story = Story::cluster(2);
    story.at(10.01).claim("b", 1, 1).done("b", 1).at(12.5).claim("a", 0, 1).done("a", 0);
    assert_eq!(story.judge().verdict, Verdict::Invalid);
    let patient = Options { scale: 3.0, ..Options::default() };
    assert_eq!(story.judge_with(&patient).verdict, Verdict::Valid);
}

impl Story {
    /// One item of one process runs fire `k`.
    fn round_of(&mut self, p: &str, i: u32, k: i64) -> &mut Self {
        self.at(k as f64 * 10.0 + 0.01).claim(p, i, k).at(k as f64 * 10.0 + 1.0).done(p, i)
    }

    fn rounds(&mut self, fires: std::ops::Range<i64>) -> &mut Self {
        fires.for_each(|k| {
            self.round(k);
        });
        self
    }

    /// Runs fires of item 0 of `a` or item 1 of `b` only. The other item notes its fires while it
    /// runs.
    fn only(&mut self, p: &str, fires: std::ops::Range<i64>) -> &mut Self {
        let (mine, other, whose) = if p == "a" { (0, 1, "b") } else { (1, 0, "a") };
        for k in fires {
            self.round_of(p, mine, k);
            if self.ledgers[&other]["state"] == "running" && p == "b" {
                self.note(whose, other, k);
            }
        }
        self
    }

    /// Runs rounds that leave the misfire mark untouched.
    fn rounds_without_misfire_mark(&mut self, fires: std::ops::Range<i64>) -> &mut Self {
        for k in fires {
            self.at(k as f64 * 10.0 + 0.01);
            for (p, i) in [("a", 0), ("b", 1)] {
                let mark = self.forget("/j/sharding/1/misfire");
                self.claim(p, i, k).done(p, i);
                self.remember("/j/sharding/1/misfire", mark);
            }
        }
        self
    }
}
