//! S1b, S1c, S13: effects at the resource and callbacks.

use checker::Property::{S1b, S1c, S13};
use checker::history::RunId;
use checker::{Options, Verdict};

use crate::story::verdict::{Row, assert_bad, assert_good, broken};
use crate::story::{Story, fire};

/// Item 1 runs under token 1 on the paused `b`; `a` has taken it over under token 2.
fn taken_over(s: &mut Story) -> RunId {
    s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).begin("pause", "b");
    let paused = s.run_id(1);
    s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1);
    paused
}

#[test]
fn s1b_resource_accepts_no_stale_token() {
    assert_bad(
        S1b,
        &[],
        &[
            ("a stale token after a newer one", |s| {
                let paused = taken_over(s);
                s.effect(1, true).over("pause", "b").effect_of(paused, true).at(16.0).done("a", 1);
            }),
            ("a stale token after the later run has ended without an effect", |s| {
                let paused = taken_over(s);
                s.at(16.0).done("a", 1).over("pause", "b").effect_of(paused, true);
            }),
            ("a stale token after a later run has announced itself, without other writes", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .announce(1, true)
                    .at(11.0)
                    .done("a", 0);
                s.begin("pause", "b");
                let paused = s.run_id(1);
                s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1).announce(1, true);
                s.over("pause", "b").effect_of(paused, true).at(16.0).effect(1, true).done("a", 1);
            }),
            ("a stale run may begin", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0);
                s.begin("pause", "b");
                let paused = s.run_id(1);
                s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1).announce(1, true);
                s.over("pause", "b").announce_run(paused, true).at(16.0).done("a", 1);
            }),
            ("a write without a run", |s| {
                s.round(1).at(12.0);
                let mut run = s.run_id(0);
                run.token = 5;
                s.effect_of(run, true);
            }),
            ("a run writes before it begins", |s| {
                s.at(10.01).claim("b", 1, 1).only_claim("a", 0, "NORMAL", fire(1)).effect(0, true);
                s.at(10.1).start("a", 0).at(11.0).done("a", 0).done("b", 1);
            }),
            ("the resource's order decides, not the order of the records", |s| {
                let paused = taken_over(s);
                s.effect(1, true)
                    .over("pause", "b")
                    .effect_of(paused.clone(), true)
                    .at(16.0)
                    .done("a", 1);
                let (first, second) = (s.records.len() - 5, s.records.len() - 3);
                let (a, b) = (s.records[first].fact.clone(), s.records[second].fact.clone());
                (s.records[first].fact, s.records[second].fact) = (b, a);
            }),
        ],
    );
    assert_good(
        S1b,
        &[
            ("the stale token is rejected", |s| {
                let paused = taken_over(s);
                s.effect(1, true).over("pause", "b").effect_of(paused, false).at(16.0).done("a", 1);
            }),
            ("the stale token comes before any newer token reached the resource", |s| {
                let paused = taken_over(s);
                s.over("pause", "b").effect_of(paused, true).effect(1, true).at(16.0).done("a", 1);
            }),
            ("the stale token is rejected after the later run has announced itself", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .announce(1, true)
                    .at(11.0)
                    .done("a", 0);
                s.begin("pause", "b");
                let paused = s.run_id(1);
                s.at(15.0).expire("b").orphan("a", 1).take_over("a", 1).announce(1, true);
                s.over("pause", "b").effect_of(paused, false).at(16.0).effect(1, true).done("a", 1);
            }),
            ("one run has many effects", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .effect(0, true)
                    .effect(0, true)
                    .effect(1, true);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
        ],
    );
}

