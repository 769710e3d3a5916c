//! Files that declare jobs, and jobs that the registry defines.
#![cfg(unix)]

use crate::support;

use std::time::Duration;

use coordination::encode_config;
use job_types::{Allow, JobFile, Script, StoredJob};
use lite::{Dialect, JavaFields, JavaJobType, JavaSettings, JobBuilder, JobConfig, Outcome};
use reg_center::{NodePath, RegistryCenter, Txn};

use support::{Log, Stage, run_once, within};

const TOML: &str = r#"
[allow]
commands = [["/opt/report.sh", "--daily"], ["/bin/true"]]
hosts = ["https://api.example.com"]
alert_hosts = ["https://hooks.slack.com"]
secrets = ["${env:SLACK_WEBHOOK}"]

[[jobs]]
name = "backup"
sharding_total_count = 2
sharding_item_parameters = "0=orders,1=customers"
job_parameter = "full"
cron = "0 0 3 * * ?"
time_zone = "Asia/Shanghai"
excluded_days = "SAT..SUN"
jitter = "30s"
failover = true
misfire = true
monitor_execution = true
static_sharding = false
catch_up = { window = "1h", max = 3 }
max_time_diff = "5s"
reconcile_interval = "5m"
strategy = "ODEVITY"
description = "nightly"
disabled = false
overwrite = true
timeout = "30m"
shutdown_grace = "10s"
max_concurrency = 1
retry = { max_attempts = 3, first_delay = "1m", max_delay = "10m", after_panics = true }

[jobs.script]
command = "/usr/bin/backup --full"
env = { PASSWORD = "${env:CARGO_PKG_NAME}" }
inherit_environment = false
directory = "/tmp"
grace = "3s"
max_logged_lines = 10

[[jobs]]
name = "report"
sharding_total_count = 1

[jobs.http]
url = "https://api.example.com/run"
method = "POST"
body = "{}"
content_type = "application/json"
headers = { authorization = "Bearer ${env:CARGO_PKG_NAME}" }
connect_timeout = "1s"
read_timeout = "1m"
max_redirects = 0

[[jobs]]
name = "legacy"
sharding_total_count = 1
stored = true
"#;

const YAML: &str = r#"
allow:
  commands: [[/opt/report.sh, --daily], [/bin/true]]
  hosts: ["https://api.example.com"]
  alert_hosts: ["https://hooks.slack.com"]
  secrets: ["${env:SLACK_WEBHOOK}"]
jobs:
- name: backup
  sharding_total_count: 2
  sharding_item_parameters: 0=orders,1=customers
  job_parameter: full
  cron: 0 0 3 * * ?
  time_zone: Asia/Shanghai
  excluded_days: SAT..SUN
  jitter: 30s
  failover: true
  misfire: true
  monitor_execution: true
  static_sharding: false
  catch_up: {window: 1h, max: 3}
  max_time_diff: 5s
  reconcile_interval: 5m
  strategy: ODEVITY
  description: nightly
  disabled: false
  overwrite: true
  timeout: 30m
  shutdown_grace: 10s
  max_concurrency: 1
  retry: {max_attempts: 3, first_delay: 1m, max_delay: 10m, after_panics: true}
  script:
    command: /usr/bin/backup --full
    env: {PASSWORD: "${env:CARGO_PKG_NAME}"}
    inherit_environment: false
    directory: /tmp
    grace: 3s
    max_logged_lines: 10
- name: report
  sharding_total_count: 1
  http:
    url: https://api.example.com/run
    method: POST
    body: "{}"
    content_type: application/json
    headers: {authorization: "Bearer ${env:CARGO_PKG_NAME}"}
    connect_timeout: 1s
    read_timeout: 1m
    max_redirects: 0
- name: legacy
  sharding_total_count: 1
  stored: true
"#;

