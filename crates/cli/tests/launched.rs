//! Scripts that `ejob` launches for another program.

#[path = "../../job-types/tests/support/mod.rs"]
mod stage;

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use job_types::{Script, ScriptLauncher};
use lite::{JobHandle, Outcome};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe;

use crate::worker_scripts::until;
use stage::{Stage, one_item, run_once, within};

/// Much longer than a run that does not wait for its grace.
const LONG: Duration = Duration::from_secs(50);

fn launched(script: Script) -> Script {
    script.launcher(ScriptLauncher::program(env!("CARGO_BIN_EXE_ejob")))
}

pub(crate) fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A named pipe; it ends when no process has it open any more.
pub(crate) struct Pipe {
    folder: TempDir,
    reader: BufReader<pipe::Receiver>,
}

impl Pipe {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mkfifo(&path);
        let reader = BufReader::new(pipe::OpenOptions::new().open_receiver(path).unwrap());
        Self { folder, reader }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a launched script that opens the pipe as descriptor 3, like all of its children.
    fn script(&self, shell: &str, command: &str) -> Script {
        let script = Script::new(shell).arg("-c").arg(format!("exec 3> pipe; {command}"));
        launched(script.directory(self.folder()).grace(LONG))
    }

    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        within("a line", self.reader.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }

    /// Waits until no process has the pipe open, and returns the remaining text.
    pub(crate) async fn end(&mut self) -> String {
        let mut rest = String::new();
        within("the end of all", self.reader.read_to_string(&mut rest)).await.unwrap();
        rest
    }
}

/// Starts a script, and returns its handle and the first line that it writes.
async fn started(stage: &Stage, pipe: &mut Pipe, script: Script) -> (JobHandle, String) {
    let registration = stage.scheduler.schedule(one_item(), script);
    let handle = stage.join(registration.shutdown_grace(LONG)).await;
    handle.trigger().await.unwrap();
    let line = pipe.line().await;
    (handle, line)
}

fn kill(signal: &str, id: &str) {
    assert!(Command::new("kill").args([signal, id]).status().unwrap().success());
}

#[tokio::test]
async fn launched_script_ends_with_the_status_of_its_program() {
    let rows = [
        (Script::shell("exit 0"), Outcome::Succeeded, ""),
        (Script::new("true"), Outcome::Succeeded, ""),
        (
            Script::shell("echo one; exit 3"),
            Outcome::Failed,
            r"ended with status 3; its last lines:\none",
        ),
        (Script::shell("kill -9 $$"), Outcome::Failed, "ended with signal 9, and printed nothing"),
        (
            Script::new("/no/such/program"),
            Outcome::Failed,
            "/no/such/program could not be started: No such file or directory",
        ),
        (Script::new("/etc/passwd"), Outcome::Failed, "could not be started: Permission denied"),
        (
            Script::new("true").directory("/no/such/folder"),
            Outcome::Failed,
            "true could not be started: No such file or directory",
        ),
        (Script::shell("read line; [ $? = 1 ]"), Outcome::Succeeded, ""),
    ];
    for (script, expected, message) in rows {
        let case = format!("{:?}", script.argv().collect::<Vec<_>>());
        let (outcome, log) = Stage::run(launched(script)).await;
        assert_eq!(outcome, expected, "{case}: {log}");
        assert!(log.contains(message), "{case}: {log}");
    }
}

#[tokio::test]
async fn program_that_is_no_launcher_is_an_error() {
    let script = Script::new("true").launcher(ScriptLauncher::program("/bin/echo"));
    let (outcome, log) = Stage::run(script).await;
    assert_eq!(outcome, Outcome::Failed, "{log}");
    assert!(log.contains("its launcher reported nothing; valid is a program that calls"), "{log}");
}

#[tokio::test]
async fn launched_run_kills_its_processes_without_waiting_for_the_grace() {
    let rows = [
        ("processes with its streams", "sh", "sleep 1000 & echo ready >&3"),
        ("processes without its streams", "sh", "sleep 1000 > /dev/null 2>&1 & echo ready >&3"),
        (
            "a separate process group",
            "bash",
            "set -m; sleep 1000 > /dev/null 2>&1 & echo ready >&3",
        ),
        ("orphans", "sh", "(sleep 1000 & sleep 1000 &) > /dev/null 2>&1; echo ready >&3"),
    ];
    for (case, shell, command) in rows {
        let (stage, mut pipe) = (Stage::new(), Pipe::new());
        let script = pipe.script(shell, command);
        let handle = stage.join(stage.scheduler.schedule(one_item(), script)).await;
        let began = Instant::now();
        assert_eq!(run_once(&handle).await, Outcome::Succeeded, "{case}");
        assert!(began.elapsed() < LONG / 2, "{case}: {:?}", began.elapsed());
        assert_eq!(pipe.end().await, "ready\n", "{case}");
    }
}

