//! S22: valid and invalid changes of the queue of an item.

use checker::Property::{L2, L4, S1a, S3, S22};
use checker::history::Fact;
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

/// A job whose items queue up to two fires. Item 1 of `b` runs from the first fire on.
fn queues(s: &mut Story) -> &mut Story {
    let s = s.configure(|config| config["overlap"] = json!("queue 2")).assign(&["a", "b"]);
    s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0)
}

/// The queue of the next record.
fn with_queue<'s>(s: &'s mut Story, fires: &'static [i64]) -> &'s mut Story {
    s.tamper(move |l| {
        l.as_object_mut().unwrap().remove("merged");
        let each: Vec<_> = fires.iter().map(|k| fire(*k)).collect();
        match (each.first(), each.last()) {
            (Some(first), Some(last)) => {
                let count = each.len();
                l["misfire"] =
                    json!({ "first": first, "last": last, "count": count, "each": each });
            }
            _ => {
                l.as_object_mut().unwrap().remove("misfire");
            }
        }
    })
}

/// The note of fire `k`, while item 0 runs it.
fn note(s: &mut Story, k: i64, queue: &'static [i64]) {
    s.at(f64::from(u8::try_from(k).unwrap()) * 10.0 + 0.01).claim("a", 0, k).done("a", 0);
    with_queue(s, queue).note("b", 1, k);
}

/// Ends the run of item 1, and runs the queued fire `k`.
fn next(s: &mut Story, k: i64, queue: &'static [i64]) {
    s.done("b", 1);
    run_queued(s, k, queue);
}

fn run_queued(s: &mut Story, k: i64, queue: &'static [i64]) {
    with_queue(s, queue).claim_as("b", 1, "MISFIRE", fire(k));
    if !queue.is_empty() {
        s.write("b", "/j/sharding/1/misfire", Some(""));
    }
}

#[test]
fn s22_queued_fires_run_one_by_one_within_the_bound() {
    assert_bad(
        S22,
        &[S1a, S3, L2, L4],
        &[
            ("the fire is noted for a common run", |s| {
                queues(s).at(20.01).claim("a", 0, 2).done("a", 0).note("b", 1, 2);
                s.done("b", 1).claim_as("b", 1, "MISFIRE", fire(2)).done("b", 1);
            }),
            ("the queue is full", |s| {
                note(queues(s), 2, &[2]);
                note(s, 3, &[2, 3]);
                note(s, 4, &[2, 3, 4]);
                next(s.at(41.0), 2, &[3, 4]);
                next(s, 3, &[4]);
                next(s, 4, &[]);
                s.done("b", 1);
            }),
            ("the later fire runs first", |s| {
                note(queues(s), 2, &[2]);
                note(s, 3, &[2, 3]);
                next(s.at(31.0), 3, &[2]);
                next(s, 2, &[]);
                s.done("b", 1);
            }),
            ("one run stands for the queue", |s| {
                note(queues(s), 2, &[2]);
                note(s, 3, &[2, 3]);
                s.at(31.0).done("b", 1).claim_as("b", 1, "MISFIRE", fire(3)).done("b", 1);
            }),
            ("a later fire overtakes the queue", |s| {
                note(queues(s), 2, &[2]);
                s.done("b", 1).at(30.01).claim("a", 0, 3).done("a", 0);
                with_queue(s, &[2]).claim("b", 1, 3).done("b", 1);
                run_queued(s, 2, &[]);
                s.done("b", 1);
            }),
            ("the job has no queue", |s| {
                queues(s).configure(|config| config["overlap"] = json!(null));
                note(s, 2, &[2]);
                next(s.at(21.0), 2, &[]);
                s.done("b", 1);
            }),
        ],
    );
    assert_good(
        S22,
        &[
            ("queued fires run in order", |s| {
                note(queues(s), 2, &[2]);
                note(s, 3, &[2, 3]);
                next(s.at(31.0), 2, &[3]);
                next(s, 3, &[]);
                s.done("b", 1);
            }),
            ("a fire joins the queue of an idle item", |s| {
                note(queues(s), 2, &[2]);
                s.at(30.0).done("b", 1);
                note(s, 3, &[2, 3]);
                run_queued(s, 2, &[3]);
                next(s, 3, &[]);
                s.done("b", 1);
            }),
            ("a fire that meets a full queue is reported as missed", |s| {
                note(queues(s), 2, &[2]);
                note(s, 3, &[2, 3]);
                s.at(40.01).claim("a", 0, 4).done("a", 0).at(50.0);
                let (job, reason) = ("j".to_owned(), "the queue is full".to_owned());
                s.says("b", Fact::Missed { job, item: Some(1), fire: fire(4), reason });
                s.claim("a", 0, 5).done("a", 0);
                next(s, 2, &[3]);
                next(s, 3, &[]);
                s.done("b", 1).claim("b", 1, 5).done("b", 1);
            }),
            ("the job has no queue any more", |s| {
                note(queues(s), 2, &[2]);
                note(s, 3, &[2, 3]);
                s.configure(|config| config["overlap"] = json!(null)).at(31.0).done("b", 1);
                s.hide_gaps().claim_as("b", 1, "MISFIRE", fire(3)).done("b", 1);
            }),
        ],
    );
}
