//! The file of expectations: which texts are refused, and with which error.

use std::time::Duration;

use job_alerts::HttpAlert;
use job_watch::{Condition, ConditionKind, Severity, WatchFile};
use outbound::SecretText;

const WHOLE: &str = r#"
name = "prod"
repeat = "8h"
group_interval = "30s"
stale_after = "2m"

[heartbeat]
url = "https://checks.example.com/${env:PATH}"
every = "5m"

[channels.ops]
kind = "slack"
url = "https://hooks.slack.com/${env:PATH}"

[channels.own]
kind = "webhook"
url = "http://127.0.0.1:9000/alerts"

[channels.mail]
kind = "email"
host = "mail.example.com"
port = 587
from = "jobs@example.com"
to = "ops@example.com"
tls = "starttls"

[[expect]]
job = "*"
failures = 3

[[expect]]
job = "report-*"
late_after = "2m"
failures = 1
severity = "critical"
channels = ["ops", "mail"]
labels = { team = "billing" }

[[expect]]
job = "report-nightly"
must_succeed_within = "25h"
at_most = "2h"
instances_at_least = 2
for = "1m"
"#;

#[test]
fn last_matching_table_decides_for_each_kind() {
    let file = WatchFile::parse(WHOLE).unwrap();
    let kinds = |job| {
        let all = file.expectations_of(job);
        all.into_iter().map(|one| one.condition).collect::<Vec<_>>()
    };
    let minutes = |n: u64| Duration::from_secs(n * 60);
    assert_eq!(kinds("other"), [Condition::Failures(3)]);
    assert_eq!(kinds("report-7"), [Condition::LateAfter(minutes(2)), Condition::Failures(1)]);
    let expected = [
        Condition::Exists,
        Condition::LateAfter(minutes(2)),
        Condition::MustSucceedWithin(minutes(25 * 60)),
        Condition::AtMost(minutes(120)),
        Condition::Failures(1),
        Condition::InstancesAtLeast(2),
    ];
    assert_eq!(kinds("report-nightly"), expected);
    let all = file.expectations_of("report-nightly");
    let late = all.iter().find(|one| one.condition.kind() == ConditionKind::LateAfter).unwrap();
    assert_eq!((late.severity, late.channels.len()), (Severity::Critical, 2));
    assert_eq!(late.labels["team"], "billing");
    let at_most = all.iter().find(|one| one.condition.kind() == ConditionKind::AtMost).unwrap();
    assert_eq!((at_most.channels.len(), at_most.tolerated), (3, minutes(1)), "all by default");
    let named: Vec<_> = file.named_jobs().map(|job| job.to_string()).collect();
    assert_eq!(named, ["report-nightly"]);
    assert_eq!((file.repeat, file.channel_count()), (Some(minutes(480)), 3));
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let file = WatchFile::parse("").unwrap();
    assert_eq!((file.name.as_str(), file.channel_count()), ("jobs", 0));
    assert_eq!(file.repeat, Some(Duration::from_secs(4 * 3_600)));
    assert_eq!(file.group_interval, Duration::from_secs(60));
    assert_eq!(file.stale_after, Duration::from_secs(60));
    assert!(file.heartbeat.is_none());
    assert_eq!(WatchFile::parse("repeat = \"never\"").unwrap().repeat, None);
}

