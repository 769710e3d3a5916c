//! S15: valid and invalid ends of runs whose cancellation is requested.

use checker::Property::{L2, L4, S3, S7, S15};
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};

#[test]
fn s15_a_run_to_be_cancelled_is_not_continued() {
    assert_bad(
        S15,
        &[S3, S7, L2, L4],
        &[
            ("the holder gives it up for a takeover", |s| {
                s.at(10.01).claim("b", 1, 1).cancel(1).at(11.0).stop("b", 1, "cancelled");
                s.ledger("b", 1, |l| l["state"] = json!("orphan"));
                s.take_over("a", 1).at(12.0).done("a", 1);
            }),
            ("the leader orphans it", |s| {
                s.at(10.01).claim("b", 1, 1).cancel(1).crash("b").at(15.0).expire("b");
                s.orphan("a", 1).take_over("a", 1).assign(&["a"]).at(16.0).done("a", 1);
            }),
            ("the leader takes it over at once", |s| {
                s.at(10.01).claim("b", 1, 1).cancel(1).crash("b").at(15.0).expire("b");
                s.take_over_at_once("a", 1).assign(&["a"]).at(16.0).done("a", 1);
            }),
            ("it was orphaned before the request, and an instance takes it over", |s| {
                s.at(10.01).claim("b", 1, 1).crash("b").at(15.0).expire("b").orphan("a", 1);
                s.cancel(1).take_over("a", 1).assign(&["a"]).at(16.0).done("a", 1);
            }),
            ("an instance drops the request", |s| {
                s.at(10.01).claim("b", 1, 1).cancel(1);
                s.ledger("b", 1, |l| l["cancel"] = json!(null)).at(11.0).done("b", 1);
            }),
            ("the end loses the author", |s| {
                s.at(10.01).claim("b", 1, 1).cancel(1).at(11.0).stop("b", 1, "cancelled");
                s.tamper(|l| l["cancel"] = json!(null)).release("b", 1, "interrupted");
            }),
            ("a run ends as cancelled without a request", |s| {
                s.at(10.01).claim("b", 1, 1).at(11.0).stop("b", 1, "cancelled");
                s.tamper(|l| {
                    l["cancel"] = json!({ "token": l["token"], "by": "b", "why": "?", "at": 1 });
                });
                s.release("b", 1, "interrupted");
            }),
        ],
    );
    assert_good(
        S15,
        &[
            ("the holder ends it", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).cancel(1);
                s.at(11.0).stop("b", 1, "cancelled").release("b", 1, "interrupted").at(12.0);
            }),
            ("its code succeeded meanwhile", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).cancel(1);
                s.at(11.0).done("b", 1).at(12.0);
            }),
            ("the holder is lost, and the leader ends it", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).cancel(1).crash("b");
                s.at(15.0).expire("b").abandon("a", 1).assign(&["a"]).at(17.0);
            }),
            ("it was orphaned before the request, and the leader ends it", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b");
                s.at(15.0).expire("b").orphan("a", 1).cancel(1).abandon("a", 1);
                s.assign(&["a"]).at(17.0);
            }),
            ("the request of a former run is void", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).cancel(1);
                s.at(11.0).done("b", 1);
                s.at(20.01)
                    .claim("a", 0, 2)
                    .claim("b", 1, 2)
                    .done("a", 0)
                    .crash("b")
                    .at(25.0)
                    .expire("b")
                    .orphan("a", 1);
                s.take_over("a", 1).assign(&["a"]).at(26.0).done("a", 1);
            }),
        ],
    );
}