#[test]
fn s1c_is_judged_if_the_resource_deduplicates() {
    let twice: [Row; 3] = [
        ("two effects of one run", |s| {
            s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).effect(0, true).effect(0, true);
            s.at(11.0).done("a", 0).done("b", 1);
        }),
        ("a takeover repeats an effect", |s| {
            s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).effect(1, true).crash("b");
            s.at(15.0)
                .expire("b")
                .orphan("a", 1)
                .take_over("a", 1)
                .effect(1, true)
                .at(16.0)
                .done("a", 1);
        }),
        ("a second effect, after another item's effect", |s| {
            s.at(10.01)
                .claim("a", 0, 1)
                .claim("b", 1, 1)
                .effect(0, true)
                .effect(1, true)
                .effect(0, true);
            s.at(11.0).done("a", 0).done("b", 1);
        }),
    ];
    let once: [Row; 3] = [
        ("a takeover of a run without an effect", |s| {
            s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b");
            s.at(15.0)
                .expire("b")
                .orphan("a", 1)
                .take_over("a", 1)
                .effect(1, true)
                .at(16.0)
                .done("a", 1);
        }),
        ("one effect per fire", |s| {
            s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).effect(0, true).effect(1, true);
            s.at(11.0)
                .done("a", 0)
                .done("b", 1)
                .at(20.01)
                .claim("a", 0, 2)
                .effect(0, true)
                .done("a", 0);
            s.claim("b", 1, 2).done("b", 1);
        }),
        ("no effect", |s| {
            s.round(1).at(12.0);
        }),
    ];
    let strict = Options { deduplicated: true, ..Options::default() };
    for (case, play) in twice {
        let mut story = Story::cluster(2);
        play(&mut story);
        let report = story.judge_with(&strict);
        assert_eq!(broken(&report), [S1c], "{case}\n{report}");
        let report = story.judge();
        assert_eq!(report.verdict, Verdict::Valid, "{case}, counted only\n{report}");
        assert_eq!(report.metrics["fires with more than one effect"], 1, "{case}");
    }
    for (case, play) in once {
        let mut story = Story::cluster(2);
        play(&mut story);
        let report = story.judge_with(&strict);
        assert_eq!(report.verdict, Verdict::Valid, "{case}\n{report}");
    }
}

/// Returns a record of callbacks in which *completed* was won.
fn won(k: i64, token: u64) -> String {
    let fire = crate::story::fire(k);
    serde_json::json!({"completed": {"fire": fire, "token": token, "holder": "a", "done": false}})
        .to_string()
}

#[test]
fn s13_callback_is_called_once_and_not_too_early() {
    assert_bad(
        S13,
        &[],
        &[
            ("twice under one token", |s| {
                s.round(1).at(12.0).once("a", "completed", 1, 3).once("b", "completed", 1, 3);
            }),
            ("started twice", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .once("a", "started", 1, 3)
                    .once("a", "started", 1, 3);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("completed while an item runs", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).once(
                    "a",
                    "completed",
                    1,
                    3,
                );
                s.at(12.0).done("b", 1);
            }),
            ("completed before an item has begun", |s| {
                s.at(10.01).claim("a", 0, 1).at(10.1).done("a", 0).at(10.2).once(
                    "a",
                    "completed",
                    1,
                    3,
                );
                s.at(10.3).claim("b", 1, 1).done("b", 1);
            }),
            ("completed was won while an item ran", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0);
                s.write("a", "/j/coordination/once", Some(&won(1, 3))).at(12.0).done("b", 1);
                s.once("a", "completed", 1, 3);
            }),
            ("completed while an item waits to be taken over", |s| {
                s.at(10.01)
                    .claim("a", 0, 1)
                    .claim("b", 1, 1)
                    .done("a", 0)
                    .crash("b")
                    .at(15.0)
                    .expire("b");
                s.orphan("a", 1)
                    .at(15.5)
                    .once("a", "completed", 1, 3)
                    .take_over("a", 1)
                    .at(16.0)
                    .done("a", 1);
            }),
        ],
    );
    assert_good(
        S13,
        &[
            ("once for each fire and stage", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).once("a", "started", 1, 3).at(11.0);
                s.done("a", 0).done("b", 1).once("b", "completed", 1, 4).round(2).once(
                    "a",
                    "completed",
                    2,
                    5,
                );
            }),
            ("again under the next token, after its caller died", |s| {
                s.round(1).once("b", "completed", 1, 3).crash("b").at(16.0).expire("b");
                s.once("a", "completed", 1, 4);
            }),
            ("completed was won before the job got more items", |s| {
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
                s.write("a", "/j/coordination/once", Some(&won(1, 3)));
                s.configure(|c| c["shardingTotalCount"] = serde_json::json!(3));
                s.assign(&["a", "b"]).at(11.1).once("a", "completed", 1, 3);
            }),
            ("completed was won just before a running item came back into force", |s| {
                let total =
                    |n: u32| move |c: &mut serde_json::Value| c["shardingTotalCount"] = n.into();
                s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).at(11.0).done("a", 0);
                s.configure(total(1)).at(11.5).write("a", "/j/coordination/once", Some(&won(1, 3)));
                s.configure(total(2)).once("a", "completed", 1, 3).at(12.0).done("b", 1);
            }),
            ("completed with a disabled item", |s| {
                s.at(5.0).ledger("a", 0, |l| l["disabled"] = serde_json::json!(true)).at(10.01);
                s.claim("b", 1, 1).ledger("a", 0, |l| {
                    l["last"] = serde_json::json!(crate::story::fire(1));
                    l["outcome"] = serde_json::json!("disabled");
                });
                s.at(11.0).done("b", 1).once("b", "completed", 1, 3);
            }),
        ],
    );
}
