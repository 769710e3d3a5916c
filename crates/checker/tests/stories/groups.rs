//! S23: valid and invalid runs of a job whose group limits them.

use checker::Property::{L4, L7, S23};
use serde_json::json;

use crate::story::Story;
use crate::story::verdict::{assert_bad, assert_good};

const PERMIT: &str = "/job@-@groups/db/permits/0";

/// A job in a group with these limits.
fn grouped<'a>(s: &'a mut Story, limits: &str) -> &'a mut Story {
    s.write("operator", "/job@-@groups/db/limits", Some(limits));
    s.configure(|config| config["group"] = json!("db")).assign(&["a", "b"])
}

fn runs(s: &mut Story, max: u32) -> &mut Story {
    grouped(s, &format!(r#"{{"v":1,"cluster_concurrency":{max}}}"#))
}

fn rate<'a>(s: &'a mut Story, rate: &str) -> &'a mut Story {
    grouped(s, &format!(r#"{{"v":1,"start_rate":"{rate}"}}"#))
}

/// Two claims, the first one with a start of the group.
fn both(s: &mut Story) {
    s.at(11.0).done("a", 0).done("b", 1);
}

#[test]
fn s23_no_run_begins_beyond_the_limit_of_the_group() {
    assert_bad(
        S23,
        &[L4, L7],
        &[
            ("a run begins without a permit", |s| {
                runs(s, 1).at(10.01).group_permit(0).claim("a", 0, 1).claim("b", 1, 1);
                both(s);
            }),
            ("a permit is not below the limit", |s| {
                runs(s, 1).at(10.01).group_permit(0).claim("a", 0, 1);
                s.group_permit(1).claim("b", 1, 1);
                both(s);
            }),
            ("the record names a permit that the claim did not take", |s| {
                runs(s, 2).at(10.01);
                s.tamper(|l| (l["group"], l["group_permit"]) = (json!("db"), json!(1)));
                s.claim("a", 0, 1).group_permit(0).claim("b", 1, 1);
                both(s);
            }),
            ("the permit is of another group", |s| {
                runs(s, 2).at(10.01).tamper(|l| l["group"] = json!("other"));
                s.group_permit(1).claim("a", 0, 1).group_permit(0).claim("b", 1, 1);
                both(s);
            }),
            ("a takeover needs no permit", |s| {
                runs(s, 1).at(10.01).group_permit(0).claim("a", 0, 1).at(10.5).done("a", 0);
                s.group_permit(0).claim("b", 1, 1).crash("b").at(15.0);
                s.expire("b").orphan("a", 1).tamper(|l| l["group_permit"] = json!(null));
                s.take_over("a", 1).assign(&["a"]).at(16.0).done("a", 1);
            }),
            ("a permit is returned during its run", |s| {
                runs(s, 1).at(10.01).group_permit(0).claim("a", 0, 1);
                s.write("a", PERMIT, None).group_permit(0).claim("b", 1, 1);
                both(s);
            }),
            ("a run begins while the limits cannot be read", |s| {
                grouped(s, r#"{"v":2}"#).at(10.01).claim("a", 0, 1).claim("b", 1, 1);
                both(s);
            }),
            ("a start is not recorded", |s| {
                rate(s, "2 in 1m").at(10.01).claim("a", 0, 1);
                s.group_starts(&[(10, 1)]).claim("b", 1, 1);
                both(s);
            }),
            ("one run more begins in the period", |s| {
                rate(s, "1 in 1m").at(10.01).group_starts(&[(10, 1)]).claim("a", 0, 1);
                s.group_starts(&[(10, 1), (20, 1)]).claim("b", 1, 1);
                both(s);
            }),
            ("an earlier start is left out", |s| {
                rate(s, "2 in 1m").at(10.01).group_starts(&[(10, 1)]).claim("a", 0, 1);
                s.group_starts(&[(20, 1)]).claim("b", 1, 1);
                both(s);
            }),
        ],
    );
    assert_good(
        S23,
        &[
            ("runs come one after the other", |s| {
                runs(s, 1).at(10.01).group_permit(0).claim("a", 0, 1).at(10.5).done("a", 0);
                s.group_permit(0).claim("b", 1, 1).at(11.0).done("b", 1);
            }),
            ("the session of the holder ends, and its permit is free", |s| {
                runs(s, 1).at(10.01).group_permit(0).claim("a", 0, 1).at(10.5).done("a", 0);
                s.group_permit(0).claim("b", 1, 1).crash("b").at(15.0);
                s.expire("b").orphan("a", 1).group_permit(0).take_over("a", 1).assign(&["a"]);
                s.at(16.0).done("a", 1).assign(&["a"]);
            }),
            ("two runs begin in the period", |s| {
                rate(s, "2 in 1m").at(10.01).group_starts(&[(10, 1)]).claim("a", 0, 1);
                s.group_starts(&[(10, 2)]).claim("b", 1, 1);
                both(s);
            }),
            ("another job waits first, and the fire waits", |s| {
                runs(s, 1).at(9.0);
                s.write("operator", "/job@-@groups/db/waiting/other", Some("{}"));
                s.at(15.0).write("operator", "/job@-@groups/db/waiting/other", None);
                s.group_permit(0).claim("a", 0, 1).at(15.5).done("a", 0);
                s.group_permit(0).claim("b", 1, 1).at(16.0).done("b", 1);
            }),
        ],
    );
}
