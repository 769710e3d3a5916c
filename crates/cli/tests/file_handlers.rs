//! Error handlers of a worker's file: faults are reported before a connection, and alerts arrive.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use zookeeper_fixture::Server;

const PATIENCE: Duration = Duration::from_secs(120);

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

fn ejob(folder: &Path, address: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command
        .current_dir(folder)
        .args(words)
        .args(["--namespace", "/handlers", "--zookeeper", address])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

async fn run(folder: &Path, address: &str, words: &[&str]) -> Output {
    within("a command", ejob(folder, address, words).output()).await.unwrap()
}

fn write(folder: &Path, handlers: &str) {
    let job =
        "name = 'fails'\nsharding_total_count = 1\nscript = { shell = 'echo no disk >&2; exit 3' }";
    std::fs::write(folder.join("jobs.toml"), format!("[[jobs]]\n{job}\n{handlers}\n")).unwrap();
}

#[tokio::test]
async fn invalid_handler_is_reported_with_file_job_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        (
            "kind = 'pager'",
            "error_handlers[0].kind is \"pager\"; valid is log, ignore, throw, email",
        ),
        ("kind = 'slack'", "error_handlers[0].url is missing; valid is set"),
        (
            "kind = 'slack', url = '${env:NO_SUCH_WEBHOOK}'",
            "error_handlers[0].url is ${env:NO_SUCH_WEBHOOK}: the environment has no variable of this name",
        ),
        (
            "kind = 'slack', url = 'https://h/t0ps3cret'",
            "error_handlers[0].url is a credential in plain text",
        ),
        (
            "kind = 'log', url = 'x'",
            "error_handlers[0].url is set; valid is nothing: log has no settings",
        ),
    ];
    for (handler, expected) in rows {
        write(folder.path(), &format!("error_handlers = [{{ {handler} }}]"));
        for words in [&["worker", "jobs.toml", "--check"][..], &["worker", "jobs.toml"]] {
            let output = run(folder.path(), "127.0.0.1:1", words).await;
            let line = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{handler}: {line}");
            let expected = format!("error: jobs.toml: line 5: job \"fails\": {expected}");
            assert!(line.starts_with(&expected), "{handler}: {line}");
            assert!(!line.contains("t0ps3cret") && line.lines().count() == 1, "{handler}: {line}");
        }
    }
}

/// Accepts one request, answers it, and returns it.
async fn request(listener: &TcpListener) -> String {
    let (stream, _) = listener.accept().await.unwrap();
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        stream.read_line(&mut head).await.unwrap();
        let line = head[start..].trim_end().to_ascii_lowercase();
        if let Some(n) = line.strip_prefix("content-length:") {
            length = n.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        .await
        .unwrap();
    head + &String::from_utf8(body).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alert_of_a_script_job_arrives() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let address = server.connect_string();
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = format!("http://{}/alerts", listener.local_addr().unwrap());
    write(
        folder.path(),
        &format!("error_handlers = [{{ kind = 'log' }}, {{ kind = 'webhook', url = '{hook}' }}]"),
    );
    let check = run(folder.path(), &address, &["worker", "jobs.toml", "--check"]).await;
    assert!(check.status.success(), "{check:?}");

    let mut command = ejob(folder.path(), &address, &["worker", "jobs.toml"]);
    let mut worker = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(worker.stdout.take().unwrap()).lines();
    let registry = within("a line", out.next_line()).await.unwrap();
    assert!(registry.is_some_and(|line| line.starts_with("registry: ")));
    let ready = within("a line", out.next_line()).await.unwrap();
    assert!(ready.as_ref().is_some_and(|line| line.starts_with("ready: fails")), "{ready:?}");
    let alert = tokio::spawn(async move { request(&listener).await });
    let trigger = run(folder.path(), &address, &["trigger", "fails", "--wait", "1m"]).await;
    assert_eq!(trigger.status.code(), Some(1), "{trigger:?}");
    let alert = within("the alert", alert).await.unwrap();
    assert!(alert.starts_with("POST /alerts HTTP/1.1\r\n"), "{alert}");
    assert!(alert.contains("\"job\":\"fails\"") && alert.contains("no disk"), "{alert}");
    within("the end", worker.kill()).await.unwrap();
}
