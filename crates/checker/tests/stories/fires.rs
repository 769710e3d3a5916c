//! S3, L0, L5: every fire is accounted for, and each miss or delay has a cause.

use checker::Property::{L0, L5, S1a, S3};
use checker::history::Fact;
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

/// Excludes days from 3 s on. Stories take place on 14 November 2023, a Tuesday.
fn excluded<'a>(s: &'a mut Story, days: &'static str) -> &'a mut Story {
    s.at(3.0).configure(|c| c["excludedDays"] = json!(days))
}

#[test]
fn s3_excluded_days_have_no_fires() {
    assert_bad(
        S3,
        &[],
        &[
            ("a fire on an excluded weekday is claimed", |s| {
                excluded(s, "TUE,12-25").round(1);
            }),
            ("a fire on an excluded day of the year is claimed", |s| {
                excluded(s, "11-10..11-14").round(1);
            }),
            ("a fire on an excluded date is claimed", |s| {
                excluded(s, "2023-11-14").round(1);
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("no instance runs a fire", |s| {
                excluded(s, "11-14..11-15").at(90.0);
            }),
            ("other weekdays are excluded", |s| {
                excluded(s, "WED..MON").round(1).round(2);
            }),
            ("the day is another one in the time zone", |s| {
                s.at(2.5).configure(|c| c["timeZone"] = json!("GMT+08:00"));
                excluded(s, "TUE").round(1).round(2);
            }),
        ],
    );
    assert_bad(
        L0,
        &[S3],
        &[
            ("other weekdays are excluded, and a fire is missed", |s| {
                excluded(s, "WED..MON").round(1).round(3);
            }),
            ("other days of the year are excluded", |s| {
                excluded(s, "11-15").round(1).round(3);
            }),
            ("other dates are excluded", |s| {
                excluded(s, "2022-11-14").round(1).round(3);
            }),
        ],
    );
}

/// Fires are those of all rules, within the period.
#[test]
fn s3_several_rules_and_a_period_have_their_fires() {
    fn rules<'a>(s: &'a mut Story, cron: &'static str) -> &'a mut Story {
        s.at(3.0).configure(|c| c["cron"] = json!(cron))
    }
    fn period<'a>(s: &'a mut Story, field: &'static str, time: &'static str) -> &'a mut Story {
        s.at(3.0).configure(|c| c[field] = json!(time))
    }
    assert_good(
        S3,
        &[
            ("an interval", |s| {
                rules(s, "@every 10s").round(1).round(2);
            }),
            ("an expression and an interval", |s| {
                rules(s, "0/20 * * * * ?; @every 20s from 2023-11-14T00:00:10Z").round(1).round(2);
            }),
            ("no instance runs a fire before the period", |s| {
                period(s, "notBefore", "2023-11-15T00:00:00Z").at(90.0);
            }),
        ],
    );
    assert_bad(
        S3,
        &[],
        &[
            ("a fire between two intervals is claimed", |s| {
                rules(s, "@every 7h").round(1);
            }),
            ("a fire before the period is claimed", |s| {
                period(s, "notBefore", "2023-11-15T00:00:00Z").round(1);
            }),
            ("a fire after the period is claimed", |s| {
                period(s, "notAfter", "2023-11-14T00:00:00Z").round(1);
            }),
        ],
    );
}

