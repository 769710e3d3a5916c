//! S19: valid and invalid steps of a backfill.

use checker::Property::{S3, S8, S19};
use serde_json::{Value, json};

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{OPERATOR, Story, fire};

const LOG: &str = "/j/coordination/backfills";

/// The log with one backfill of the past fires 1, 2 and 3 for items 0 and 1.
fn log(done: usize, change: impl FnOnce(&mut Value)) -> String {
    let mut backfill = json!({
        "id": "b", "by": "anna", "why": "wrong rates", "at": fire(0) + 1, "from": 1, "until": 9,
        "fires": [1, 2, 3], "total": 3, "items": [[0, 1]], "concurrency": 1, "done": done
    });
    change(&mut backfill);
    json!([backfill]).to_string()
}

impl Story {
    /// An operator requests the backfill, or changes it.
    fn backfill(&mut self, change: impl FnOnce(&mut Value)) -> &mut Self {
        let op = self.put(OPERATOR, LOG, Some(log(0, change)), false);
        self.commit("operator", vec![op])
    }

    /// The leader counts this many fires as ended.
    fn counts(&mut self, leader: &str, done: usize) -> &mut Self {
        let ended = done == 3;
        let text = log(done, |backfill| {
            if ended {
                backfill["ended"] = json!(9);
            }
        });
        let term = self.check("/j/coordination/term");
        let op = self.put(self.sid(leader), LOG, Some(text), false);
        self.commit(leader, vec![term, op])
    }

    /// The leader gives an item a past fire.
    fn gives(&mut self, leader: &str, i: u32, past: i64) -> &mut Self {
        self.ledger(leader, i, |ledger| {
            let at = fire(0) - 1 + 2 * past;
            ledger["request"] = json!({ "id": "b", "at": at, "past_fire": past });
            ledger["backfilled"] = json!({ "id": "b", "fire": past });
        })
    }

    /// The owner runs the past fire that its item has got, to its end.
    fn runs_past(&mut self, p: &str, i: u32, past: i64) -> &mut Self {
        self.tamper(move |ledger| {
            ledger["request"] = json!(null);
            ledger["past_fire"] = json!(past);
        });
        self.only_claim(p, i, "MANUAL", fire(0) - 1 + 2 * past);
        self.start(p, i).stop(p, i, "ok");
        self.tamper(|ledger| ledger["past_fire"] = json!(null));
        self.release(p, i, "succeeded")
    }
}

#[test]
fn s19_an_item_gets_each_past_fire_once_and_in_order() {
    assert_bad(
        S19,
        &[S3, S8],
        &[
            ("an item gets a fire twice", |s| {
                s.backfill(|_| {}).gives("a", 0, 1).runs_past("a", 0, 1).gives("a", 0, 1);
            }),
            ("an item skips a fire", |s| {
                s.backfill(|b| b["concurrency"] = json!(3)).gives("a", 0, 2);
            }),
            ("more fires are in progress than the concurrency", |s| {
                s.backfill(|_| {}).gives("a", 0, 1).runs_past("a", 0, 1).gives("a", 0, 2);
            }),
            ("an item gets a fire after the cancellation", |s| {
                s.backfill(|b| b["cancel"] = json!({ "by": "ben", "why": "?", "at": 1 }));
                s.gives("a", 0, 1);
            }),
            ("an item gets a fire of no backfill", |s| {
                s.gives("a", 0, 1);
            }),
            ("the record does not note the fire", |s| {
                s.backfill(|_| {});
                s.ledger("a", 0, |ledger| {
                    ledger["request"] = json!({ "id": "b", "at": fire(0) + 1, "past_fire": 1 });
                });
            }),
            ("a fire is counted that an item waits for", |s| {
                s.backfill(|_| {}).gives("a", 0, 1).gives("a", 1, 1).runs_past("a", 0, 1);
                s.counts("a", 1);
            }),
            ("a fire is counted that an item did not get", |s| {
                s.backfill(|_| {}).gives("a", 0, 1).runs_past("a", 0, 1).counts("a", 1);
            }),
            ("the leader undoes the cancellation", |s| {
                s.backfill(|b| b["cancel"] = json!({ "by": "ben", "why": "?", "at": 1 }));
                s.counts("a", 0);
            }),
            ("the run is for another past fire than its request", |s| {
                s.backfill(|_| {}).gives("a", 0, 1).runs_past("a", 0, 3);
            }),
        ],
    );
    assert_good(
        S19,
        &[
            ("both items run all fires", |s| {
                s.backfill(|_| {});
                for past in 1..=3 {
                    s.gives("a", 0, past).gives("a", 1, past);
                    s.runs_past("a", 0, past).runs_past("b", 1, past);
                    s.counts("a", usize::try_from(past).unwrap());
                }
            }),
            ("the leader drops a request of a cancelled backfill and ends it", |s| {
                s.backfill(|_| {}).gives("a", 0, 1);
                let cancel = json!({ "by": "ben", "why": "?", "at": 1 });
                let cancelled = cancel.clone();
                s.backfill(|b| b["cancel"] = cancelled);
                s.ledger("a", 0, |ledger| ledger["request"] = json!(null));
                let text = log(0, |b| {
                    b["cancel"] = cancel;
                    b["ended"] = json!(9);
                });
                let term = s.check("/j/coordination/term");
                let op = s.put(s.sid("a"), LOG, Some(text), false);
                s.commit("a", vec![term, op]);
            }),
            ("one item goes ahead within the concurrency", |s| {
                s.backfill(|b| b["concurrency"] = json!(2)).gives("a", 0, 1).runs_past("a", 0, 1);
                s.gives("a", 0, 2).runs_past("a", 0, 2);
            }),
        ],
    );
}
