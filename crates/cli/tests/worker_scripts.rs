//! Scripts of a worker that is killed, and of a worker that is the first process of a container.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use procfs::process::{Process, Stat, all_processes};
use tokio::process::Command;

use crate::launched::{Pipe, mkfifo};
use crate::worker::{Worker, ejob, run, within};

/// Polls a condition for which there is no event.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    within(what, async {
        let mut look = tokio::time::interval(Duration::from_millis(20));
        while !holds() {
            look.tick().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_of_a_killed_worker_end_unless_they_outlive_it() {
    let (mut ends, mut stays) = (Pipe::new(), Pipe::new());
    mkfifo(&stays.folder().join("gate"));
    let (of_ends, of_stays) = (ends.folder().display(), stays.folder().display());
    let file = format!(
        r#"
        [[jobs]]
        name = "ends"
        sharding_total_count = 1
        script = {{ shell = "exec 3> {of_ends}/pipe; trap '' TERM HUP; sleep 1000 & echo ready >&3; wait; wait" }}

        [[jobs]]
        name = "stays"
        sharding_total_count = 1
        script = {{ shell = "exec 3> {of_stays}/pipe; echo ready >&3; read line < gate; echo $line >&3", directory = "{of_stays}", outlives_worker = true }}
        "#
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
    let mut worker = Worker::start(folder.path(), "/killed", &[]).await;
    for (job, pipe) in [("ends", &mut ends), ("stays", &mut stays)] {
        assert!(run(folder.path(), "/killed", &["trigger", job]).await.status.success());
        assert_eq!(pipe.line().await, "ready");
    }
    within("the end of the worker", worker.child.kill()).await.unwrap();

    assert_eq!(ends.end().await, "");
    let gate = stays.folder().join("gate");
    within("a reader of the gate", tokio::fs::write(gate, "still here\n")).await.unwrap();
    assert_eq!(stays.end().await, "still here\n");
}

/// A stopped worker cannot kill the script, so only the parent-death signal of the launcher can.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn script_dies_with_its_launcher_without_the_worker() {
    let mut pipe = Pipe::new();
    let of_pipe = pipe.folder().display();
    let file = format!(
        r#"
        [[jobs]]
        name = "a"
        sharding_total_count = 1
        script = {{ shell = "exec 3> {of_pipe}/pipe; echo $PPID >&3; exec sleep 1000" }}
        "#
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
    let mut worker = Worker::start(folder.path(), "/stopped-worker", &[]).await;
    assert!(run(folder.path(), "/stopped-worker", &["trigger", "a"]).await.status.success());
    let launcher = pipe.line().await;
    worker.signal("-STOP").await;
    assert!(Command::new("kill").args(["-KILL", &launcher]).status().await.unwrap().success());
    assert_eq!(pipe.end().await, "");
    within("the end of the worker", worker.child.kill()).await.unwrap();
}

/// Returns the command that runs `ejob worker` as the first process of a PID namespace.
fn first_process(folder: &Path, namespace: &str) -> Command {
    let words = ["worker", "jobs.toml", "--server-ip", "10.0.0.1"];
    let worker = ejob(folder, namespace, &words);
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--pid", "--fork", "--mount-proc", "--kill-child"]);
    command.arg(worker.as_std().get_program()).args(worker.as_std().get_args());
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    command
}

fn children(parent: i32) -> Vec<Stat> {
    let stats = all_processes().unwrap().filter_map(|process| process.ok()?.stat().ok());
    stats.filter(|stat| stat.ppid == parent).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_process_reaps_orphans_and_forwards_signals() {
    let folder = tempfile::tempdir().unwrap();
    // The second job has no launcher, so its orphans reach the first process.
    let file = r#"
[[jobs]]
name = "leaves"
sharding_total_count = 4
script = { shell = "(sleep 1000 & sleep 1000 > /dev/null 2>&1 &); echo done", grace = "100s" }

[[jobs]]
name = "orphans"
sharding_total_count = 4
script = { shell = "(sleep 1000 & sleep 1000 > /dev/null 2>&1 &); echo done", grace = "100s", outlives_worker = true }

[[jobs]]
name = "late"
sharding_total_count = 1
timeout = "100ms"
shutdown_grace = "50s"
script = { shell = "sleep 1000; true", grace = "100s" }
"#;
    std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
    let command = first_process(folder.path(), "/first");
    let mut worker = Worker::ready(command).await;
    for job in ["leaves", "orphans"] {
        let ran = run(folder.path(), "/first", &["trigger", job, "--wait", "50s"]).await;
        let text = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(text.matches("succeeded").count(), 4, "{job}: {text}");
    }
    let ran = run(folder.path(), "/first", &["trigger", "late", "--wait", "45s"]).await;
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("timed_out"), "{text}");
    worker.logged("/bin/sh was ended").await;

    let unshare = i32::try_from(worker.child.id().unwrap()).unwrap();
    let first = children(unshare).first().unwrap().pid;
    until("the first process to have only the worker", || children(first).len() == 1).await;
    let of_worker = children(first).first().unwrap().pid;
    until("the worker to have no children", || children(of_worker).is_empty()).await;

    // From outside, a first process receives only the signals that it handles.
    let term = Command::new("kill").args(["-TERM", &first.to_string()]).status().await.unwrap();
    assert!(term.success());
    assert!(worker.line().await.starts_with("leaving: "));
    assert_eq!(worker.end().await, Some(0));
    assert!(Process::new(first).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_process_ends_with_the_status_of_its_worker() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[[jobs]]\nname='a'\nsharding_total_count=1\nscript={command='true'}\n";
    std::fs::write(folder.path().join("jobs.toml"), file).unwrap();
    let mut worker = Worker::ready(first_process(folder.path(), "/status")).await;
    let unshare = i32::try_from(worker.child.id().unwrap()).unwrap();
    let first = children(unshare).first().unwrap().pid;
    let of_worker = children(first).first().unwrap().pid.to_string();
    let kill = Command::new("kill").args(["-KILL", &of_worker]).status().await.unwrap();
    assert!(kill.success());
    assert_eq!(within("the end", worker.child.wait()).await.unwrap().code(), Some(137));
}
