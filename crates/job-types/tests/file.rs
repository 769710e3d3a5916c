//! Files that declare jobs, and jobs defined by their stored configuration.
#![cfg(unix)]

use crate::support;

use std::time::Duration;

use coordination::encode_config;
use job_types::{
    Allow, DeclaredJob, FileChecks, Invalid, JobFile, ProcessOptions, Script, StoredJob,
};
use lite::{
    Dialect, JavaFields, JavaJobType, JavaSettings, JobBuilder, JobConfig, MaxTimeDiff, Outcome,
};
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
excluded_times = "22:00..24:00 # backup"
not_before = "2026-01-01T00:00:00Z"
not_after = "2099-12-24T09:00:00"
repeated_hour = "both"
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
  excluded_times: "22:00..24:00 # backup"
  not_before: 2026-01-01T00:00:00Z
  not_after: "2099-12-24T09:00:00"
  repeated_hour: both
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

/// A file with mistakes of all kinds: types, unknown keys, values, and parts that are missing.
const MISTAKES: &str = r#"registry = ""
[[jobs]]
name = "a/b"
sharding_total_count = "two"
crom = "0 0 3 * * ?"
timeout = 5
retry = { max_attempts = 1, first_delay = "soon" }
script = { command = 5, grace = "x", context = "none" }
[[jobs]]
sharding_total_count = 0
time_zone = "Mars/Phobos"
cron = "0 0 3 * * ?"
[[jobs]]
name = "good"
sharding_total_count = 1
script = { shell = "true" }
[[jobs]]
name = "good"
sharding_total_count = 1
script = { shell = "true" }
error_handlers = [{ kind = "log", url = "https://example.com" }, { kind = "none" }]
"#;

#[test]
fn all_mistakes_of_a_file_are_found_at_once() {
    let error = JobFile::from_toml(MISTAKES).unwrap_err();
    let lines: Vec<String> = error.each().map(ToString::to_string).collect();
    let expected = [
        "line 1: registry is empty; ",
        "line 3: job \"a/b\": name is \"a/b\"; ",
        "line 4: job \"a/b\": sharding_total_count is \"two\"; valid is a whole number from 1 to 100000",
        "line 5: job \"a/b\": crom is an unknown key of a job; did you mean cron?",
        "line 6: job \"a/b\": timeout is 5; ",
        "line 7: job \"a/b\": retry.first_delay is \"soon\"; ",
        "line 7: job \"a/b\": retry.max_attempts is 1; ",
        "line 8: job \"a/b\": script.command is 5; ",
        "line 8: job \"a/b\": script.grace is \"x\"; ",
        "line 9: job \"jobs[1]\": name is missing; ",
        "line 9: job \"jobs[1]\": the job type is missing; ",
        "line 10: job \"jobs[1]\": sharding_total_count is 0; ",
        "line 11: job \"jobs[1]\": time_zone is \"Mars/Phobos\"; ",
        "line 18: job \"good\": name is \"good\", which the job in line 13 has; ",
        "line 21: job \"good\": error_handlers[0].url is set; ",
        "line 21: job \"good\": error_handlers[1].kind is \"none\"; ",
    ];
    for (n, begin) in expected.iter().enumerate() {
        assert!(lines.get(n).is_some_and(|line| line.starts_with(begin)), "{begin}: {lines:#?}");
    }
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    assert_eq!(error.to_string(), lines.join("\n"));
}

#[test]
fn number_of_reported_mistakes_is_bounded() {
    let job = "[[jobs]]\nname = 'a'\nsharding_total_count = 0\nstored = true\ntimeout = 1\n";
    let error = JobFile::from_toml(&job.repeat(500)).unwrap_err();
    assert_eq!(error.each().count(), 100);
}

