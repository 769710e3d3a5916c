//! Scripts as real processes.
#![cfg(unix)]

use crate::support;

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use job_types::{Script, ScriptContext, SecretText};
use lite::{JobBuilder, JobHandle, Outcome, ShutdownReport};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe;

use support::{Stage, one_item, run_once, within};

/// Creates a directory for files that a script writes.
fn folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    (folder, path)
}

fn read(folder: &TempDir, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap()
}

#[tokio::test]
async fn context_argument_matches_java_byte_for_byte() {
    let (folder, path) = folder();
    let script = Script::new("/bin/sh")
        .arg("-c")
        .arg(r#"printf '%s' "$2" > "$1/json"; printf '%s' "$#" > "$1/count"; env > "$1/env""#)
        .arg("sh")
        .arg(&path)
        .context(ScriptContext::Argument);
    let (outcome, log) = Stage::run(script).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
    let expected = r#"{"jobName":"sj","taskId":"sj@-@0@-@READY@-@10.0.0.1@-@1","shardingTotalCount":1,"jobParameter":"x\u003d1\u0026y","shardingItem":0,"shardingParameter":"A B"}"#;
    assert_eq!(read(&folder, "json"), expected);
    assert_eq!(read(&folder, "count"), "2");
    let env = read(&folder, "env");
    let has =
        |line: &str| assert!(env.lines().any(|found| found == line), "{line} is not in\n{env}");
    for line in [
        "EJOB_JOB_NAME=sj",
        "EJOB_TASK_ID=sj@-@0@-@READY@-@10.0.0.1@-@1",
        "EJOB_SHARDING_TOTAL_COUNT=1",
        "EJOB_JOB_PARAMETER=x=1&y",
        "EJOB_SHARDING_ITEM=0",
        "EJOB_SLOT=0",
        "EJOB_SHARDING_PARAMETER=A B",
        "EJOB_SOURCE=MANUAL",
        "EJOB_INSTANCE=10.0.0.1@-@1",
        "EJOB_FENCING_TOKEN=1",
        "EJOB_ATTEMPT=1",
        "EJOB_FIRE_COUNT=1",
        // The environment of this process is inherited.
        "CARGO_PKG_NAME=job-types",
    ] {
        has(line);
    }
    let of = |name: &str| {
        let line = env.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
        line.unwrap_or_else(|| panic!("no {name} in\n{env}")).to_owned()
    };
    assert!(of("EJOB_FIRE_TIME").ends_with('Z'));
    assert!(of("EJOB_EXECUTION_ID").starts_with(&of("EJOB_IDEMPOTENCY_KEY")));
}

#[tokio::test]
async fn secrets_of_the_environment_are_masked_in_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "s3cret\n").unwrap();
    let reference = SecretText::parse(&format!("${{file:{}}}", path.display())).unwrap();
    let script = Script::shell("echo token $TOKEN; echo $PLAIN >&2; exit 1")
        .env("TOKEN", reference)
        .env("PLAIN", SecretText::literal("visible"));
    let (outcome, log) = Stage::run(script).await;
    assert_eq!(outcome, Outcome::Failed);
    assert!(log.contains("token ***") && log.contains("visible"), "{log}");
    assert!(!log.contains("s3cret"), "{log}");
}

#[tokio::test]
async fn value_of_a_reference_is_masked_without_the_text_around_it() {
    let (folder, path) = folder();
    for (name, secret) in [("short", "q9w8"), ("long", "q9w8e7r6")] {
        std::fs::write(folder.path().join(name), secret).unwrap();
    }
    let reference = |text: &str| SecretText::parse(&text.replace("PATH", &path)).unwrap();
    let rows = [
        ("part of a text", "echo alone q9w8; exit 1", "alone ***"),
        ("prefix of another secret", "echo both q9w8e7r6; exit 1", "both ***"),
        ("cut by the limit of a line", "printf '%8188sq9w8e7r6\\n' cut; exit 1", "cut***"),
    ];
    for (case, command, expected) in rows {
        let script = Script::shell(command)
            .env("AUTHORIZATION", reference("Bearer ${file:PATH/short}"))
            .env("DATABASE", reference("postgres://job:${file:PATH/long}@db/orders"));
        let (outcome, log) = Stage::run(script).await;
        assert_eq!(outcome, Outcome::Failed, "{case}");
        assert!(log.contains(expected), "{case}: {log}");
        assert!(!log.contains("q9w8") && !log.contains("e7r6"), "{case}: {log}");
    }
}

