//! S21: valid and invalid notes of fires in a job that cancels overlaps, and in one that does not.

use checker::Property::{L2, L4, S15, S21};
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

fn cancels(s: &mut Story) -> &mut Story {
    s.configure(|config| config["overlap"] = json!("cancel")).assign(&["a", "b"])
}

/// The note of fire `k` by `b`, with a request to cancel the run of item 1.
fn note_and_cancel(s: &mut Story, k: i64) -> &mut Story {
    s.tamper(|l| {
        let by = "the overlap policy of the job";
        l["cancel"] = json!({ "token": l["token"], "by": by, "why": "overlap", "at": 1 });
    });
    s.note("b", 1, k)
}

fn first_round(s: &mut Story) -> &mut Story {
    s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0)
}

/// Ends the cancelled run of item 1, and runs the noted fire `k`.
fn end_and_replay(s: &mut Story, k: i64) -> &mut Story {
    s.at(21.0).stop("b", 1, "cancelled").release("b", 1, "interrupted");
    replay(s, k)
}

/// Claims item 1 for the noted fire `k` alone.
fn replay(s: &mut Story, k: i64) -> &mut Story {
    s.claim_as("b", 1, "MISFIRE", fire(k))
}

#[test]
fn s21_a_fire_cancels_the_run_that_it_meets_in_a_job_that_says_so() {
    assert_bad(
        S21,
        &[S15, L2, L4],
        &[
            ("the run goes on", |s| {
                first_round(cancels(s)).at(20.01).claim("a", 0, 2).done("a", 0).note("b", 1, 2);
                replay(s.at(21.0).done("b", 1), 2).done("b", 1);
            }),
            ("the job does not cancel overlaps", |s| {
                first_round(s).at(20.01).claim("a", 0, 2).done("a", 0);
                end_and_replay(note_and_cancel(s, 2), 2).at(22.0).done("b", 1);
            }),
            ("the run stands for noted fires", |s| {
                first_round(cancels(s)).at(20.01).claim("a", 0, 2).done("a", 0);
                end_and_replay(note_and_cancel(s, 2), 2).at(30.01);
                s.claim("a", 0, 3).done("a", 0);
                note_and_cancel(s, 3).at(31.0).stop("b", 1, "cancelled");
                replay(s.release("b", 1, "interrupted"), 3).done("b", 1);
            }),
        ],
    );
    assert_good(
        S21,
        &[
            ("the run is cancelled, and the noted fire runs", |s| {
                first_round(cancels(s)).at(20.01).claim("a", 0, 2).done("a", 0);
                end_and_replay(note_and_cancel(s, 2), 2).at(22.0).done("b", 1);
            }),
            ("the run that stands for noted fires goes on", |s| {
                first_round(cancels(s)).at(20.01).claim("a", 0, 2).done("a", 0);
                end_and_replay(note_and_cancel(s, 2), 2).at(30.01);
                s.claim("a", 0, 3).done("a", 0).note("b", 1, 3).at(31.0).done("b", 1);
                replay(s, 3).done("b", 1);
            }),
            ("an operator has requested it before", |s| {
                first_round(cancels(s)).cancel(1).at(20.01).claim("a", 0, 2).done("a", 0);
                s.note("b", 1, 2).at(21.0).stop("b", 1, "cancelled");
                replay(s.release("b", 1, "interrupted"), 2).done("b", 1);
            }),
            ("the job does not cancel overlaps", |s| {
                first_round(s).at(20.01).claim("a", 0, 2).done("a", 0).note("b", 1, 2);
                replay(s.at(21.0).done("b", 1), 2).done("b", 1);
            }),
        ],
    );
}