#[test]
fn checks_of_a_program_are_reported_with_the_other_mistakes() {
    struct NoRegistry;
    impl FileChecks for NoRegistry {
        fn registry(&self, address: &str) -> Result<(), String> {
            Err(format!("{address:?} is not supported"))
        }

        fn job(&self, job: &DeclaredJob) -> Result<(), Invalid> {
            match job.config().strategy.as_str() {
                "" => Ok(()),
                name => Err(Invalid::new("strategy", format!("{name:?}"), "none")),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.toml");
    let job = |n, more| format!("[[jobs]]\nname = 'j{n}'\nsharding_total_count = 1\n{more}\n");
    let text = format!(
        "registry = 'memory:'\n{}{}",
        job(1, "strategy = 'X'\nstored = true"),
        job(2, "strategy = 'Y'\ncrom = ''\nscript = { command = '/no/such/tool' }")
    );
    std::fs::write(&path, text).unwrap();
    let error = JobFile::read_checked(&path, &NoRegistry).unwrap_err();
    let lines: Vec<String> = error.each().map(ToString::to_string).collect();
    let expected = [
        "line 1: registry: \"memory:\" is not supported",
        "line 5: job \"j1\": strategy is \"X\"; valid is none",
        "line 10: job \"j2\": strategy is \"Y\"; valid is none",
        "line 11: job \"j2\": crom is an unknown key of a job; did you mean cron?",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn options_of_the_process_are_read_in_both_forms() {
    let job = "[[jobs]]\nname = 'j'\nsharding_total_count = 1\nstored = true";
    let toml = "max_concurrency = 8\nweight = 2\nzone = 'a'\nlabels = { disk = 'ssd', gpu = 'no' }";
    let yaml = "{max_concurrency: 8, weight: 2, zone: a, labels: {disk: ssd, gpu: 'no'}, \
                jobs: [{name: j, sharding_total_count: 1, stored: true}]}";
    let files = [JobFile::from_toml(&format!("{toml}\n{job}")), JobFile::from_yaml(yaml)];
    for process in files.map(|file| file.unwrap().process().clone()) {
        assert_eq!((process.max_concurrency, process.weight), (Some(8), Some(2)));
        assert_eq!(process.zone.as_deref(), Some("a"));
        let labels: Vec<_> = process.labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(labels, [("disk", "ssd"), ("gpu", "no")]);
    }
    let none = JobFile::from_toml(job).unwrap();
    assert_eq!(none.process(), &ProcessOptions::default());
}

#[test]
fn contents_of_a_calendar_file_are_stored_and_its_path_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.toml");
    let read = |lines: &str| {
        let job = "[[jobs]]\nname = \"report\"\nsharding_total_count = 1\nstored = true\n\
                   cron = \"0 0 3 * * ?\"\n";
        std::fs::write(&path, format!("{job}{lines}")).unwrap();
        JobFile::read(&path)
    };
    let calendar = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Holiday\r\nDTSTART:20261224\r\n\
                    END:VEVENT\r\nEND:VCALENDAR\r\n";
    std::fs::write(folder.path().join("holidays.ics"), calendar).unwrap();
    let rows = [
        ("excluded_times_file = \"holidays.ics\"", calendar.to_owned()),
        (
            "excluded_times = \"22:00..24:00\"\nexcluded_times_file = \"holidays.ics\"",
            format!("22:00..24:00\n{calendar}"),
        ),
    ];
    for (lines, expected) in rows {
        let file = read(lines).unwrap();
        assert_eq!(file.jobs()[0].config().excluded_times.as_deref(), Some(&*expected), "{lines}");
    }

    // A text that another host has sent must not make this process read a file.
    let sent = std::fs::read_to_string(&path).unwrap();
    let path = folder.path().join("holidays.ics");
    let sent = sent.replace("holidays.ics", path.to_str().unwrap());
    for parsed in [JobFile::from_toml(&sent), JobFile::from_named("jobs.toml", &sent)] {
        let error = parsed.unwrap_err().to_string();
        assert!(error.contains("only a job file on this host may name a file"), "{error}");
    }

    std::fs::write(folder.path().join("broken.ics"), calendar.replace("20261224", "x")).unwrap();
    std::fs::write(folder.path().join("long.ics"), "12:00..13:00\n".repeat(6_000)).unwrap();
    std::fs::write(folder.path().join("latin.ics"), b"12:00..13:00 # caf\xe9").unwrap();
    let rows = [
        ("none.ics", "excluded_times_file is \"none.ics\"; valid is a file of UTF-8"),
        ("latin.ics", "excluded_times_file is \"latin.ics\"; valid is a file of UTF-8"),
        ("broken.ics", "`Holiday` has DTSTART \"x\""),
        ("long.ics", "`65537 bytes` exceed the maximum of 65536"),
    ];
    for (name, part) in rows {
        let error = read(&format!("excluded_times_file = \"{name}\"")).unwrap_err().to_string();
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn text_of_another_host_reads_no_secrets_of_this_one() {
    let secret = "${env:NO_SUCH_VARIABLE}";
    for work in [
        format!("script = {{ shell = 'true', env = {{ TOKEN = '{secret}' }} }}"),
        "script = { shell = 'true', env = { TOKEN = '${file:/no/such/file}' } }".to_owned(),
        format!("http = {{ url = 'a{secret}:x' }}"),
    ] {
        let text = format!("[[jobs]]\nname = 'report'\nsharding_total_count = 3\n{work}");
        assert!(JobFile::from_toml(&text).is_err(), "{work}");
        let sent = JobFile::from_named("jobs.toml", &text).unwrap();
        let names: Vec<_> = sent.jobs().iter().map(|job| job.config().job_name.as_str()).collect();
        assert_eq!(names, ["report"], "{work}");
    }
}

#[cfg(feature = "http")]
#[test]
fn scheme_of_a_url_with_a_reference_is_not_shown() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hunter2").unwrap();
    let url = format!("a${{file:{}}}:x", file.path().display());
    let text =
        format!("[[jobs]]\nname = 'report'\nsharding_total_count = 3\nhttp = {{ url = '{url}' }}");
    let error = JobFile::from_toml(&text).unwrap_err().to_string();
    assert!(error.contains("http.url is a URL with another scheme"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn toml_and_yaml_declare_the_same_jobs() {
    let expected = JobBuilder::new("backup", 2)
        .sharding_item_parameters("0=orders,1=customers")
        .job_parameter("full")
        .cron("0 0 3 * * ?")
        .time_zone("Asia/Shanghai")
        .excluded_days("SAT..SUN")
        .excluded_times("22:00..24:00 # backup")
        .not_before("2026-01-01T00:00:00Z")
        .not_after("2099-12-24T09:00:00")
        .repeated_hour("both")
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
fn comparison_of_clocks_can_be_disabled() {
    for (text, expected) in [("5s", MaxTimeDiff::Seconds(5)), ("off", MaxTimeDiff::Off)] {
        let yaml = YAML.replace("max_time_diff: 5s", &format!("max_time_diff: \"{text}\""));
        let file = JobFile::from_yaml(&yaml).unwrap();
        assert_eq!(file.jobs()[0].config().max_time_diff, expected, "{text}");
    }
}

#[test]
fn form_is_chosen_by_the_file_extension() {
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
fn errors_have_line_field_value_and_valid_values() {
    let job = |line: &str| format!("[[jobs]]\nname = \"j\"\nsharding_total_count = 1\n{line}\n");
    let script = |line: &str| job(&format!("[jobs.script]\n{line}"));
    let http = |line: &str| {
        let all = format!("[jobs.http]\nmethod = \"GET\"\nurl = \"http://h/\"\n{line}");
        job(&all)
    };
    let url = |url: &str| job(&format!("[jobs.http]\nmethod = \"GET\"\nurl = \"{url}\""));
    let process = |line: &str| format!("{line}\n{}", job("stored = true"));
    let rows = [
        ("nothing", String::new(), "jobs is empty; valid is at least one job or group"),
        (
            "unknown at the top",
            "job = 1".into(),
            "line 1: job is an unknown key of the file; did you mean jobs?",
        ),
        (
            "unknown in a job",
            job("crom = 'x'"),
            "line 4: job \"j\": crom is an unknown key of a job; did you mean cron?",
        ),
        (
            "misspelt",
            job("failver = true\nstored = true"),
            "line 4: job \"j\": failver is an unknown key of a job; did you mean failover?",
        ),
        (
            "like no key",
            job("priority = 1"),
            "line 4: job \"j\": priority is an unknown key of a job; valid is one of name, sharding_total_count, cron, ",
        ),
        (
            "unknown in a script",
            script("cmd = 'x'"),
            "line 5: job \"j\": script.cmd is an unknown key of the table script; valid is one of command, argv, shell, ",
        ),
        (
            "unknown in a request",
            http("verb = 'x'"),
            "line 7: job \"j\": http.verb is an unknown key of the table http; valid is one of url, method, body, ",
        ),
        (
            "unknown in retry",
            job("retry = { times = 3 }"),
            "line 4: job \"j\": retry.times is an unknown key of the table retry; valid is one of max_attempts, first_delay, max_delay, after_panics",
        ),
        (
            "unknown in catch_up",
            job("catch_up = { for = '1h' }"),
            "line 4: job \"j\": catch_up.for is an unknown key of the table catch_up; valid is one of window, max",
        ),
        (
            "unknown in allow",
            "[allow]\nshells = []".into(),
            "line 2: allow.shells is an unknown key of the table allow; valid is one of commands, hosts, alert_hosts, secrets",
        ),
        (
            "no name",
            "[[jobs]]\nsharding_total_count = 1".into(),
            "line 1: job \"jobs[0]\": name is missing; valid is a text of 1 to 128 bytes in quotes, such as \"report\"",
        ),
        (
            "a text as a script",
            job("script = 'x.sh'"),
            "line 4: job \"j\": script is \"x.sh\"; valid is a table such as { command = \"/opt/report.sh --daily\" }",
        ),
        (
            "a number as retry",
            job("stored = true\nretry = 3"),
            "line 5: job \"j\": retry is 3; valid is a table such as { max_attempts = 3, first_delay = \"1m\" }",
        ),
        (
            "a flag as catch_up",
            job("stored = true\ncatch_up = true"),
            "line 5: job \"j\": catch_up is true; valid is a table such as { window = \"1h\", max = 3 }",
        ),
        (
            "too many items",
            "[[jobs]]\nname = 'j'\nsharding_total_count = 99999999999\nstored = true".into(),
            "line 3: job \"j\": sharding_total_count is 99999999999; valid is a whole number from 1 to 100000",
        ),
        (
            "more items than a number has room for",
            "[[jobs]]\nname = 'j'\nsharding_total_count = 99999999999999999999\nstored = true"
                .into(),
            "line 3: job \"j\": sharding_total_count is 99999999999999999999; valid is a whole number from 1 to 100000",
        ),
        (
            "no item",
            "[[jobs]]\nname = 'j'\nsharding_total_count = 0\nstored = true".into(),
            "line 3: job \"j\": sharding_total_count is 0; valid is 1 to 100000",
        ),
        (
            "a parameter of an item that the job does not have",
            job("stored = true\nsharding_item_parameters = '0=a,7=b'"),
            "line 5: job \"j\": sharding_item_parameters is \"0=a,7=b\", of item 7; valid is parameters of the items 0 to 0",
        ),
        (
            "a pin of an item that the job does not have",
            job("stored = true\nplacement = 'pin 0..2 zone=a; pin 7 zone=b'"),
            "line 5: job \"j\": placement is \"pin 0..2 zone=a; pin 7 zone=b\", with a pin of item 1; valid is pins of the items 0 to 0",
        ),
        (
            "a number as a time",
            job("stored = true\ntimeout = 5"),
            "line 5: job \"j\": timeout is 5; valid is a time with its unit, such as 500ms, 5s or 1m 30s",
        ),
        (
            "a text as a flag",
            job("stored = true\nfailover = 'yes'"),
            "line 5: job \"j\": failover is \"yes\"; valid is true or false",
        ),
        (
            "a name that no node can have",
            "[[jobs]]\nname = 'a/b'\nsharding_total_count = 1\nstored = true".into(),
            "line 2: job \"a/b\": name is \"a/b\"; valid is a name of 1 to 128 bytes",
        ),
        (
            "an item of a list",
            job("script = { argv = ['x', 5] }"),
            "line 4: job \"j\": script.argv[1] is 5; valid is",
        ),
        ("one job", "jobs = 5".into(), "line 1: jobs is 5; valid is a list of jobs"),
        (
            "a key twice",
            job("cron = '@every 5m'\ncron = '@every 6m'"),
            "the file is not valid TOML: line 5, column 1: duplicate key cron",
        ),
        (
            "a key of the job in a table of it",
            job("retry = { max_attempts = 3, cron = '@every 5m' }\nstored = true"),
            "retry.cron is an unknown key of the table retry; cron is a key of the job: write it above its table retry",
        ),
        ("no TOML", "[[jobs".into(), "the file is not valid TOML: line 1, column 7: "),
        (
            "no type",
            job(""),
            "line 1: job \"j\": the job type is missing; valid is exactly one of script, http and stored = true, such as script = { shell = \"echo hello\" }",
        ),
        ("not stored", job("stored = false"), "the job type is missing"),
        (
            "two types",
            job("stored = true\n[jobs.script]\nshell = 'x'"),
            "the job type is given more than once, as script and stored; valid is",
        ),
        (
            "twice",
            job("stored = true") + &job("stored = true"),
            "line 6: job \"j\": name is \"j\", which the job in line 1 has; valid is a unique name",
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
        (
            "two commands",
            script("shell = 'x'\nargv = ['x']"),
            "the command of script is given more than once, as argv and shell; valid is",
        ),
        (
            "no command",
            script(""),
            "the command of script is missing; valid is exactly one of command, argv and shell",
        ),
        (
            "pipe",
            script("command = 'echo a | cat > f'"),
            "script.command is \"echo a | cat > f\", with the operator | of a shell; valid is one program",
        ),
        ("list", script("command = 'a && b'"), "with the operator & of a shell"),
        ("end", script("command = 'a; b'"), "with the operator ; of a shell"),
        ("redirection", script("command = 'a 2>&1'"), "with the operator > of a shell"),
        ("pipe in a word", script("command = 'echo a|cat'"), "with the operator | of a shell"),
        ("list in a word", script("command = 'a;b'"), "with the operator ; of a shell"),
        ("input in a word", script("command = 'a<b'"), "with the operator < of a shell"),
        ("after quotes", script("command = 'a \"b\"|c'"), "with the operator | of a shell"),
        (
            "after a comment",
            script("command = \"a # it's\\n|b\""),
            "with the operator | of a shell",
        ),
        ("substitution", script("command = 'a $(x)'"), "with the operator $( of a shell"),
        ("backtick", script("command = 'a `x`'"), "with the operator ` of a shell"),
        (
            "cluster_concurrency",
            job("stored = true\ncluster_concurrency = 0"),
            "cluster_concurrency is 0; valid is 1 to 4294967295, or none: no limit",
        ),
        (
            "cluster_concurrency without claims",
            job("stored = true\ncluster_concurrency = 2\nmonitor_execution = false"),
            "cluster_concurrency is 2; valid is none, or monitor_execution = true",
        ),
        (
            "start_rate",
            job("stored = true\nstart_rate = '10/1m'"),
            "start_rate is \"10/1m\"; valid is a number of starts in a period, such as \"10 in 1m\": 1 to 1000 in 1s to 24h",
        ),
        (
            "start_rate",
            job("stored = true\nstart_rate = '0 in 1m'"),
            "start_rate is 0 in 1m; valid is a number of starts in a period, such as",
        ),
        (
            "overlap",
            job("stored = true\noverlap = 'stop'"),
            "overlap is \"stop\"; valid is cancel, queue 1 to queue 100, parallel 2 to parallel 16, or none: misfire alone decides",
        ),
        (
            "a queue without fires",
            job("stored = true\noverlap = 'queue 0'"),
            "overlap is \"queue 0\"; valid is cancel, queue 1 to queue 100, parallel 2 to parallel 16",
        ),
        (
            "a single run at a time",
            job("stored = true\noverlap = 'parallel 1'"),
            "overlap is \"parallel 1\"; valid is cancel, queue 1 to queue 100, parallel 2 to parallel 16",
        ),
        (
            "overlap without misfires",
            job("stored = true\noverlap = 'cancel'\nmisfire = false"),
            "overlap is cancel; valid is none, or misfire = true",
        ),
        (
            "start_rate without claims",
            job("stored = true\nstart_rate = '2 in 1s'\nmonitor_execution = false"),
            "start_rate is 2 in 1s; valid is none, or monitor_execution = true",
        ),
        (
            "server_ttl",
            job("stored = true\nserver_ttl = 'soon'"),
            "server_ttl is \"soon\"; valid is off, or a time of at least 1m such as 90m, 24h or 7d, followed by \" all\" if disabled and paused servers are removed, too",
        ),
        (
            "server_ttl",
            job("stored = true\nserver_ttl = '5s'"),
            "server_ttl is 5s; valid is off, or a time of at least 1m such as 90m, 24h or 7d, followed by \" all\" if disabled and paused servers are removed, too",
        ),
        (
            "max_time_diff",
            job("stored = true\nmax_time_diff = 'never'"),
            "max_time_diff is \"never\"; valid is a time of whole seconds from 1s, such as 5s, or off",
        ),
        (
            "context",
            script("command = 'a'\ncontext = 'args'"),
            "script.context is \"args\"; valid is environment, argument or none",
        ),
        ("empty shell", script("shell = ' '"), "script.shell is \" \"; valid is a command"),
        ("empty argv", script("argv = []"), "script.argv is empty"),
        ("quote", script("command = \"x 'y\""), "script.command is \"x 'y\""),
        ("name", script("shell = 'x'\nenv = { 'A=B' = 'x' }"), "script.env is \"A=B\""),
        (
            "no variable",
            script("shell = 'x'\nenv = { A = '${env:EJOB_NONE}' }"),
            "line 6: job \"j\": script.env.A is ${env:EJOB_NONE}; valid is a variable that the environment",
        ),
        (
            "no such secret",
            script("shell = 'x'\nenv = { A = '${vault:A}' }"),
            "line 6: job \"j\": script.env.A is a reference of no known kind, or without an end; valid is ${env:NAME} or ${file:",
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
        (
            "no file",
            http("body = '${file:/no/such}'").replace("GET", "PUT"),
            "http.body is ${file:/no/such}; valid is a file of at most 64 KiB",
        ),
        (
            "limit of the process",
            process("max_concurrency = 0"),
            "max_concurrency is 0; valid is 1 or more",
        ),
        (
            "text as a limit",
            process("max_concurrency = '8'"),
            "line 1: max_concurrency is \"8\"; valid is 1 or more",
        ),
        ("weight", process("weight = 101"), "line 1: weight is 101; valid is 1 to 100"),
        ("zone", process("zone = 'a b'"), "line 1: zone is \"a b\"; valid is 1 to 63 letters"),
        (
            "list of labels",
            process("labels = ['disk=ssd']"),
            "valid is a table of texts such as { disk = \"ssd\" }",
        ),
        (
            "number as a label",
            process("labels = { gpu = 1 }"),
            "line 1: labels.gpu is 1; valid is a text in quotes",
        ),
        (
            "label",
            process("labels = { disk = '' }"),
            "line 1: labels.disk is \"\"; valid is 1 to 63 letters",
        ),
        (
            "reserved label",
            process("labels = { zone = 'a' }"),
            "line 1: labels.zone is \"zone\"; valid is another key",
        ),
        (
            "weight of a job",
            job("stored = true\nweight = 2"),
            "weight is a key of the file: write it above the first job",
        ),
        ("relative", "[allow]\ncommands = [['sh']]".into(), "allow.commands is [\"sh\"]"),
        ("host", "[allow]\nhosts = ['*']".into(), "allow.hosts is \"*\""),
        ("alert host", "[allow]\nalert_hosts = ['*']".into(), "allow.alert_hosts is \"*\""),
        ("secret", "[allow]\nsecrets = ['plain']".into(), "allow.secrets is something else"),
        (
            "no text",
            script("shell = 'x'\nenv = { A = 12345678 }"),
            "line 6: job \"j\": script.env.A is no text; valid is a text in quotes",
        ),
    ];
    let internals = ["Some(", "None", "struct ", "u32", "u64", "usize", "Doc"];
    let names_internals = |error: &str| internals.iter().any(|word| error.contains(word));
    let mut failures = Vec::new();
    for (case, text, expected) in rows {
        let error =
            JobFile::from_toml(&text).map_or_else(|error| error.to_string(), |_| case.into());
        if names_internals(&error) || !error.contains(expected) {
            failures.push(format!("{case}: {error}"));
        }
        for secret in ["hunter2", "12345678"] {
            assert!(!error.contains(secret), "{case}: {error}");
        }
    }
    let rows = [
        ("no YAML", "jobs: [", "the file is not valid YAML: "),
        (
            "unknown",
            "jobs:\n- nam: hunter2\n",
            "line 2: job \"jobs[0]\": nam is an unknown key of a job; did you mean name?",
        ),
        (
            "no text",
            "jobs:\n- name: j\n  sharding_total_count: 1\n  http: {method: GET, url: [hunter2]}\n",
            "line 4: job \"j\": http.url is a list; valid is a URL in quotes",
        ),
        (
            "a text as http",
            "jobs:\n- name: j\n  sharding_total_count: 1\n  http: https://u:hunter2@h/\n",
            "line 4: job \"j\": http is a text; valid is a table such as { url = ",
        ),
        (
            "a word as a number",
            "jobs:\n- name: j\n  stored: true\n  sharding_total_count: two\n",
            "line 4: job \"j\": sharding_total_count is \"two\"; valid is a whole number from 1 to 100000",
        ),
        (
            "another line",
            "jobs:\n- {name: j, sharding_total_count: 1, stored: true}\n- name: k\n  retry:\n    max_attempts: 1\n  stored: true\n  sharding_total_count: 1\n",
            "line 5: job \"k\": retry.max_attempts is 1; valid is 2 or more",
        ),
    ];
    for (case, text, expected) in rows {
        let error =
            JobFile::from_yaml(text).map_or_else(|error| error.to_string(), |_| case.into());
        let is_leaking = error.contains("hunter2") || names_internals(&error);
        if !error.contains(expected) || is_leaking {
            failures.push(format!("{case}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// YAML needs no quotes, so an unquoted number or flag is also a text.
#[test]
fn unquoted_yaml_scalars_are_accepted_as_texts() {
    let text = "jobs:\n- name: 2024\n  sharding_total_count: 1\n  job_parameter: yes\n  \
                description: 1.50\n  time_zone:\n  stored: true\n";
    let file = JobFile::from_yaml(text).unwrap();
    let config = file.jobs()[0].config();
    assert_eq!(config.job_name.as_str(), "2024");
    assert_eq!((&*config.job_parameter, &*config.description), ("yes", "1.50"));
    assert_eq!(config.time_zone, None);
}

#[test]
fn default_method_of_a_request_is_get() {
    let file = "[[jobs]]\nname='j'\nsharding_total_count=1\nhttp={url='http://h/x'}\n";
    let shown = format!("{:?}", JobFile::from_toml(file).unwrap().jobs()[0]);
    assert!(shown.contains("GET http://h/x"), "{shown}");
}

#[test]
fn line_of_each_key_is_known() {
    let text = "\n[[jobs]]\nname = 'a'\nsharding_total_count = 1\nstored = true\n\n\
                [[jobs]]\nname = 'b'\nstored = true\nsharding_total_count = 1\n";
    let file = JobFile::from_toml(text).unwrap();
    let line = |n: usize, key: &str| file.jobs()[n].line_of(key);
    assert_eq!((line(0, "name"), line(0, "cron")), (3, 2));
    assert_eq!((line(1, "sharding_total_count"), line(1, "cron")), (10, 7));
}

#[tokio::test]
async fn declared_jobs_run_with_their_options() {
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

        [[jobs]]
        name = "argument"
        sharding_total_count = 1
        script = { shell = '[ "$#" = 1 ] && [ "$EJOB_SHARDING_ITEM" = 0 ]', context = "argument" }

        [[jobs]]
        name = "quoted"
        sharding_total_count = 1
        script = { command = "test '|;' = \"|;\" -a x\\&y = 'x&y' -a 'a`$(x)' = 'a`$(x)' # ; b" }
        "#,
    );
    let stage = Stage::new();
    let expected = [Outcome::Succeeded, Outcome::TimedOut, Outcome::Succeeded, Outcome::Succeeded];
    for (job, expected) in file.unwrap().into_jobs().into_iter().zip(expected) {
        let name = job.config().job_name.clone();
        let handle = stage.join(job.schedule(&stage.scheduler)).await;
        assert_eq!(run_once(&handle).await, expected, "{name}");
    }
}

/// Returns a configuration with a definition in its Java settings.
fn defined(settings: impl FnOnce(&mut JavaSettings), dialect: Dialect) -> JobConfig {
    let mut java = JavaSettings::of(dialect);
    settings(&mut java);
    JobBuilder::new("sj", 1).java_settings(java).build().unwrap()
}

fn v2_script(line: &str) -> JobConfig {
    let line = line.to_owned();
    let set = |java: &mut JavaSettings| {
        let JavaFields::V2(fields) = &mut java.fields else { panic!("expected fields of 2.1.5") };
        fields.job_type = JavaJobType::Script { command_line: Some(line) };
    };
    defined(set, Dialect::V2)
}

fn props(all: &[(&str, &str)]) -> JobConfig {
    let set = |java: &mut JavaSettings| {
        let JavaFields::V3(fields) = &mut java.fields else { panic!("expected fields of 3.x") };
        fields.props =
            all.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    };
    defined(set, Dialect::V3)
}

#[tokio::test]
async fn stored_definition_runs_only_if_the_worker_allows_it() {
    let allow = || {
        let allow = Allow::nothing().command(["/bin/sh", "-c", "exit 0"]).unwrap();
        allow.host("http://127.0.0.1:1").unwrap()
    };
    let refused = "comes from the registry and is not among what this worker's own file allows";
    let good = "/bin/sh -c 'exit 0'";
    // The first argument after the command is `$0`.
    let with_context = r#"/bin/sh -c 'case "$0" in "{"*jobName*) ;; *) exit 1 ;; esac'"#;
    let rows = [
        ("allowed", allow(), v2_script(good), Outcome::Succeeded, ""),
        ("by default", Allow::nothing(), v2_script(good), Outcome::Failed, refused),
        ("another command", allow(), v2_script("/bin/sh -c 'exit 1'"), Outcome::Failed, refused),
        ("3.x", allow(), props(&[("script.command.line", good)]), Outcome::Succeeded, ""),
        (
            "the context is the argument of 2.1.5",
            Allow::nothing().command(["/bin/sh", "-c"]).unwrap(),
            v2_script(with_context),
            Outcome::Succeeded,
            "",
        ),
        (
            "the context is the argument of 3.x",
            Allow::nothing().command(["/bin/sh", "-c"]).unwrap(),
            props(&[("script.command.line", with_context)]),
            Outcome::Succeeded,
            "",
        ),
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
            "a request to another host",
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
            "invalid timeout",
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
            "a script and a request",
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
async fn references_in_a_stored_definition_are_not_resolved() {
    let allow = Allow::nothing().command(["/bin/sh", "-c"]).unwrap();
    let line = r#"/bin/sh -c '[ "$1" = "\${env:CARGO_PKG_NAME}" ]' sh '${env:CARGO_PKG_NAME}'"#;
    let (outcome, log) = Stage::run_with(v2_script(line), StoredJob::new(allow), |r| r).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
}

#[tokio::test]
async fn changed_definition_is_checked_at_the_next_run() {
    let (log, _guard) = Log::listen();
    let stage = Stage::new();
    let allow = Allow::nothing().command(["/bin/true"]).unwrap();
    let job = StoredJob::new(allow);
    let handle = stage.join(stage.scheduler.schedule(v2_script("/bin/true"), job)).await;
    assert_eq!(run_once(&handle).await, Outcome::Succeeded);

    let evil = v2_script("/bin/false");
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
fn documented_file_is_valid() {
    let page = include_str!("../../../docs/job-types.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (file, _) = rest.split_once("```").unwrap();
    // Replaces the variables by one that is set in every test.
    let file = ["BACKUP_PASSWORD", "API_TOKEN"].iter().fold(file.to_owned(), |file, name| {
        let reference = format!("${{env:{name}}}");
        assert!(file.contains(&reference), "{name}");
        file.replace(&reference, "${env:CARGO_PKG_NAME}")
    });
    assert_eq!(JobFile::from_toml(&file).unwrap().jobs().len(), 3);
}

#[test]
fn check_programs_names_the_missing_program() {
    let file = |program: &str| {
        let file = format!(
            "jobs: [{{name: a, sharding_total_count: 1, stored: true}}, \
             {{name: b, sharding_total_count: 1, script: {{command: {program}}}}}]"
        );
        JobFile::from_yaml(&file).unwrap().check_programs()
    };
    file("/bin/sh").unwrap();
    let error = file("/no/such/tool -x").unwrap_err().to_string();
    let expected = "line 1: job \"b\": the program of script is \"/no/such/tool\"; valid is an executable file; \
                    /no/such/tool does not exist";
    assert_eq!(error, expected);
}

#[test]
fn groups_of_a_file_have_their_limits() {
    let jobs = "[[jobs]]\nname = 'a'\nsharding_total_count = 1\nstored = true\ngroup = 'db'\n";
    let groups = "[[groups]]\nname = 'db'\ncluster_concurrency = 4\nstart_rate = '9 in 1m'\n";
    let file = JobFile::from_toml(&format!("{groups}{jobs}")).unwrap();
    let shown: Vec<_> = file.groups().iter().map(|(name, it)| format!("{name}: {it}")).collect();
    assert_eq!(shown, ["db: at most 4 runs at once, at most 9 starts in 1m"]);
    let group = file.jobs()[0].config().group.as_ref().map(ToString::to_string);
    assert_eq!(group.as_deref(), Some("db"));
    let rows = [
        ("name = 'd/b'\ncluster_concurrency = 1", "line 2: name is \"d/b\"; valid is a name of"),
        ("name = 'db'\ncluster_concurrency = 0", "line 3: cluster_concurrency is 0; valid is 1 to"),
        ("name = 'db'\nstart_rate = 'often'", "line 3: start_rate is \"often\"; valid is a number"),
        ("name = 'db'", "cluster_concurrency is missing; valid is 1 to 4294967295, unless"),
        (
            "name = 'db'\ncluster_concurrency = 1\n[[groups]]\nname = 'db'\ncluster_concurrency = 2",
            "line 5: name is \"db\", which another group has; valid is a unique name",
        ),
        ("name = 'db'\ncluster_concurency = 1", "did you mean cluster_concurrency?"),
    ];
    for (group, expected) in rows {
        let error = JobFile::from_toml(&format!("[[groups]]\n{group}\n{jobs}")).unwrap_err();
        assert!(error.to_string().contains(expected), "{group}: {error}");
    }
    let wrong = jobs.replace("'db'", "'d/b'");
    let error = JobFile::from_toml(&wrong).unwrap_err().to_string();
    assert!(error.contains("group is \"d/b\"; valid is a name of at most 128 bytes"), "{error}");
}
