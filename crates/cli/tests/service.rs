//! `ejob worker` as a service: probes of its metrics port, and notices to the service manager.

use std::path::Path;
use std::process::{Output, Stdio};

use tokio::net::UnixDatagram;
use tokio::process::Command;

use super::worker::{Worker, folder_with_gate, within};

fn ejob(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command.current_dir(folder).args(words).stdin(Stdio::null()).kill_on_drop(true);
    command
}

async fn run(folder: &Path, words: &[&str]) -> Output {
    within("a command", ejob(folder, words).output()).await.unwrap()
}

/// Asks for the health, and returns the exit code and everything that is printed.
async fn health(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = run(folder, &[&["health"], words].concat()).await;
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// Receives notices until one has the line.
async fn notified(socket: &UnixDatagram, wanted: &str) -> String {
    let receive = async {
        loop {
            let mut notice = vec![0; 4096];
            let size = socket.recv(&mut notice).await.unwrap();
            let notice = String::from_utf8_lossy(&notice[..size]).into_owned();
            if notice.lines().any(|line| line == wanted) {
                return notice;
            }
        }
    };
    within(wanted, receive).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_answers_probes_and_notifies_its_service_manager() {
    let folder = folder_with_gate();
    let path = folder.path();
    let registry = ["--registry", "sqlite:registry.db"];
    let socket = UnixDatagram::bind(path.join("notify")).unwrap();
    let words = ["worker", "jobs.toml", "--metrics-port", "0"];
    let mut command = ejob(path, &[&words[..], &registry].concat());
    command.env("NOTIFY_SOCKET", path.join("notify")).env("WATCHDOG_USEC", "200000");
    let mut worker = Worker::ready(command).await;
    let port = worker.port("metrics: ").to_string();

    let notice = notified(&socket, "READY=1").await;
    assert!(notice.contains("STATUS=ready: hold on server "), "{notice}");
    for _ in 0..3 {
        notified(&socket, "WATCHDOG=1").await;
    }
    assert_eq!(health(path, &[&port]).await, (Some(0), "ready\n".to_owned()));
    assert_eq!(health(path, &[&port, "--live"]).await, (Some(0), "OK\n".to_owned()));

    let trigger = run(path, &[&["trigger", "hold"], &registry[..]].concat()).await;
    assert!(trigger.status.success(), "{trigger:?}");
    worker.logged("it has begun").await;
    worker.signal("-TERM").await;
    notified(&socket, "STOPPING=1").await;
    let leaving = format!("error: http://127.0.0.1:{port}/ready: leaving\n");
    assert_eq!(health(path, &[&port]).await, (Some(3), leaving));
    assert_eq!(health(path, &[&port, "--live"]).await, (Some(0), "OK\n".to_owned()));
    notified(&socket, "WATCHDOG=1").await;
    within("the run to wait at its gate", tokio::fs::write(path.join("gate"), "on\n"))
        .await
        .unwrap();
    assert_eq!(worker.end().await, Some(0));
    let (code, text) = health(path, &[&port]).await;
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("Connection refused"), "{text}");
}

#[cfg(feature = "console")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn console_notifies_its_service_manager() {
    let folder = tempfile::tempdir().unwrap();
    let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    let mut command = ejob(folder.path(), &["console", "--demo", "--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", folder.path().join("notify")).env("WATCHDOG_USEC", "200000");
    let console = Worker::of(command);
    let notice = notified(&socket, "READY=1").await;
    assert!(notice.contains("STATUS=console: http://127.0.0.1:"), "{notice}");
    notified(&socket, "WATCHDOG=1").await;
    console.signal("-TERM").await;
    notified(&socket, "STOPPING=1").await;
    assert_eq!(console.end().await, Some(0));
}
