//! Metrics of a namespace, and the dashboard and alert rules that use them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use coordination::Dialect;
use job_watch::{
    Assessment, ConditionKind, JobAssessment, NamespaceFacts, Severity, State, prometheus,
};
use operations::job_brief;

use super::support::{Job, at};

fn text() -> String {
    let named = |job: Job, name: &str| {
        let name = coordination::JobName::new(name).unwrap();
        job_brief(&job.config(|config| config.job_name = name).snapshot())
    };
    let rust = Job::rust(Dialect::V2).ended(0, 3, "failed", 0, 1).running(1, 2, 0, None);
    let jobs = [
        named(rust, "report"),
        named(Job::java(Dialect::V3).killed(1), "java"),
        named(Job::rust(Dialect::V3).server(1, "PAUSED").disabled(0), "paused"),
    ];
    let judged = |expectation, state, items| {
        let mut assessment = Assessment::new(expectation, state);
        assessment.items = items;
        JobAssessment::new("report", Severity::Critical, assessment)
    };
    let violated = State::Violated { since: at(0), why: "item 0 is late".to_owned() };
    let assessments = [
        judged(ConditionKind::LateAfter, violated, 1),
        judged(ConditionKind::AtMost, State::Ok, 0),
    ];
    let last_success = |job: &str| (job == "report").then(|| at(-600).as_millisecond());
    let mut facts = NamespaceFacts::new(&assessments, &last_success);
    facts.leader_changes = 4;
    facts.data_age = Some(Duration::from_millis(1_500));
    facts.registry_latency = Some(Duration::from_millis(3));
    facts.is_sender = true;
    facts.messages.sent = 5;
    facts.messages.unknown = 1;
    prometheus(&jobs, &facts)
}

#[test]
fn namespace_is_shown_as_metrics() {
    let text = text();
    let expected = [
        "# TYPE ejob_namespace_jobs gauge",
        "ejob_namespace_jobs{state=\"OK\"} 0",
        "ejob_namespace_jobs{state=\"FAILING\"} 1",
        "ejob_namespace_jobs{state=\"PAUSED\"} 1",
        "ejob_namespace_jobs{state=\"NO_INSTANCE\"} 1",
        "ejob_namespace_instances{job=\"java\"} 0",
        "ejob_namespace_instances{job=\"report\"} 1",
        "ejob_namespace_runs_total{job=\"report\",outcome=\"succeeded\"} 0",
        "ejob_namespace_runs_total{job=\"report\",outcome=\"failed\"} 1",
        "ejob_namespace_items{job=\"report\",state=\"failing\"} 1",
        "ejob_namespace_items{job=\"report\",state=\"late\"} 1",
        "ejob_namespace_items{job=\"report\",state=\"running\"} 1",
        "ejob_namespace_items{job=\"report\",state=\"unowned\"} 0",
        "ejob_namespace_items{job=\"java\",state=\"unowned\"} 2",
        "ejob_namespace_items{job=\"paused\",state=\"disabled\"} 1",
        "ejob_namespace_last_success_timestamp_seconds{job=\"report\"} 1709207400.000",
        "ejob_namespace_expectations{state=\"violated\"} 1",
        "ejob_namespace_expectations{state=\"ok\"} 1",
        "ejob_namespace_expectation_violated{job=\"report\",expectation=\"late_after\",severity=\"critical\"} 1",
        "ejob_namespace_expectation_violated{job=\"report\",expectation=\"at_most\",severity=\"critical\"} 0",
        "ejob_namespace_leader_changes_total 4",
        "ejob_namespace_data_age_seconds 1.5",
        "ejob_namespace_registry_latency_seconds 0.003",
        "ejob_watch_sender 1",
        "ejob_watch_messages_total{outcome=\"sent\"} 5",
        "ejob_watch_messages_total{outcome=\"unknown\"} 1",
    ];
    for line in expected {
        assert!(text.lines().any(|found| found == line), "{line} is missing:\n{text}");
    }
    assert!(!text.contains("ejob_namespace_runs_total{job=\"java\""), "not counted:\n{text}");
    let unknown = "ejob_namespace_items{job=\"java\",state=\"late\"}";
    assert!(!text.contains(unknown), "lateness is unknown:\n{text}");
    let names: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    let distinct: BTreeSet<&&str> = names.iter().collect();
    assert_eq!(names.len(), distinct.len(), "each family is declared once");
}

/// Returns the metrics that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_name(c));
    words.filter(|word| word.starts_with("ejob_")).map(str::to_owned).collect()
}

#[test]
fn dashboard_rules_and_page_name_existing_metrics() {
    let families: BTreeSet<String> = text()
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for file in ["observability/dashboard.json", "observability/alerts.yaml", "alerts.md"] {
        let text = std::fs::read_to_string(docs.join(file)).unwrap();
        let named = named(&text);
        assert!(named.len() > 5, "{file}: {named:?}");
        let unknown: Vec<_> = named.difference(&families).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
    let page = named(&std::fs::read_to_string(docs.join("alerts.md")).unwrap());
    assert_eq!(page, families, "docs/alerts.md lists all metrics");
    let dashboard = std::fs::read_to_string(docs.join("observability/dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 5);
}

#[test]
fn each_alert_rule_has_a_test_that_fires_and_one_that_does_not() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/observability");
    let read = |file: &str| std::fs::read_to_string(docs.join(file)).unwrap();
    let (rules, tests) = (read("alerts.yaml"), read("alerts_test.yaml"));
    let rules = rules.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: "));
    let expected: BTreeSet<(&str, bool)> =
        rules.flat_map(|name| [(name, false), (name, true)]).collect();
    let lines: Vec<&str> = tests.lines().map(str::trim).collect();
    let found = lines.windows(2).filter_map(|pair| {
        let name = pair[0].strip_prefix("alertname: ")?;
        let alerts = pair[1].strip_prefix("exp_alerts:").unwrap();
        Some((name, alerts.is_empty()))
    });
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
    assert!(expected.len() > 10, "{expected:?}");
}