/// A miss needs a report even if it has a cause.
#[test]
fn s3_missed_fire_is_reported() {
    fn outage(s: &mut Story) -> &mut Story {
        s.round(1).at(15.0).begin("registry_down", "registry");
        s.at(25.0).over("registry_down", "registry")
    }
    fn gap(item: u32, first: i64, until: i64) -> Fact {
        Fact::Gap { job: "j".into(), item, first: fire(first), until: fire(until), count: None }
    }
    fn missed(item: Option<u32>, k: i64) -> Fact {
        Fact::Missed { job: "j".into(), item, fire: fire(k), reason: "why".into() }
    }
    assert_bad(
        S3,
        &[],
        &[
            ("no instance reports it", |s| {
                outage(s).hide_gaps().round(3);
            }),
            ("one item's gap is not reported", |s| {
                outage(s).hide_gaps().round(3).says("a", gap(0, 2, 3));
            }),
            ("the gap is too short", |s| {
                outage(s).hide_gaps().round(3).says("a", gap(0, 1, 2)).says("b", gap(1, 2, 3));
            }),
            ("the report names no items", |s| {
                outage(s)
                    .hide_gaps()
                    .says("a", missed(None, 2))
                    .says("b", missed(None, 2))
                    .round(3);
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("in gaps", |s| {
                outage(s).round(3);
            }),
            ("in gaps, twice", |s| {
                outage(s).round(3).says("a", gap(0, 2, 3)).says("b", gap(1, 1, 3));
            }),
            ("with a reason", |s| {
                outage(s).hide_gaps().says("a", missed(Some(0), 2)).says("b", missed(Some(1), 2));
                s.round(3);
            }),
        ],
    );
}

#[test]
fn s3_certain_gap_contains_no_run_fire() {
    fn reported(s: &mut Story, first: i64, until: i64, count: Option<u32>) {
        let (first, until) = (fire(first), fire(until));
        s.says("a", Fact::Gap { job: "j".into(), item: 0, first, until, count });
    }
    assert_bad(
        S3,
        &[],
        &[
            ("the gap begins with a fire that was run", |s| {
                reported(s.round(1).round(2), 1, 2, Some(1));
            }),
            ("the gap ends with a fire that was run", |s| {
                reported(s.round(1).round(2), 0, 2, Some(2));
            }),
            ("the gap contains several fires that were run", |s| {
                reported(s.round(1).round(2).round(3), 0, 4, Some(4));
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("the next fire was run", |s| {
                reported(s.round(1).round(2), 0, 1, Some(1));
            }),
            ("fires between two gaps were run", |s| {
                reported(s.round(1).round(2), 0, 3, None);
            }),
            ("the gap is of another item", |s| {
                let (first, until) = (fire(0), fire(1));
                let gap = Fact::Gap { job: "j".into(), item: 1, first, until, count: Some(1) };
                s.round(1).says("b", gap);
            }),
        ],
    );
}

#[test]
fn s3_gap_in_the_record_waits_for_one_more_claim_at_most() {
    fn kept(s: &mut Story) -> &mut Story {
        s.round(1).at(15.0).begin("registry_down", "registry");
        s.at(25.0).over("registry_down", "registry").hide_gaps().round(3);
        let gaps = json!([{"first": fire(2), "until": fire(3)}]);
        let with_gaps = |l: &mut serde_json::Value| l["gaps"] = gaps.clone();
        s.ledger("a", 0, with_gaps).ledger("b", 1, with_gaps)
    }
    assert_good(
        S3,
        &[
            ("no instance has claimed since", |s| {
                kept(s);
            }),
            ("the next instance may be lost before it reports the gap", |s| {
                kept(s).round(4);
            }),
            ("the gap was reported", |s| {
                for (p, item) in [("a", 0), ("b", 1)] {
                    let (first, until) = (fire(2), fire(3));
                    s.says(p, Fact::Gap { job: "j".into(), item, first, until, count: Some(1) });
                }
                kept(s).round(4).round(5);
            }),
        ],
    );
    assert_bad(
        S3,
        &[],
        &[
            ("instances claim again and again", |s| {
                kept(s).round(4).round(5);
            }),
            ("the gap leaves the record", |s| {
                kept(s);
                s.ledger("a", 0, |l| l["gaps"] = json!([]));
                s.ledger("b", 1, |l| l["gaps"] = json!([])).round(4);
            }),
            ("the gap leaves the record of one item", |s| {
                kept(s).ledger("b", 1, |l| l["gaps"] = json!([])).round(4);
            }),
        ],
    );
}

#[test]
fn s3_configuration_change_hides_no_gap() {
    fn changed(s: &mut Story) -> &mut Story {
        s.round(1).at(12.0).configure(|c| c["cron"] = json!("0/5 * * * * ?")).hide_gaps()
    }
    fn reported(s: &mut Story, first: i64) -> &mut Story {
        for (p, item) in [("a", 0), ("b", 1)] {
            s.says(p, Fact::Gap { job: "j".into(), item, first, until: fire(3), count: None });
        }
        s
    }
    assert_bad(
        S3,
        &[L0],
        &[
            ("no fire of the present schedule is reported", |s| {
                changed(s).round(3);
            }),
            ("the first fire of the present schedule is not reported", |s| {
                reported(changed(s), fire(2)).round(3);
            }),
            ("a fire of the former schedule is not reported", |s| {
                s.round(1).at(28.0).configure(|c| c["cron"] = json!("0/30 * * * * ?"));
                s.hide_gaps().round(3);
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("all fires are reported", |s| {
                changed(s).at(13.0).begin("registry_down", "registry");
                s.at(26.0).over("registry_down", "registry");
                reported(s, fire(1) + 5_000).round(3);
            }),
            ("the change comes a moment before the first fire of the present schedule", |s| {
                s.round(1).at(15.0).begin("registry_down", "registry");
                s.at(19.5).configure(|c| c["cron"] = json!("0/5 * * * * ?")).hide_gaps();
                s.at(26.0).over("registry_down", "registry");
                reported(s, fire(2) + 5_000).round(3);
            }),
            ("the job was not monitored", |s| {
                s.round(1).at(12.0).configure(|c| c["monitorExecution"] = json!(false));
                s.at(15.0).begin("registry_down", "registry");
                s.at(25.0).over("registry_down", "registry");
                s.at(28.0).configure(|c| c["monitorExecution"] = json!(true)).hide_gaps().round(3);
            }),
        ],
    );
}

#[test]
fn s3_every_fire_is_accounted_for_once() {
    assert_bad(
        S3,
        &[L0, S1a],
        &[
            ("the claim hides missed fires", |s| {
                s.round(1)
                    .at(20.01)
                    .claim("b", 1, 2)
                    .done("b", 1)
                    .at(30.01)
                    .claim("b", 1, 3)
                    .done("b", 1);
                s.tamper(|l| l["previous"] = json!(fire(2))).claim("a", 0, 3).done("a", 0);
            }),
            ("the last fire advances without a claim", |s| {
                s.round(1).at(20.01).claim("b", 1, 2).done("b", 1).ledger("a", 0, |l| {
                    (l["previous"], l["last"]) = (json!(fire(1)), json!(fire(2)));
                });
            }),
            ("skipped as disabled, and the item is not disabled", |s| {
                s.round(1).at(20.01).claim("b", 1, 2).done("b", 1).ledger("a", 0, |l| {
                    (l["previous"], l["last"]) = (json!(fire(1)), json!(fire(2)));
                    l["outcome"] = json!("disabled");
                });
            }),
            ("noted fires are lost at the end of the run", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(20.01)
                    .note("a", 0, 2);
                s.claim("b", 1, 2).done("b", 1).tamper(|l| l["misfire"] = json!(null)).done("a", 0);
            }),
            ("noted fires are lost in a claim", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(20.01)
                    .note("a", 0, 2);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .done("a", 0)
                    .at(30.01)
                    .claim("b", 1, 3)
                    .done("b", 1);
                s.tamper(|l| l["merged"] = json!(null)).claim("a", 0, 3).done("a", 0);
            }),
            ("a run stands for fires after its own", |s| {
                s.at(10.01).claim("b", 1, 1).done("b", 1);
                s.tamper(|l| l["merged"] = json!({"first": fire(1), "last": fire(5), "count": 5}));
                s.claim("a", 0, 1).done("a", 0);
            }),
            ("skipped as disabled, and enabled again before the former fire", |s| {
                s.at(3.0).write("operator", "/j/sharding/0/disabled", Some(""));
                s.at(8.0).write("operator", "/j/sharding/0/disabled", None).round(1);
                s.at(20.01).claim("b", 1, 2).done("b", 1).ledger("a", 0, |l| {
                    (l["previous"], l["last"]) = (json!(fire(1)), json!(fire(2)));
                    l["outcome"] = json!("disabled");
                });
            }),
            ("a fire that is not in the schedule", |s| {
                s.round(1).at(13.01).claim_as("a", 0, "NORMAL", fire(1) + 3_000).done("a", 0);
            }),
            ("recorded as succeeded without a run", |s| {
                s.at(10.01).claim("b", 1, 1).only_claim("a", 0, "NORMAL", fire(1)).at(10.5);
                s.done("b", 1).release("a", 0, "succeeded");
            }),
            ("recorded as succeeded after a failed run", |s| {
                s.at(10.01).claim("b", 1, 1).claim("a", 0, 1).at(10.5).done("b", 1);
                s.stop("a", 0, "error").release("a", 0, "succeeded");
            }),
            ("no instance claims any more, without a reason", |s| {
                s.round(1)
                    .at(20.01)
                    .claim("b", 1, 2)
                    .done("b", 1)
                    .at(30.01)
                    .claim("b", 1, 3)
                    .done("b", 1);
                s.at(39.0);
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("noted fires are merged into the next run", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(20.01)
                    .note("a", 0, 2);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .at(30.01)
                    .note("a", 0, 3)
                    .claim("b", 1, 3)
                    .done("b", 1);
                s.at(39.999).done("a", 0).round(4);
            }),
            ("a skipped fire of a disabled item", |s| {
                s.round(1)
                    .write("operator", "/j/sharding/0/disabled", Some(""))
                    .at(20.01)
                    .claim("b", 1, 2);
                s.done("b", 1).ledger("a", 0, |l| {
                    (l["previous"], l["last"]) = (json!(fire(1)), json!(fire(2)));
                    l["outcome"] = json!("disabled");
                });
            }),
            ("items created later owe no earlier fires", |s| {
                s.round(1).round(2).configure(|c| c["shardingTotalCount"] = json!(3)).at(25.0);
                s.assign(&["a", "b"]).round(3);
            }),
            ("retired items owe no fires, and continue when they come back", |s| {
                s.round(1)
                    .configure(|c| c["shardingTotalCount"] = json!(1))
                    .assign(&["a", "b"])
                    .round(2)
                    .round(3);
                s.configure(|c| c["shardingTotalCount"] = json!(2)).assign(&["a", "b"]).round(4);
            }),
            ("skipped by an instance that cannot have seen yet that the item was enabled", |s| {
                s.round(1).at(12.0).write("operator", "/j/sharding/0/disabled", Some(""));
                s.at(15.0).write("operator", "/j/sharding/0/disabled", None);
                s.at(20.01).claim("b", 1, 2).done("b", 1).ledger("a", 0, |l| {
                    (l["previous"], l["last"]) = (json!(fire(1)), json!(fire(2)));
                    l["outcome"] = json!("disabled");
                });
            }),
            ("failed and recorded as failed", |s| {
                s.at(10.01).claim("b", 1, 1).claim("a", 0, 1).at(10.5).done("b", 1);
                s.stop("a", 0, "error").release("a", 0, "failed").round(2);
            }),
            ("noted before a skip, and run after it", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(20.01)
                    .note("a", 0, 2);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .ledger("a", 0, |l| l["disabled"] = json!(true))
                    .at(21.0);
                s.done("a", 0).at(30.01).claim("b", 1, 3).done("b", 1).ledger("a", 0, |l| {
                    (l["previous"], l["last"]) = (json!(fire(1)), json!(fire(3)));
                    l["outcome"] = json!("disabled");
                });
                s.ledger("a", 0, |l| l["disabled"] = json!(false));
                s.claim_as("a", 0, "MISFIRE", fire(2)).done("a", 0).round(4);
            }),
            ("missed fires are caught up with, each by its own run", |s| {
                s.round(1)
                    .begin("registry_down", "registry")
                    .at(38.0)
                    .over("registry_down", "registry");
                s.at(38.5).claim_as("a", 0, "MISFIRE", fire(2)).done("a", 0);
                s.claim_as("a", 0, "MISFIRE", fire(3)).done("a", 0);
                s.claim_as("b", 1, "MISFIRE", fire(2)).done("b", 1);
                s.claim_as("b", 1, "MISFIRE", fire(3)).done("b", 1).round(4);
            }),
        ],
    );
}

#[test]
fn l0_missed_fire_has_a_cause() {
    assert_bad(
        L0,
        &[L5, S3],
        &[
            ("missed by a healthy owner", |s| {
                s.round(1).at(20.01).claim("b", 1, 2).done("b", 1).round(3);
            }),
            ("late by three seconds", |s| {
                s.at(10.01).claim("b", 1, 1).done("b", 1).at(13.0).claim("a", 0, 1).done("a", 0);
            }),
            ("late by more than the configured jitter", |s| {
                s.at(3.0).configure(|c| c["jitterMilliseconds"] = json!(5_000)).at(10.01);
                s.claim("b", 1, 1).done("b", 1).at(18.5).claim("a", 0, 1).done("a", 0);
            }),
            (
                "late by less than the jitter bound, and by more than the delay of this fire: 6290 ms",
                |s| {
                    s.at(3.0).configure(|c| c["jitterMilliseconds"] = json!(8_000)).at(10.01);
                    s.claim("b", 1, 1).done("b", 1).at(17.5).claim("a", 0, 1).done("a", 0);
                },
            ),
            ("missed, although it was due long before the next one: after 3325 ms", |s| {
                for k in 1..=5 {
                    s.round(k);
                }
                s.at(53.0).configure(|c| c["jitterMilliseconds"] = json!(9_999)).at(63.5);
                s.claim("b", 1, 6).done("b", 1).at(80.01).claim("a", 0, 8).done("a", 0);
            }),
            ("claimed eight seconds before its time", |s| {
                s.round(1).at(12.0).claim("a", 0, 2).at(13.0).done("a", 0);
                s.at(20.01).claim("b", 1, 2).done("b", 1);
            }),
            ("noted before its time by an instance whose clock is right", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).note("b", 1, 2).at(12.0);
                s.done("a", 0).done("b", 1).at(20.01).claim("a", 0, 2).done("a", 0);
                s.claim_as("b", 1, "MISFIRE", fire(2)).done("b", 1);
            }),
            (
                "the owner leaves, and the next owner, which saw the fire come, does not claim it",
                |s| {
                    s.round(1)
                        .at(20.01)
                        .claim("a", 0, 2)
                        .done("a", 0)
                        .at(20.3)
                        .drain("b")
                        .leave("b");
                    s.at(20.6).assign(&["a"]).round(3);
                },
            ),
            ("missed during a fault of another instance", |s| {
                s.begin("pause", "b").at(10.01).claim("b", 1, 1).at(10.2).done("b", 1).at(20.01);
                s.claim("a", 0, 2).done("a", 0).claim("b", 1, 2).done("b", 1).over("pause", "b");
            }),
            ("met the run and was not noted, with misfire on", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .at(20.01)
                    .claim("b", 1, 2);
                s.done("b", 1).at(25.0).done("a", 0).round(3);
            }),
            ("claimed and not run", |s| {
                s.at(10.01)
                    .claim("b", 1, 1)
                    .done("b", 1)
                    .only_claim("a", 0, "NORMAL", fire(1))
                    .at(19.0);
            }),
            ("missed long after the paused process was killed and had started again", |s| {
                s.begin("pause", "b")
                    .at(4.0)
                    .crash("b")
                    .at(9.0)
                    .expire("b")
                    .assign(&["a"])
                    .at(10.0);
                s.join("b").assign_by("a", &["a", "b"]).at(10.01).claim("a", 0, 1).done("a", 0);
                s.at(20.01).claim("a", 0, 2).done("a", 0).claim("b", 1, 2).done("b", 1);
                s.at(30.01).claim("a", 0, 3).done("a", 0).at(40.01).claim("a", 0, 4).done("a", 0);
                s.claim("b", 1, 4).done("b", 1).over("pause", "b");
            }),
            ("missed long after the end of the fault", |s| {
                s.begin("pause", "a").at(3.0).over("pause", "a").round(1);
                s.at(20.01).claim("b", 1, 2).done("b", 1).round(3);
            }),
            ("missed at a configuration change that does not touch the schedule", |s| {
                s.round(1)
                    .at(20.01)
                    .configure(|c| c["description"] = json!("x"))
                    .claim("b", 1, 2)
                    .done("b", 1);
                s.round(3);
            }),
        ],
    );
    assert_good(
        L0,
        &[
            ("the owner was paused", |s| {
                s.round(1).begin("pause", "a").at(20.01).claim("b", 1, 2).done("b", 1).at(22.0);
                s.over("pause", "a").round(3);
            }),
            ("the owner was dead until the next fire", |s| {
                s.round(1).crash("b").at(20.01).claim("a", 0, 2).done("a", 0).expire("b").at(29.8);
                s.assign(&["a"]).round(3);
            }),
            ("late by the jitter", |s| {
                s.at(3.0).configure(|c| c["jitterMilliseconds"] = json!(8_000)).at(10.01);
                s.claim("b", 1, 1).done("b", 1).at(17.0).claim("a", 0, 1).done("a", 0);
            }),
            ("late, because the item has just got this owner", |s| {
                s.round(1).crash("b").at(20.01).claim("a", 0, 2).done("a", 0).expire("b").at(26.0);
                s.assign(&["a"]).claim("a", 1, 2).at(27.0).done("a", 1).round(3);
            }),
            ("the owner joined after the fire", |s| {
                s.round(1)
                    .crash("b")
                    .at(20.01)
                    .claim("a", 0, 2)
                    .done("a", 0)
                    .expire("b")
                    .at(22.0)
                    .join("c");
                s.assign_by("a", &["a", "c"]).round(3);
            }),
            ("the registry was down", |s| {
                s.round(1)
                    .begin("registry_down", "registry")
                    .at(28.0)
                    .over("registry_down", "registry")
                    .round(3);
            }),
            ("the schedule has just changed", |s| {
                s.round(1).at(20.2).configure(|c| c["cron"] = json!("5/10 * * * * ?"));
                s.at(25.01).claim_as("a", 0, "NORMAL", fire(2) + 5_000).done("a", 0);
                s.claim_as("b", 1, "NORMAL", fire(2) + 5_000).done("b", 1);
            }),
            ("misfire is off", |s| {
                s.configure(|c| c["misfire"] = json!(false))
                    .at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1);
                s.done("b", 1)
                    .at(20.01)
                    .claim("b", 1, 2)
                    .done("b", 1)
                    .at(29.5)
                    .done("a", 0)
                    .round(3);
            }),
            ("the server was paused", |s| {
                s.round(1)
                    .write("operator", "/j/servers/10.0.0.1", Some("PAUSED"))
                    .at(20.01)
                    .claim("b", 1, 2);
                s.done("b", 1).at(25.0).write("operator", "/j/servers/10.0.0.1", Some("")).round(3);
            }),
            ("the server was disabled when the fire came, and a run went on", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("b", 1).at(15.0);
                s.write("operator", "/j/servers/10.0.0.1", Some("DISABLED"));
                s.at(20.01).claim("b", 1, 2).done("b", 1).at(22.0);
                s.write("operator", "/j/servers/10.0.0.1", Some("")).at(24.0).done("a", 0).round(3);
            }),
            ("the server was paused when the fire came, and a run went on", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("b", 1).at(19.9);
                s.write("operator", "/j/servers/10.0.0.1", Some("PAUSED"));
                s.at(20.01).claim("b", 1, 2).done("b", 1).at(20.3);
                s.write("operator", "/j/servers/10.0.0.1", Some(""));
                s.at(30.01).claim("b", 1, 3).done("b", 1).note("a", 0, 3).at(31.0).done("a", 0);
                s.claim_as("a", 0, "MISFIRE", fire(3)).at(32.0).done("a", 0);
            }),
            ("a fast clock passes fires over, and the item gets another owner", |s| {
                s.round(1).begin("skew", "b").at(20.003).claim("b", 1, 3).at(20.01);
                s.claim("a", 0, 2).at(21.0).done("a", 0).done("b", 1);
                s.assign_by("a", &["b", "a"]).at(25.0).over("skew", "b").at(30.01).claim("b", 0, 3);
                s.at(31.0).done("b", 0);
            }),
            (
                "the clock was fast, and the instance still considers due a fire that it saw then",
                |s| {
                    s.at(8.0)
                        .skew("a", 30_000)
                        .at(9.0)
                        .over("skew", "a")
                        .round(1)
                        .round(2)
                        .at(27.0);
                    s.drain("b").leave("b").assign(&["a"]).claim("a", 1, 3).at(28.0).done("a", 1);
                    s.at(30.01).claim("a", 0, 3).at(31.0).done("a", 0);
                },
            ),
            ("noted before its time by a fast clock, and run by the next owner", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(10.5).done("a", 0);
                s.begin("skew", "b").at(11.0).note("b", 1, 2).at(12.0).done("b", 1);
                s.assign_by("a", &["b", "a"]).claim_as("a", 1, "MISFIRE", fire(2)).at(13.0);
                s.done("a", 1).over("skew", "b").at(20.01).claim("b", 0, 2).at(21.0).done("b", 0);
            }),
            ("the operator deleted the job's configuration", |s| {
                s.round(1).write("operator", "/j/config", None).at(39.0);
            }),
        ],
    );
}