#[test]
fn error_names_field_value_and_valid_values() {
    let expect = |keys: &str| format!("[[expect]]\njob = \"a\"\n{keys}");
    let channel = |keys: &str| format!("[channels.ops]\n{keys}");
    let rows = [
        ("nme = \"x\"".to_owned(), "line 1: nme is an unknown key of the file; valid is name, "),
        (
            expect("late = \"2m\""),
            "line 3: late is an unknown key of the table expect; valid is job, ",
        ),
        ("name = 'x".to_owned(), "line 1: not valid TOML at column "),
        (expect("failures = \"3\""), "line 3: failures is a text; valid is a whole number"),
        (expect("late_after = \"2\""), "expect[0].late_after is \"2\"; valid is a duration from"),
        (expect("at_most = \"10ms\""), "expect[0].at_most is \"10ms\"; valid is a duration"),
        (expect("failures = 0"), "expect[0].failures is 0; valid is 1 to 100"),
        (expect("instances_at_least = 99999"), "expect[0].instances_at_least is 99999; valid is"),
        (expect(""), "expect[0] is a table without a condition; valid is at least one of late_"),
        (expect("failures = 1\nseverity = \"high\""), "severity is \"high\"; valid is info, warn"),
        (expect("failures = 1\nchannels = [\"x\"]"), "channels is \"x\"; valid is no channel"),
        (expect("failures = 1\nlabels = { \"a b\" = \"c\" }"), "labels is \"a b\"; valid is"),
        (expect("failures = 1\nfor = \"0s\""), "expect[0].for is \"0s\"; valid is a duration"),
        ("[[expect]]\njob = \"a/b\"\nfailures = 1".to_owned(), "expect[0].job is \"a/b\"; valid"),
        ("[[expect]]\nfailures = 1".to_owned(), "line 1: job is missing"),
        ("repeat = \"often\"".to_owned(), "repeat is \"often\"; valid is a duration"),
        ("name = \"a\\nb\"".to_owned(), "name is \"a\\nb\"; valid is one line"),
        (channel("kind = \"pager\""), "channels.ops.kind is \"pager\"; valid is email, ding"),
        (channel("kind = \"slack\""), "channels.ops.url is missing; valid is set"),
        (channel("kind = \"slack\"\nport = 1"), "channels.ops.port is set; valid is nothing: sl"),
        (channel("kind = \"email\"\nport = 25"), "channels.ops.host is missing; valid is set"),
        (
            channel("kind = \"slack\"\nurl = \"https://hooks.example.com/t0ps3cret\""),
            "channels.ops.url is a plain credential; valid is ${env:NAME}",
        ),
        (
            channel("kind = \"webhook\"\nurl = \"https://ops:t0ps3cret@example.com/\""),
            "channels.ops.url is a plain credential; valid is ${env:NAME}",
        ),
        (
            channel("kind = \"webhook\"\nurl = \"ftp://example.com/t0ps3cret\""),
            "channels.ops.url is a URL that is neither http nor https",
        ),
        (
            channel("kind = \"webhook\"\nurl = \"t0ps3cret ${env:NO_SUCH_VARIABLE_HERE}\""),
            "channels.ops.url is ${env:NO_SUCH_VARIABLE_HERE}: the environment has no variable",
        ),
        ("[channels.\"a/b\"]\nkind = \"slack\"".to_owned(), "channels is \"a/b\"; valid is 1 to"),
        (
            channel("kind = \"slack\"\nurl = 534237"),
            "line 3: url is a whole number; valid is a text in quotes",
        ),
        (
            "[heartbeat]\nurl = \"t0ps3cret\"".to_owned(),
            "heartbeat.url is a text that is no HTTP URL; valid is a URL such as",
        ),
    ];
    for (text, expected) in rows {
        let error = WatchFile::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains("t0ps3cret") && !error.contains("534237"), "{text}: {error}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let file = WatchFile::parse(
        "[channels.own]\nkind = \"webhook\"\nurl = \"http://127.0.0.1/t0ps3cret\"\n[heartbeat]\n\
         url = \"http://127.0.0.1/t0ps3cret\"",
    );
    assert!(!format!("{file:?}").contains("t0ps3cret"));
}

#[test]
fn unreadable_file_is_an_error_with_its_path() {
    let error = WatchFile::read("/no/such/file".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file cannot be read: "), "{error}");
}

#[test]
fn file_without_an_end_is_refused() {
    let error = WatchFile::read("/dev/zero".as_ref()).unwrap_err().to_string();
    assert_eq!(error, "/dev/zero is over 1048576 bytes; valid is a file of at most 1048576 bytes");
}

#[test]
fn channel_of_a_program_needs_a_valid_name() {
    let made = || HttpAlert::webhook(SecretText::literal("http://127.0.0.1/")).channel().unwrap();
    let file = || WatchFile::parse("").unwrap();
    assert_eq!(file().channel("ops", made()).unwrap().channel_count(), 1);
    let error = file().channel("a/b", made()).unwrap_err().to_string();
    assert_eq!(error, "channels is \"a/b\"; valid is 1 to 64 letters, digits, - and _");
}