#[tokio::test]
async fn a_line_of_the_output_reports_progress() {
    let text = "echo before; echo ejob:progress 1/2 half; echo ejob:progress 3/2; echo after";
    let (outcome, log, stored) =
        Stage::run_reporting(one_item(), Script::shell(text), |it| it).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
    let stored = stored.unwrap();
    assert_eq!((stored.token.0, stored.progress.to_string()), (1, "1 of 2, half".to_owned()));
    assert!(log.contains("done is 3; valid are 0 to the total, which is 2"), "{log}");
    let is_output =
        |line: &str| log.lines().any(|l| l.contains("script output") && l.contains(line));
    assert!(is_output("before") && is_output("3/2") && !is_output("half"), "{log}");
}

#[tokio::test]
async fn default_context_is_only_in_the_environment() {
    let none = Script::shell(r#"[ $# = 0 ] && [ -z "$(env | grep ^EJOB_)" ]"#);
    let rows = [
        ("default", Script::shell(r#"[ $# = 0 ] && [ "$EJOB_SHARDING_ITEM" = 0 ]"#)),
        ("none", none.context(ScriptContext::None)),
    ];
    for (case, script) in rows {
        let (outcome, log) = Stage::run(script).await;
        assert_eq!(outcome, Outcome::Succeeded, "{case}: {log}");
    }
}

#[tokio::test]
async fn arguments_are_not_expanded() {
    let (folder, path) = folder();
    let line = format!("sh -c 'printf %s \"$1\" > \"$0/out\"' {path} '$HOME; * `id`'");
    let (outcome, log) = Stage::run(Script::parse(&line).unwrap()).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
    assert_eq!(read(&folder, "out"), "$HOME; * `id`");
}

#[tokio::test]
async fn shell_does_not_run_commands_in_parameters() {
    let (folder, path) = folder();
    let config = JobBuilder::new("sj", 1)
        .job_parameter(format!("$(touch {path}/pwned)\"; touch {path}/pwned; \""));
    let script = Script::shell(r#"printf '%s' "$1" "$EJOB_JOB_PARAMETER" > out"#)
        .directory(&path)
        .context(ScriptContext::Argument);
    let (outcome, log) = Stage::run_with(config.build().unwrap(), script, |r| r).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
    assert!(read(&folder, "out").contains("touch"));
    assert!(!folder.path().join("pwned").exists());
}

#[tokio::test]
async fn failure_has_the_status_and_the_last_lines() {
    let rows = [
        (
            Script::shell("echo one; echo two >&2; exit 3"),
            Outcome::Failed,
            r"/bin/sh ended with status 3; its last lines:\n",
        ),
        (
            Script::shell("kill -9 $$"),
            Outcome::Failed,
            "/bin/sh ended with signal 9, and printed nothing",
        ),
        (Script::new("/no/such/program"), Outcome::Failed, "/no/such/program could not be started"),
        (
            Script::new("/bin/true").directory("/no/such/folder"),
            Outcome::Failed,
            "/bin/true could not be started",
        ),
        (Script::new("true"), Outcome::Succeeded, ""),
    ];
    for (script, expected, message) in rows {
        let case = format!("{:?}", script.argv().collect::<Vec<_>>());
        let (outcome, log) = Stage::run(script).await;
        assert_eq!(outcome, expected, "{case}: {log}");
        assert!(log.contains(message), "{case}: {log}");
    }
}

#[tokio::test]
async fn output_is_logged_by_line_and_stream_within_bounds() {
    let (outcome, log) = Stage::run(Script::shell("echo out; echo err >&2")).await;
    assert_eq!(outcome, Outcome::Succeeded);
    for expected in [r#"stream="stdout" line=out"#, r#"stream="stderr" line=err"#] {
        assert!(log.contains(expected), "{log}");
    }

    let much =
        Script::shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; exit 1");
    let (outcome, log) = Stage::run(much.max_logged_lines(10)).await;
    assert_eq!(outcome, Outcome::Failed);
    assert_eq!(log.matches("script output stream").count(), 10, "{log}");
    assert_eq!(log.matches("more script output is not logged").count(), 1);
    assert!(log.contains("line 2999") && !log.contains("line 2000"), "{log}");
}

#[tokio::test]
async fn secret_reaches_only_the_script() {
    let script = Script::shell(r#"[ "$(printf %s "$PASSWORD" | wc -c)" -eq 7 ] && exit 7"#)
        .env("PASSWORD", SecretText::literal("hunter2"));
    assert!(!format!("{script:?}").contains("hunter2"));
    let (outcome, log) = Stage::run(script).await;
    assert_eq!(outcome, Outcome::Failed);
    assert!(log.contains("status 7"), "{log}");
    assert!(!log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn missing_secret_is_named_and_the_script_is_not_started() {
    let (folder, path) = folder();
    let missing = SecretText::parse("${env:EJOB_NO_SUCH_VARIABLE}").unwrap();
    let script = Script::shell("touch started").directory(path).env("PASSWORD", missing);
    assert!(script.check_secrets().is_err());
    let (outcome, log) = Stage::run(script).await;
    assert_eq!(outcome, Outcome::Failed);
    let expected = "/bin/sh was not started: its variable PASSWORD cannot be set: \
                    ${env:EJOB_NO_SUCH_VARIABLE}: the environment has no variable of this name";
    assert!(log.contains(expected), "{log}");
    assert!(!folder.path().join("started").exists());
}

#[tokio::test]
async fn inheritance_of_the_environment_can_be_disabled() {
    let script = Script::shell(r#"[ -z "$CARGO_PKG_NAME" ] && [ "$EJOB_SHARDING_ITEM" = 0 ]"#);
    let (outcome, log) = Stage::run(script.inherits_environment(false)).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
}

/// A named pipe that scripts write to. It reaches its end when no process has it open.
struct Pipe {
    _folder: TempDir,
    path: String,
    reader: BufReader<pipe::Receiver>,
}

impl Pipe {
    fn new() -> Self {
        let (folder, path) = folder();
        let path = format!("{path}/pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = BufReader::new(pipe::OpenOptions::new().open_receiver(&path).unwrap());
        Self { _folder: folder, path, reader }
    }

    /// Returns a script that, with all its descendants, has the pipe open as descriptor 3.
    fn script(&self, command: &str) -> Script {
        Script::shell(format!("exec 3> '{}'; {command}", self.path))
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line);
        within("a line", read).await.unwrap();
        line.trim_end().to_owned()
    }

    /// Waits until no process has the pipe open, and returns the remaining text.
    async fn end(&mut self) -> io::Result<String> {
        let mut rest = String::new();
        within("the end of all processes", self.reader.read_to_string(&mut rest)).await?;
        Ok(rest)
    }
}

/// Starts a script, and waits until it writes `ready` after the start of its descendants.
async fn started(stage: &Stage, pipe: &mut Pipe, script: Script) -> JobHandle {
    let registration = stage.scheduler.schedule(one_item(), script);
    let handle = stage.join(registration.shutdown_grace(Duration::from_secs(20))).await;
    handle.trigger().await.unwrap();
    assert_eq!(pipe.line().await, "ready");
    handle
}

async fn shut_down(handle: &JobHandle) -> ShutdownReport {
    within("the shutdown", handle.shutdown(Duration::ZERO)).await.unwrap()
}

#[tokio::test]
async fn cancelled_script_ends_with_all_its_descendants() {
    let rows = [
        ("they end on SIGTERM", "sleep 1000 & (sleep 1000 & wait) & echo ready >&3; wait", 60),
        (
            "they clean up on SIGTERM",
            "trap 'echo tidy >&3; exit' TERM; sh -c 'echo ready >&3; exec sleep 1000' & wait",
            60,
        ),
        ("they ignore SIGTERM", "trap '' TERM; sleep 1000 & echo ready >&3; wait; wait", 1),
        (
            "one ignores SIGTERM",
            "(trap '' TERM; sleep 1000) & sleep 1000 & echo ready >&3; wait",
            1,
        ),
    ];
    for (case, command, grace) in rows {
        let (stage, mut pipe) = (Stage::new(), Pipe::new());
        let script = pipe.script(command).grace(Duration::from_secs(grace));
        let began = Instant::now();
        let handle = started(&stage, &mut pipe, script).await;

        let report = shut_down(&handle).await;

        let ending = lite::ItemEnding::Cancelled(Outcome::Interrupted);
        assert_eq!(
            report.items.iter().map(|item| item.ending).collect::<Vec<_>>(),
            [ending],
            "{case}"
        );
        let expected = if case == "they clean up on SIGTERM" { "tidy\n" } else { "" };
        assert_eq!(pipe.end().await.unwrap(), expected, "{case}");
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "{case}: the end waited for the grace in vain"
        );
    }
}

#[tokio::test]
async fn script_that_is_cancelled_from_outside_ends_with_all_its_descendants() {
    let rows = [
        (
            "they clean up on SIGTERM",
            "trap 'echo tidy >&3; exit' TERM; sh -c 'echo ready >&3; exec sleep 1000' & wait",
            60,
            "tidy\n",
        ),
        ("they ignore SIGTERM", "trap '' TERM; sleep 1000 & echo ready >&3; wait; wait", 1, ""),
    ];
    for (case, command, grace, expected) in rows {
        let (stage, mut pipe) = (Stage::new(), Pipe::new());
        let script = pipe.script(command).grace(Duration::from_secs(grace));
        let handle = started(&stage, &mut pipe, script).await;
        let mut events = handle.events();

        let items = within("the request", handle.cancel(None, "wrong month")).await.unwrap();

        assert_eq!(items.len(), 1, "{case}");
        assert_eq!(pipe.end().await.unwrap(), expected, "{case}");
        let outcome = within("the end of the run", async {
            while let Some(record) = events.next().await {
                if let lite::JobEvent::Settled { outcome, .. } = record.event {
                    return Some(outcome);
                }
            }
            None
        });
        assert_eq!(outcome.await, Some(Outcome::Cancelled), "{case}");
    }
}

#[tokio::test]
async fn dropped_run_leaves_no_process() {
    let (stage, mut pipe) = (Stage::new(), Pipe::new());
    let script = pipe.script("trap '' TERM; sleep 1000 & echo ready >&3; wait; wait");
    let _handle = started(&stage, &mut pipe, script).await;
    stage.scheduler.abort();
    assert_eq!(pipe.end().await.unwrap(), "");
}

#[tokio::test]
async fn descendants_end_with_the_script() {
    let rows = [
        ("with open output streams", "sleep 1000 & echo ready >&3"),
        ("without open output streams", "sleep 1000 > /dev/null 2>&1 & echo ready >&3"),
    ];
    for (case, command) in rows {
        let (stage, mut pipe) = (Stage::new(), Pipe::new());
        let script = pipe.script(command);
        let handle = stage.join(stage.scheduler.schedule(one_item(), script)).await;
        assert_eq!(run_once(&handle).await, Outcome::Succeeded, "{case}");
        assert_eq!(pipe.end().await.unwrap(), "ready\n", "{case}");
    }
}

/// A process that calls `setsid` leaves a zombie in the group of the script, and never waits for
/// it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn zombies_do_not_delay_the_end_of_a_run() {
    let (folder, path) = folder();
    for pipe in ["gate", "up"] {
        assert!(Command::new("mkfifo").arg(folder.path().join(pipe)).status().unwrap().success());
    }
    // `cat` ends when the test closes this end of the pipe.
    let gate = folder.path().join("gate");
    let gate = std::fs::File::options().read(true).write(true).open(gate).unwrap();
    let command = r#"(true & exec setsid sh -c "echo > up; exec cat gate") > /dev/null 2>&1 & read line < up"#;
    let script = Script::shell(command).directory(path).grace(Duration::from_secs(50));
    let began = Instant::now();
    let (outcome, log) = Stage::run(script).await;
    let took = began.elapsed();
    drop(gate);
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
    assert!(took < Duration::from_secs(30), "the run waited for the grace: {took:?}");
}

#[tokio::test]
async fn timed_out_script_is_ended_and_its_output_is_in_the_error() {
    let mut pipe = Pipe::new();
    let script = pipe.script("echo got so far; sleep 1000 & wait");
    let (outcome, log) = Stage::run_with(one_item(), script, |registration| {
        registration.timeout(Duration::from_secs(3)).shutdown_grace(Duration::from_secs(20))
    })
    .await;
    assert_eq!(outcome, Outcome::TimedOut, "{log}");
    assert!(log.contains(r"/bin/sh was ended; its last lines:\ngot so far"), "{log}");
    assert_eq!(pipe.end().await.unwrap(), "");
}

#[test]
fn check_program_searches_like_a_run() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, path) = folder();
    for (name, mode) in [("tool", 0o755), ("data", 0o644)] {
        let file = folder.path().join(name);
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let in_path = |script: Script| script.env("PATH", SecretText::literal(&path));
    let rows = [
        (Script::new("sh"), None),
        (Script::shell("x"), None),
        (in_path(Script::new("tool")), None),
        (Script::new("./tool").directory(&path), None),
        (Script::new(format!("{path}/tool")), None),
        (Script::new("sh").inherits_environment(false), None),
        (in_path(Script::new("sh")), Some(format!("in PATH, which is {path}"))),
        (in_path(Script::new("data")), Some("\"data\"; valid is an executable".to_owned())),
        (Script::new("tool"), Some("\"tool\"; valid is an executable file in PATH".to_owned())),
        (Script::new("./tool"), Some("tool does not exist".to_owned())),
        (Script::new("./data").directory(&path), Some("data is none".to_owned())),
        (Script::new(&path), Some("is none".to_owned())),
        (
            Script::new("sh").directory("/no/such"),
            Some("script.directory is \"/no/such\"".to_owned()),
        ),
    ];
    for (n, (script, expected)) in rows.into_iter().enumerate() {
        let case = format!("row {n}: {:?}", script.argv().collect::<Vec<_>>());
        match (script.check_program(), expected) {
            (Ok(()), None) => {}
            (Err(error), Some(part)) => {
                assert!(error.to_string().contains(&part), "{case}: {error}")
            }
            (found, expected) => panic!("{case}: {found:?}, not {expected:?}"),
        }
    }
}

#[test]
fn command_lines_are_split_by_documented_rules() {
    let rows: [(&str, Option<&[&str]>); 9] = [
        ("a b\tc\nd", Some(&["a", "b", "c", "d"])),
        ("  a  ", Some(&["a"])),
        ("a ''", Some(&["a", ""])),
        ("a 'b c'd\"e f\"", Some(&["a", "b cde f"])),
        (r#"a "\$b \x \\" \x"#, Some(&["a", r"$b \x \", "x"])),
        ("a #b", Some(&["a"])),
        ("", None),
        ("a 'b", None),
        ("'' b", None),
    ];
    for (line, expected) in rows {
        let script = Script::parse(line);
        let found = script.as_ref().ok().map(|script| script.argv().collect::<Vec<_>>());
        assert_eq!(found.as_deref(), expected, "{line}");
    }
}
