//! S3 of jobs with a fixed delay: an item begins one fire after each recorded end.

use checker::Property::{L0, S3};
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

/// Lets the leader record the end of a fire, or the start of the job.
fn ended(s: &mut Story, fire: Option<i64>, at: i64) -> &mut Story {
    let record = json!({ "v": 1, "ended": { "fire": fire, "at": at } }).to_string();
    s.write("a", "/j/coordination/once", Some(&record))
}

/// A job with a fixed delay of 10 s, both of whose items have begun the first fire.
fn begun(s: &mut Story) -> &mut Story {
    s.configure(|config| config["cron"] = json!("@after 10s"));
    ended(s, None, fire(0)).at(10.01).claim("a", 0, 1).claim("b", 1, 1)
}

fn longer(s: &mut Story) -> &mut Story {
    s.configure(|config| config["cron"] = json!("@after 20s"))
}

#[test]
fn s3_an_end_is_recorded_between_two_fires_of_an_item() {
    assert_bad(
        S3,
        // The second fire came long before it began.
        &[L0],
        &[
            ("the delay becomes longer during a fire, and the next begins without a delay", |s| {
                longer(begun(s).at(11.0).done("b", 1)).at(20.01);
                s.claim_as("b", 1, "NORMAL", fire(2)).at(21.0).done("a", 0);
                s.claim_as("a", 0, "NORMAL", fire(2)).done("a", 0).done("b", 1);
                ended(s, Some(fire(2)), fire(2) + 1_500).at(22.0);
            }),
            ("the recorded end is that of another fire", |s| {
                begun(s).at(11.0).done("a", 0).done("b", 1);
                ended(s, Some(fire(1) - 1_000), fire(1) + 1_000).at(12.0);
            }),
            ("an end is recorded during a run", |s| {
                begun(s).at(11.0).done("b", 1);
                ended(s, Some(fire(1)), fire(1) + 1_000).at(12.0).done("a", 0);
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("each fire follows from an end", |s| {
                begun(s).at(11.0).done("a", 0).done("b", 1);
                ended(s, Some(fire(1)), fire(1) + 1_000).at(21.01);
                s.claim_as("a", 0, "NORMAL", fire(2) + 1_000).done("a", 0);
                s.claim_as("b", 1, "NORMAL", fire(2) + 1_000).done("b", 1);
                ended(s, Some(fire(2) + 1_000), fire(2) + 1_500).at(22.0);
            }),
            ("the next fire begins at once, by clocks that are ahead", |s| {
                begun(s).begin("skew", "a").begin("skew", "b").at(11.0).done("a", 0).done("b", 1);
                ended(s, Some(fire(1)), fire(1) + 1_000);
                s.claim_as("a", 0, "NORMAL", fire(2) + 1_000);
                s.claim_as("b", 1, "NORMAL", fire(2) + 1_000).at(12.0).done("a", 0).done("b", 1);
                ended(s, Some(fire(2) + 1_000), fire(2) + 1_000)
                    .over("skew", "a")
                    .over("skew", "b");
            }),
            ("a fire waits for the run that it meets", |s| {
                begun(s).at(11.0).done("a", 0).done("b", 1);
                ended(s, Some(fire(1)), fire(1) + 1_000).at(19.0);
                s.claim_as("b", 1, "MANUAL", fire(1) + 9_000).at(21.01);
                s.claim_as("a", 0, "NORMAL", fire(2) + 1_000).done("a", 0).at(25.0);
                s.done("b", 1).claim_as("b", 1, "NORMAL", fire(2) + 1_000).done("b", 1);
                ended(s, Some(fire(2) + 1_000), fire(2) + 5_500).at(26.0);
            }),
            ("the delay becomes longer during a fire", |s| {
                longer(begun(s).at(11.0).done("b", 1)).at(21.0).done("a", 0);
                ended(s, Some(fire(1)), fire(2) + 1_000).at(39.0);
            }),
            ("the job has another schedule meanwhile", |s| {
                s.configure(|config| config["cron"] = json!("@after 10s"));
                ended(s, None, fire(0)).configure(|c| c["cron"] = json!("0/10 * * * * ?"));
                s.round(1).round(2).at(25.0);
                s.configure(|config| config["cron"] = json!("@after 10s"));
                ended(s, Some(fire(2)), fire(2) + 5_100).at(34.0);
            }),
        ],
    );
}