#[test]
fn both_forms_declare_the_same() {
    let expected = JobBuilder::new("backup", 2)
        .sharding_item_parameters("0=orders,1=customers")
        .job_parameter("full")
        .cron("0 0 3 * * ?")
        .time_zone("Asia/Shanghai")
        .excluded_days("SAT..SUN")
        .jitter(Duration::from_secs(30))
        .failover(true)
        .catch_up(Duration::from_secs(3600), 3)
        .max_time_diff(Duration::from_secs(5))
        .reconcile_interval(Duration::from_secs(300))
        .strategy("ODEVITY")
        .description("nightly")
        .overwrite(true)
        .build()
        .unwrap();
    for (form, file) in [("TOML", JobFile::from_toml(TOML)), ("YAML", JobFile::from_yaml(YAML))] {
        let file = file.unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(*file.jobs()[0].config(), expected, "{form}");
        let shown: Vec<_> = file.jobs().iter().map(|job| format!("{job:?}")).collect();
        let wanted = [
            r#"DeclaredJob { name: "backup", work: Script(Script { program: "/usr/bin/backup", .. }), .. }"#,
            r#"DeclaredJob { name: "report", work: Http(HttpJob { target: "POST https://api.example.com/run", .. }), .. }"#,
        ];
        assert_eq!(shown[..2], wanted, "{form}");
        assert!(shown[2].starts_with(r#"DeclaredJob { name: "legacy", work: Stored("#));
        assert!(file.allow().permits_script(&Script::parse("/opt/report.sh --daily").unwrap()));
        assert!(!file.allow().permits_script(&Script::parse("/opt/report.sh").unwrap()));
        assert!(file.allow().outbound().permits_origin("https://hooks.slack.com"), "{form}");
        assert!(!file.allow().outbound().permits_origin("https://api.example.com"), "{form}");
        assert!(file.allow().outbound().permits_secret("${env:SLACK_WEBHOOK}"), "{form}");
    }
}

#[test]
fn a_file_is_known_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        ("a.toml", TOML, ""),
        ("a.yaml", YAML, ""),
        ("a.yml", YAML, ""),
        ("a.json", YAML, "is of no known form"),
    ];
    for (name, text, expected) in rows {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        match JobFile::read(&path) {
            Ok(file) => assert!(expected.is_empty() && file.into_jobs().len() == 3, "{name}"),
            Err(error) => {
                assert!(!expected.is_empty() && error.to_string().contains(expected), "{error}");
            }
        }
    }
    let error = JobFile::read(folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(error.ends_with("none.toml cannot be read"), "{error}");
}

#[test]
fn mistakes_are_named_with_field_value_and_what_is_valid() {
    let job = |line: &str| format!("[[jobs]]\nname = \"j\"\nsharding_total_count = 1\n{line}\n");
    let script = |line: &str| job(&format!("[jobs.script]\n{line}"));
    let http = |line: &str| {
        let all = format!("[jobs.http]\nmethod = \"GET\"\nurl = \"http://h/\"\n{line}");
        job(&all)
    };
    let url = |url: &str| job(&format!("[jobs.http]\nmethod = \"GET\"\nurl = \"{url}\""));
    let rows = [
        ("nothing", String::new(), "jobs is empty; valid is at least one job"),
        (
            "unknown at the top",
            "job = 1".into(),
            "line 1: unknown field `job`, expected `allow` or `jobs`",
        ),
        ("unknown in a job", job("crom = 'x'"), "line 4: unknown field `crom`, expected one of"),
        ("unknown in a script", script("cmd = 'x'"), "line 5: unknown field `cmd`"),
        ("unknown in a request", http("verb = 'x'"), "line 7: unknown field `verb`"),
        ("unknown in retry", job("retry = { times = 3 }"), "unknown field `times`"),
        ("unknown in catch_up", job("catch_up = { for = '1h' }"), "unknown field `for`"),
        ("unknown in allow", "[allow]\nshells = []".into(), "unknown field `shells`"),
        ("no name", "[[jobs]]\nsharding_total_count = 1".into(), "missing field `name`"),
        ("no TOML", "[[jobs".into(), "the file is no TOML that declares jobs: line 1"),
        ("no kind", job(""), "job \"j\": the kind of job is no kind; valid is exactly one of"),
        ("not stored", job("stored = false"), "the kind of job is no kind"),
        (
            "two kinds",
            job("stored = true\n[jobs.script]\nshell = 'x'"),
            "the kind of job is more than one kind",
        ),
        (
            "twice",
            job("stored = true") + &job("stored = true"),
            "name is \"j\", twice; valid is a name of its own",
        ),
        ("cron", job("cron = 'daily'\nstored = true"), "job \"j\": cron is \"daily\""),
        (
            "timeout",
            job("timeout = '5'\nstored = true"),
            "timeout is \"5\"; valid is a time with its unit",
        ),
        ("negative", job("timeout = '-5s'\nstored = true"), "timeout is \"-5s\""),
        (
            "no timeout",
            job("timeout = '0s'\nstored = true"),
            "timeout is \"0s\"; valid is more than zero",
        ),
        ("concurrency", job("max_concurrency = 0\nstored = true"), "max_concurrency is 0"),
        (
            "retry",
            job("stored = true\nretry = { max_attempts = 1 }"),
            "retry.max_attempts is 1; valid is 2 or more",
        ),
        (
            "delays",
            job("stored = true\nretry = { max_attempts = 2, max_delay = '1ms' }"),
            "retry.max_delay is 1ms; valid is no less than the first delay, 1s",
        ),
        ("two commands", script("shell = 'x'\nargv = ['x']"), "script is none, or more than one"),
        ("no command", script(""), "script is none, or more than one"),
        ("empty shell", script("shell = ' '"), "script.shell is \" \"; valid is a command"),
        ("empty argv", script("argv = []"), "script.argv is empty"),
        ("quote", script("command = \"x 'y\""), "script.command is \"x 'y\""),
        ("name", script("shell = 'x'\nenv = { 'A=B' = 'x' }"), "script.env is \"A=B\""),
        (
            "no variable",
            script("shell = 'x'\nenv = { A = '${env:EJOB_NONE}' }"),
            "${env:EJOB_NONE}",
        ),
        (
            "no such secret",
            script("shell = 'x'\nenv = { A = '${vault:A}' }"),
            "${env:NAME} or ${file:",
        ),
        ("method", http("").replace("GET", "get"), "http.method is \"get\""),
        (
            "plain header",
            http("headers = { Authorization = 'hunter2' }"),
            "http.headers.Authorization is a credential in plain text",
        ),
        (
            "plain URL",
            url("https://joe:hunter2@h/"),
            "http.url is a credential in plain text; valid is a reference",
        ),
        ("no file", http("body = '${file:/no/such}'").replace("GET", "PUT"), "${file:/no/such}"),
        ("relative", "[allow]\ncommands = [['sh']]".into(), "allow.commands is [\"sh\"]"),
        ("host", "[allow]\nhosts = ['*']".into(), "allow.hosts is \"*\""),
        ("alert host", "[allow]\nalert_hosts = ['*']".into(), "allow.alert_hosts is \"*\""),
        ("secret", "[allow]\nsecrets = ['plain']".into(), "allow.secrets is something else"),
        (
            "no text",
            script("shell = 'x'\nenv = { A = 12345678 }"),
            "a text in quotes is wanted here",
        ),
    ];
    for (case, text, expected) in rows {
        let error = JobFile::from_toml(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{case}: {error}");
        for secret in ["hunter2", "12345678"] {
            assert!(!error.contains(secret), "{case}: {error}");
        }
    }
    let rows = [
        ("no YAML", "jobs: [", "the file is no YAML that declares jobs"),
        ("unknown", "jobs:\n- nam: hunter2\n", "nam"),
        (
            "no text",
            "jobs:\n- name: j\n  sharding_total_count: 1\n  http: {method: GET, url: [hunter2]}\n",
            "YAML",
        ),
    ];
    for (case, text, expected) in rows {
        let error = JobFile::from_yaml(text).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter2"), "{case}: {error}");
    }
}

#[tokio::test]
async fn a_declared_job_runs_as_it_is_declared() {
    let file = JobFile::from_toml(
        r#"
        [[jobs]]
        name = "tried"
        sharding_total_count = 1
        retry = { max_attempts = 3, first_delay = "1ms" }
        script = { shell = '[ "$EJOB_ATTEMPT" = 3 ] && [ "$NAME" = job-types ]', env = { NAME = "${env:CARGO_PKG_NAME}" } }

        [[jobs]]
        name = "slow"
        sharding_total_count = 1
        timeout = "100ms"
        shutdown_grace = "20s"
        script = { shell = "sleep 1000" }
        "#,
    );
    let stage = Stage::new();
    let expected = [Outcome::Succeeded, Outcome::TimedOut];
    for (job, expected) in file.unwrap().into_jobs().into_iter().zip(expected) {
        let name = job.config().job_name.clone();
        let handle = stage.join(job.schedule(&stage.scheduler)).await;
        assert_eq!(run_once(&handle).await, expected, "{name}");
    }
}

/// A configuration that defines what is to be run.
fn defined(settings: impl FnOnce(&mut JavaSettings), dialect: Dialect) -> JobConfig {
    let mut java = JavaSettings::of(dialect);
    settings(&mut java);
    JobBuilder::new("sj", 1).java_settings(java).build().unwrap()
}

fn script_of_2(line: &str) -> JobConfig {
    let line = line.to_owned();
    let set = |java: &mut JavaSettings| {
        let JavaFields::V2(fields) = &mut java.fields else { panic!("of 2.1.5") };
        fields.job_type = JavaJobType::Script { command_line: Some(line) };
    };
    defined(set, Dialect::V2)
}

fn props(all: &[(&str, &str)]) -> JobConfig {
    let set = |java: &mut JavaSettings| {
        let JavaFields::V3(fields) = &mut java.fields else { panic!("of 3.x") };
        fields.props =
            all.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    };
    defined(set, Dialect::V3)
}

#[tokio::test]
async fn what_the_registry_defines_runs_only_where_the_worker_allows_it() {
    let allow = || {
        let allow = Allow::nothing().command(["/bin/sh", "-c", "exit 0"]).unwrap();
        allow.host("http://127.0.0.1:1").unwrap()
    };
    let refused = "comes from the registry and is not among what this worker's own file allows";
    let good = "/bin/sh -c 'exit 0'";
    let rows = [
        ("allowed", allow(), script_of_2(good), Outcome::Succeeded, ""),
        ("by default", Allow::nothing(), script_of_2(good), Outcome::Failed, refused),
        ("another", allow(), script_of_2("/bin/sh -c 'exit 1'"), Outcome::Failed, refused),
        ("3.x", allow(), props(&[("script.command.line", good)]), Outcome::Succeeded, ""),
        (
            "3.x, not allowed",
            Allow::nothing(),
            props(&[("script.command.line", good)]),
            Outcome::Failed,
            refused,
        ),
        (
            "a request that is allowed and gets no answer",
            allow(),
            props(&[
                ("http.uri", "http://127.0.0.1:1/x"),
                ("http.method", "GET"),
                ("http.data", "x"),
            ]),
            Outcome::Failed,
            "GET http://127.0.0.1:1/x got no answer",
        ),
        (
            "a request elsewhere",
            allow(),
            props(&[("http.uri", "http://127.0.0.1:2/x"), ("http.method", "GET")]),
            Outcome::Failed,
            "http://127.0.0.1:2 comes from the registry and is not among",
        ),
        (
            "no method",
            allow(),
            props(&[("http.uri", "http://127.0.0.1:1/x")]),
            Outcome::Failed,
            "http.method is",
        ),
        (
            "no time",
            allow(),
            props(&[
                ("http.uri", "http://127.0.0.1:1/x"),
                ("http.method", "GET"),
                ("http.read.timeout.milliseconds", "soon"),
            ]),
            Outcome::Failed,
            "http.read.timeout.milliseconds is",
        ),
        (
            "both",
            allow(),
            props(&[("http.uri", "http://127.0.0.1:1/x"), ("script.command.line", good)]),
            Outcome::Failed,
            "defines a script and a request",
        ),
        ("nothing", allow(), props(&[]), Outcome::Failed, "defines nothing to run"),
    ];
    for (case, allow, config, expected, message) in rows {
        let (outcome, log) = Stage::run_with(config, StoredJob::new(allow), |r| r).await;
        assert_eq!(outcome, expected, "{case}: {log}");
        assert!(log.contains(message), "{case}: {log}");
    }
}

#[tokio::test]
async fn a_reference_in_a_stored_definition_means_nothing() {
    let allow = Allow::nothing().command(["/bin/sh", "-c"]).unwrap();
    let line = r#"/bin/sh -c '[ "$1" = "\${env:CARGO_PKG_NAME}" ]' sh '${env:CARGO_PKG_NAME}'"#;
    let (outcome, log) = Stage::run_with(script_of_2(line), StoredJob::new(allow), |r| r).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
}

#[tokio::test]
async fn a_changed_definition_is_checked_when_it_is_run() {
    let (log, _guard) = Log::listen();
    let stage = Stage::new();
    let allow = Allow::nothing().command(["/bin/true"]).unwrap();
    let job = StoredJob::new(allow);
    let handle = stage.join(stage.scheduler.schedule(script_of_2("/bin/true"), job)).await;
    assert_eq!(run_once(&handle).await, Outcome::Succeeded);

    let evil = script_of_2("/bin/false");
    let operator = stage.registry.connect();
    let path = NodePath::parse("/sj/config").unwrap();
    let outcome = operator.commit(Txn::new().put(path, encode_config(&evil))).await.unwrap();
    assert!(outcome.is_committed());
    let changed = async {
        while handle.status().await.unwrap().config.as_deref() != Some(&evil) {
            tokio::task::yield_now().await;
        }
    };
    within("the change", changed).await;

    assert_eq!(run_once(&handle).await, Outcome::Failed);
    assert!(log.text().contains("/bin/false comes from the registry"), "{}", log.text());
}

#[test]
fn the_file_in_the_documentation_can_be_read() {
    let page = include_str!("../../../docs/job-types.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (file, _) = rest.split_once("```").unwrap();
    assert_eq!(JobFile::from_toml(file).unwrap().jobs().len(), 3);
}
