//! Failures of the harness, missing coverage, and the text of reports.

use checker::Property::S2;
use checker::history::{Fact, FaultOutcome, NemesisEvent};
use checker::{Options, Replay, Verdict};
use serde_json::json;

use crate::story::verdict::Row;
use crate::story::{Story, fire};

#[test]
fn run_of_a_failed_harness_is_not_accepted() {
    let rows: [Row; 11] = [
        ("the harness reports its failure", |s| {
            s.says(
                "nemesis",
                Fact::HarnessFailure { at: "worker".into(), error: "no port".into() },
            );
        }),
        ("a record is missing", |s| {
            s.records.remove(12);
        }),
        ("a record occurs twice", |s| {
            let record = s.records[12].clone();
            s.records.insert(12, record);
        }),
        ("the end is missing", |s| {
            s.says("nemesis", Fact::End);
            s.records.pop();
            s.says("a", Fact::Fire { job: "j".into(), fire: fire(1) })
                .records
                .retain(|r| r.fact != Fact::End);
            s.records.push(s.records[0].clone());
        }),
        ("a fault never ends", |s| {
            s.begin("pause", "b");
        }),
        ("a fault ends without having begun", |s| {
            s.over("pause", "b");
        }),
        ("a version is skipped", |s| {
            let op = s.put(s.sid("a"), "/j/coordination/request", Some(String::new()), false);
            drop(op);
            s.write("a", "/j/coordination/request", Some(""));
        }),
        ("a closed session writes", |s| {
            s.at(19.0).drain("b").leave("b").write("b", "/j/coordination/request", Some(""));
        }),
        ("the resource rejects a token that is not stale", |s| {
            s.at(20.01).claim("a", 0, 2).announce(0, true).effect(0, false).done("a", 0);
            s.claim("b", 1, 2).done("b", 1);
        }),
        ("a run writes without having announced itself, as others do", |s| {
            s.at(20.01).claim("a", 0, 2).announce(0, true).claim("b", 1, 2).effect(1, true);
            s.done("a", 0).done("b", 1);
        }),
        ("another format", |s| {
            if let Fact::RunMeta { v, .. } = &mut s.records[0].fact {
                *v = 2;
            }
        }),
    ];
    for (case, play) in rows {
        let mut story = Story::cluster(2);
        story.round(1);
        play(&mut story);
        let report = story.judge();
        assert_eq!(report.verdict, Verdict::Unknown, "{case}\n{report}");
        assert!(!report.problems.is_empty(), "{case}");
    }
}

#[test]
fn failed_harness_does_not_hide_a_violation() {
    let mut story = Story::cluster(2);
    story.at(10.01).claim("b", 0, 1).done("b", 0).claim("b", 1, 1).done("b", 1);
    story.says("nemesis", Fact::HarnessFailure { at: "worker".into(), error: "no port".into() });
    let report = story.judge();
    assert_eq!(report.verdict, Verdict::Invalid);
    assert_eq!(report.violations_of(S2).count(), 1);
}

