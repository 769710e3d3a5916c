//! S3, L0: fires that a job with catch-up runs or leaves out.

use checker::Property::{L0, S3};
use serde_json::json;

use crate::story::verdict::{Row, assert_bad, assert_good};
use crate::story::{Story, fire};

/// Sets a catch-up policy of the last `max` fires within so many seconds.
fn catching_up(s: &mut Story, window: i64, max: u32) -> &mut Story {
    let policy = json!({ "windowSeconds": window, "max": max });
    s.configure(move |config| config["catchUp"] = policy)
}

/// Item 1 of `b` runs fires 2 to 4, and item 0 of `a` misses them; fire 5 has just come.
fn missed_fires(s: &mut Story) -> &mut Story {
    s.round(1);
    for k in 2..5 {
        s.at(k as f64 * 10.0 + 0.01).claim("b", 1, k).done("b", 1);
    }
    s.at(51.5)
}

/// Item 0 of `a` catches up with these fires, then runs fire 5. Item 1 runs fire 5.
fn catch_up(s: &mut Story, fires: &[i64]) {
    for k in fires {
        s.claim_as("a", 0, "MISFIRE", fire(*k)).done("a", 0);
    }
    s.claim("a", 0, 5).done("a", 0).claim("b", 1, 5).done("b", 1);
}

#[test]
fn s3_catch_up_is_limited_by_age_and_number() {
    assert_bad(
        S3,
        &[L0],
        &[
            ("older than the window", |s| {
                missed_fires(catching_up(s, 25, 5));
                catch_up(s, &[2, 3, 4]);
            }),
            ("one more than the maximum", |s| {
                missed_fires(catching_up(s, 100, 2));
                catch_up(s, &[2, 3, 4]);
            }),
            ("the oldest instead of the latest", |s| {
                missed_fires(catching_up(s, 100, 1));
                catch_up(s, &[2]);
            }),
        ],
    );
    assert_good(
        S3,
        &[
            ("after an outage, the fires within the window", |s| {
                catching_up(s, 25, 5).round(1).begin("registry_down", "registry").at(38.0);
                s.over("registry_down", "registry").at(50.01);
                for (p, i) in [("a", 0), ("b", 1)] {
                    s.claim_as(p, i, "MISFIRE", fire(3)).done(p, i);
                    s.claim_as(p, i, "MISFIRE", fire(4)).done(p, i).claim(p, i, 5).done(p, i);
                }
            }),
            ("after an outage, the latest fires", |s| {
                catching_up(s, 100, 1).round(1).begin("registry_down", "registry").at(38.0);
                s.over("registry_down", "registry").at(50.01);
                for (p, i) in [("a", 0), ("b", 1)] {
                    s.claim_as(p, i, "MISFIRE", fire(4)).done(p, i).claim(p, i, 5).done(p, i);
                }
            }),
            ("fires that met a run", |s| {
                catching_up(s, 30, 2).at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0);
                s.done("b", 1).at(20.01).claim("b", 1, 2).done("b", 1).at(30.01).claim("b", 1, 3);
                s.done("b", 1).at(39.5).done("a", 0).claim_as("a", 0, "MISFIRE", fire(2));
                s.at(40.01).claim("b", 1, 4).done("b", 1).at(42.0).done("a", 0);
                s.claim_as("a", 0, "MISFIRE", fire(3)).at(43.0).done("a", 0).claim("a", 0, 4);
                s.at(44.0).done("a", 0);
            }),
            ("noted before the job had a catch-up policy", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("b", 1).at(20.01);
                s.note("a", 0, 2).claim("b", 1, 2).done("b", 1);
                catching_up(s.at(25.0), 10, 1).at(30.01).claim("b", 1, 3).done("b", 1).at(40.01);
                s.claim("b", 1, 4).done("b", 1).at(49.0).done("a", 0);
                s.claim_as("a", 0, "MISFIRE", fire(2)).at(49.5).done("a", 0).at(50.01);
                s.claim_as("a", 0, "MISFIRE", fire(4)).done("a", 0).claim("a", 0, 5).done("a", 0);
                s.claim("b", 1, 5).done("b", 1);
            }),
        ],
    );
}

#[test]
fn l0_fires_within_the_window_are_not_passed_over() {
    let rows: [Row; 3] = [
        ("all of them", |s| catch_up(missed_fires(catching_up(s, 100, 5)), &[])),
        ("the first one", |s| catch_up(missed_fires(catching_up(s, 100, 3)), &[3, 4])),
        ("one in the middle", |s| catch_up(missed_fires(catching_up(s, 100, 3)), &[2, 4])),
    ];
    assert_bad(L0, &[], &rows);
    for (case, play) in rows {
        let mut story = Story::cluster(2);
        play(&mut story);
        let text = story.judge().to_string();
        assert!(text.contains("are caught up with"), "{case}: {text}");
    }
}

/// Lets the schedule end with fire 2, which comes while no instance lives. One joins at 30 s.
fn missed_end<'a>(
    s: &'a mut Story,
    window: i64,
    field: &'static str,
    end: &'static str,
) -> &'a mut Story {
    catching_up(s, window, 5).at(3.0).configure(|c| c[field] = json!(end));
    s.round(1).at(12.0).leave("a").leave("b").at(30.0).join("a").at(30.5).lead("a");
    s.at(31.0).assign(&["a"])
}

const LAST: &str = "2023-11-14T22:13:40Z";

#[test]
fn l0_last_fire_is_caught_up_with_by_an_instance_that_joins() {
    assert_bad(
        L0,
        &[],
        &[
            ("no item runs it", |s| {
                missed_end(s, 60, "notAfter", LAST).at(60.0);
            }),
            ("one item does not run it", |s| {
                missed_end(s, 60, "notAfter", LAST).at(31.1).claim("a", 0, 2).done("a", 0).at(60.0);
            }),
            ("the window ends while an instance waits", |s| {
                missed_end(s, 20, "notAfter", LAST).at(90.0);
            }),
        ],
    );
    assert_good(
        L0,
        &[
            ("each item runs it once", |s| {
                missed_end(s, 60, "notAfter", LAST).at(31.1).claim("a", 0, 2).done("a", 0);
                s.claim("a", 1, 2).done("a", 1).at(60.0);
            }),
            ("the instance joins beyond the window", |s| {
                missed_end(s, 5, "notAfter", LAST).at(60.0);
            }),
            ("the job does not catch up", |s| {
                missed_end(s, 5, "notAfter", LAST).configure(|c| c["catchUp"] = json!(null));
                s.at(60.0);
            }),
        ],
    );
}