#[test]
fn l5_slow_item_delays_no_other_item() {
    assert_bad(
        L5,
        &[L0, S3],
        &[
            ("late beside a slow item", |s| {
                four_items(s)
                    .at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .claim("b", 3, 1)
                    .claim("a", 2, 1);
                s.at(11.0).done("a", 2).done("b", 1).done("b", 3).at(20.01).note("a", 0, 2);
                s.claim("b", 1, 2).done("b", 1).claim("b", 3, 2).done("b", 3);
                s.at(24.0)
                    .done("a", 0)
                    .claim_as("a", 0, "MISFIRE", fire(2))
                    .done("a", 0)
                    .claim("a", 2, 2);
            }),
            ("missed beside a slow item", |s| {
                four_items(s)
                    .at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .claim("b", 3, 1)
                    .claim("a", 2, 1);
                s.at(11.0).done("a", 2).done("b", 1).done("b", 3).at(20.01).note("a", 0, 2);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .claim("b", 3, 2)
                    .done("b", 3)
                    .at(29.0)
                    .done("a", 0)
                    .round(3);
            }),
            ("late beside a misfire loop", |s| {
                four_items(s)
                    .at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .claim("b", 3, 1)
                    .claim("a", 2, 1);
                s.at(11.0).done("a", 2).done("b", 1).done("b", 3).at(20.01).note("a", 0, 2);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .claim("b", 3, 2)
                    .done("b", 3)
                    .claim("a", 2, 2)
                    .done("a", 2);
                s.at(29.0)
                    .done("a", 0)
                    .claim_as("a", 0, "MISFIRE", fire(2))
                    .at(30.01)
                    .note("a", 0, 3);
                s.claim("b", 1, 3).done("b", 1).claim("b", 3, 3).done("b", 3).at(34.0).done("a", 0);
                s.claim("a", 2, 3);
            }),
        ],
    );
    assert_good(
        L5,
        &[
            ("in time beside a slow item", |s| {
                four_items(s)
                    .at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .claim("b", 3, 1)
                    .claim("a", 2, 1);
                s.at(11.0).done("a", 2).done("b", 1).done("b", 3).at(20.01).note("a", 0, 2);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .claim("b", 3, 2)
                    .done("b", 3)
                    .claim("a", 2, 2)
                    .done("a", 2);
                s.at(24.0).done("a", 0).claim_as("a", 0, "MISFIRE", fire(2)).done("a", 0);
            }),
            ("a little late", |s| {
                s.at(10.8).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
            ("late beside a slow item, and paused", |s| {
                four_items(s)
                    .at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .claim("b", 3, 1)
                    .claim("a", 2, 1);
                s.at(11.0)
                    .done("a", 2)
                    .done("b", 1)
                    .done("b", 3)
                    .at(19.0)
                    .begin("pause", "a")
                    .at(20.01);
                s.claim("b", 1, 2)
                    .done("b", 1)
                    .claim("b", 3, 2)
                    .done("b", 3)
                    .at(22.5)
                    .over("pause", "a");
                s.note("a", 0, 2).claim("a", 2, 2).done("a", 2).done("a", 0);
            }),
        ],
    );
}

fn four_items(s: &mut crate::story::Story) -> &mut crate::story::Story {
    s.configure(|c| c["shardingTotalCount"] = json!(4)).at(3.0).assign(&["a", "b"])
}