#[test]
fn run_without_its_required_coverage_is_unknown() {
    type Case = (&'static str, &'static [(&'static str, u64)], fn(&mut Story), Verdict);
    let rows: [Case; 8] = [
        ("a failover", &[("failover", 1)], crash_while_running, Verdict::Valid),
        ("two failovers", &[("failover", 2)], crash_while_running, Verdict::Unknown),
        ("a crash that hit", &[("crash", 1)], crash_while_running, Verdict::Valid),
        (
            "a crash of an unknown process",
            &[("crash", 1)],
            |s| {
                s.crash("x");
            },
            Verdict::Unknown,
        ),
        (
            "a crash of an idle instance",
            &[("crash", 1)],
            |s| {
                s.crash("b");
            },
            Verdict::Unknown,
        ),
        (
            "a crash of the leader",
            &[("crash", 1)],
            |s| {
                s.crash("a");
            },
            Verdict::Valid,
        ),
        ("a fault that was skipped", &[("pause", 1)], skipped, Verdict::Unknown),
        ("an unknown row", &[("frobnication", 1)], |_| {}, Verdict::Unknown),
    ];
    for (case, require, play, verdict) in rows {
        let mut story = Story::requiring(2, require);
        story.at(0.1).join("a").join("b").at(0.5).lead("a").at(1.0).assign(&["a", "b"]);
        play(&mut story);
        let report = story.judge();
        assert_eq!(report.verdict, verdict, "{case}\n{report}");
    }
}

fn crash_while_running(s: &mut Story) {
    s.at(10.01).claim("a", 0, 1).claim("b", 1, 1).done("a", 0).crash("b").at(15.0).expire("b");
    s.orphan("a", 1).take_over("a", 1).at(16.0).done("a", 1);
}

fn skipped(s: &mut Story) {
    let (kind, target) = ("pause".to_owned(), "a".to_owned());
    let (ev, outcome) = (NemesisEvent::Point, FaultOutcome::Skipped);
    s.says("nemesis", Fact::Nemesis { ev, kind, target, outcome, why: "no process ran".into() });
}

#[test]
fn first_violation_is_known_at_its_revision() {
    let mut story = Story::cluster(2);
    story.round(1).at(12.0);
    let before = story.records.len();
    story.claim_as("b", 0, "MANUAL", fire(1) + 2_001).done("b", 0).round(2);
    let mut replay = Replay::new(Options::default());
    let first = story.records.iter().position(|record| !replay.apply(record).is_empty());
    assert_eq!(first, Some(before));
    assert_eq!(replay.problems(), [] as [String; 0]);
}

#[test]
fn report_shows_the_records_around_a_violation() {
    let mut story = Story::cluster(2);
    story.round(1).at(12.0).claim_as("b", 0, "MANUAL", fire(1) + 2_001).done("b", 0);
    let report = story.judge();
    let text = report.to_string();
    assert!(text.starts_with("invalid: story, embedded, "), "{text}");
    for part in [
        "S2 at 12.000 s, revision 10, j item 0: MANUAL 1700000012001 by 10.0.0.2@-@101: the item belongs to 10.0.0.1@-@100",
        "    >     12.000 registry  revision 10, session 101: /j/ledger/0 {",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["verdict"], "invalid");
    assert_eq!(json["violations"][0]["property"], "S2");
    assert_eq!(json["violations"][0]["subject"], json!({ "job": "j", "item": 0 }));
}

/// Runs fire 1 of item 0 without a claim, under configuration 3.
fn unclaimed(change: fn(&mut serde_json::Value)) -> checker::Report {
    let mut story = Story::job(1);
    story.configure(change).at(0.1).join("a").lead("a").at(2.0);
    story.configure(|c| c["monitorExecution"] = json!(true));
    story.write("operator", "/j/config", Some("{")).at(10.0);
    let run =
        checker::history::RunId { job: "j".into(), item: 0, slot: 0, fire: fire(1), token: 0 };
    let (ev, source) = (checker::history::ExecEvent::Start, "NORMAL".to_owned());
    story.says("a", Fact::Exec { ev, run, source, cfg: 3, result: None });
    story.judge()
}

#[test]
fn instance_that_missed_the_last_usable_configuration_falls_back_to_an_older_one() {
    let report =
        unclaimed(|c| (c["monitorExecution"], c["failover"]) = (json!(false), json!(false)));
    assert_eq!(report.violations_of(checker::Property::S1).count(), 0, "{report}");
    let report = unclaimed(|_| {});
    assert_eq!(report.violations_of(checker::Property::S1).count(), 1, "{report}");
}

#[test]
fn job_without_monitoring_is_reported_as_not_judged() {
    let mut story = Story::job(2);
    story.configure(|c| (c["monitorExecution"], c["failover"]) = (json!(false), json!(false)));
    story.at(0.1).join("a").lead("a").at(10.0);
    let run =
        checker::history::RunId { job: "j".into(), item: 0, slot: 0, fire: fire(1), token: 0 };
    for (ev, result) in [
        (checker::history::ExecEvent::Start, None),
        (checker::history::ExecEvent::End, Some("ok".to_owned())),
    ] {
        story.says(
            "a",
            Fact::Exec { ev, run: run.clone(), source: "NORMAL".into(), cfg: 1, result },
        );
    }
    let report = story.judge_with(&Options { blind: true, ..Options::default() });
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
    assert!(report.notes.iter().any(|note| note.contains("S1, S3, S5 of j")), "{report}");
    assert_eq!(report.metrics["runs without monitoring"], 1, "{report}");
}