/// `cat` has its own session, so it is not part of the run, and never reads its zombie's status.
#[tokio::test]
async fn launched_run_does_not_wait_for_zombies_or_other_sessions() {
    let folder = tempfile::tempdir().unwrap();
    mkfifo(&folder.path().join("gate"));
    mkfifo(&folder.path().join("up"));
    let gate = folder.path().join("gate");
    let gate = File::options().read(true).write(true).open(gate).unwrap();
    let command = r#"(true & exec setsid sh -c "echo > up; exec cat gate > out") > /dev/null 2>&1 & read line < up"#;
    let script = launched(Script::shell(command).directory(folder.path()).grace(LONG));
    let began = Instant::now();
    let (outcome, log) = Stage::run(script).await;
    let took = began.elapsed();
    std::io::Write::write_all(&mut &gate, b"it stayed\n").unwrap();
    let out = folder.path().join("out");
    until("the other session to continue", || {
        std::fs::read_to_string(&out).is_ok_and(|text| text == "it stayed\n")
    })
    .await;
    drop(gate);
    assert_eq!(outcome, Outcome::Succeeded, "{log}");
    assert!(took < LONG / 2, "the run waited for the grace: {took:?}");
}

#[tokio::test]
async fn cancelled_launched_script_can_clean_up_within_its_grace() {
    let rows = [
        (
            "the script cleans up",
            "trap 'echo tidy >&3; exit' TERM; sh -c 'echo ready >&3; exec sleep 1000' & wait",
            LONG,
            "tidy\n",
        ),
        (
            "one process ignores the signal",
            "(trap '' TERM; echo ready >&3; exec sleep 1000) & wait",
            Duration::from_secs(1),
            "",
        ),
    ];
    for (case, command, grace, expected) in rows {
        let (stage, mut pipe) = (Stage::new(), Pipe::new());
        let script = pipe.script("sh", command).grace(grace);
        let began = Instant::now();
        let (handle, _) = started(&stage, &mut pipe, script).await;
        within("the shutdown", handle.shutdown(Duration::ZERO)).await.unwrap();
        assert_eq!(pipe.end().await, expected, "{case}");
        assert!(began.elapsed() < LONG / 2, "{case}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn dropped_launched_run_is_killed() {
    let (stage, mut pipe) = (Stage::new(), Pipe::new());
    let script = pipe.script("sh", "trap '' TERM; sleep 1000 & echo ready >&3; wait; wait");
    let _started = started(&stage, &mut pipe, script).await;
    stage.scheduler.abort();
    assert_eq!(pipe.end().await, "");
}

#[tokio::test]
async fn launcher_forwards_signals() {
    let (stage, mut pipe) = (Stage::new(), Pipe::new());
    let script =
        pipe.script("sh", "trap 'echo heard >&3; exit' USR1; echo $PPID >&3; sleep 1000 & wait");
    let (_handle, launcher) = started(&stage, &mut pipe, script).await;
    kill("-USR1", &launcher);
    assert_eq!(pipe.end().await, "heard\n");
}

/// The launcher may be killed before it has reported that the script runs.
#[tokio::test]
async fn script_that_kills_its_launcher_at_once_leaves_no_process() {
    let (log, _guard) = stage::Log::listen();
    let stage = Stage::new();
    let mut pipe = Pipe::new();
    let script = pipe.script("sh", "sleep 1000 & echo on >&3; kill -9 $PPID; wait");
    let handle = stage.join(stage.scheduler.schedule(one_item(), script)).await;
    for _ in 0..30 {
        assert_eq!(run_once(&handle).await, Outcome::Failed);
        assert_eq!(pipe.line().await, "on");
    }
    assert_eq!(pipe.end().await, "");
    let expected = "sh ended without a status: the launcher was killed, and the script with it";
    assert!(log.text().contains(expected), "{}", log.text());
}

#[tokio::test]
async fn killed_launcher_ends_its_script() {
    let (log, _guard) = stage::Log::listen();
    let (stage, mut pipe) = (Stage::new(), Pipe::new());
    let script = pipe.script("sh", "sleep 1000 & echo $PPID >&3; wait");
    let (handle, launcher) = started(&stage, &mut pipe, script).await;
    let mut events = handle.events();
    kill("-KILL", &launcher);
    assert_eq!(pipe.end().await, "");
    within("the end of the run", async {
        while let Some(record) = events.next().await {
            if let lite::JobEvent::Settled { outcome, .. } = record.event {
                assert_eq!(outcome, Outcome::Failed);
                return;
            }
        }
    })
    .await;
    let expected = "sh ended without a status: the launcher was killed, and the script with it";
    assert!(log.text().contains(expected), "{}", log.text());
}
