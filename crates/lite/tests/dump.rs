//! The dump port over TCP, with the requests of the Java client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lite::{DumpOptions, Error, JobBuilder, Scheduler, job_fn};
use reg_center::MemoryRegistry;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn request(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn scheduler() -> Scheduler {
    let registry = Arc::new(MemoryRegistry::new().connect());
    let builder = Scheduler::builder(registry).server_ip("10.0.0.7").unwrap();
    let scheduler = builder.instance_name("4123").build().unwrap();
    let config = JobBuilder::new("report", 2).build().unwrap();
    let handle = scheduler.schedule(config, job_fn(|_| async { Ok(()) })).await.unwrap();
    handle.joined().await.unwrap();
    scheduler
}

#[tokio::test]
async fn requests_of_both_dialects_are_answered_with_the_masked_nodes() {
    let scheduler = scheduler().await;
    let options = DumpOptions::on_port(0).job("report");
    let listener = scheduler.listen_for_dumps(options).await.unwrap();
    for line in ["dump@report\n", "dump\n", "DUMP\r\n"] {
        let dump = request(listener.local_addr(), line).await;
        let lines: Vec<&str> = dump.lines().collect();
        for node in ["/report/instances/ip1@-@4123 | RUST", "/report/servers/ip1 | "] {
            assert!(lines.contains(&node), "{line:?}: {node:?} is missing in\n{dump}");
        }
        assert!(!dump.contains("10.0.0.7"), "{line:?}: {dump}");
    }
    scheduler.abort();
}

#[tokio::test]
async fn an_invalid_request_is_answered_with_the_reason() {
    let scheduler = scheduler().await;
    let listener = scheduler.listen_for_dumps(DumpOptions::on_port(0)).await.unwrap();
    let rows = [
        ("ruok\n", "error: the request is \"ruok\""),
        ("dump\n", "error: the request is `dump`, and no job was chosen"),
        ("dump@other\n", "error: the registry has no job other"),
    ];
    for (line, expected) in rows {
        let answer = request(listener.local_addr(), line).await;
        assert!(answer.starts_with(expected), "{line:?}: {answer:?}");
        assert_eq!(answer.matches('\n').count(), 1, "one line: {answer:?}");
    }
    scheduler.abort();
}

#[tokio::test]
async fn a_silent_client_is_disconnected_when_another_connection_arrives() {
    let scheduler = scheduler().await;
    let options = DumpOptions::on_port(0).max_connections(1).deadline(Duration::from_secs(3600));
    let listener = scheduler.listen_for_dumps(options).await.unwrap();
    let mut silent = TcpStream::connect(listener.local_addr()).await.unwrap();
    let dump = request(listener.local_addr(), "dump@report\n").await;
    assert!(dump.contains("/report/config | "), "{dump:?}");
    let mut nothing = Vec::new();
    silent.read_to_end(&mut nothing).await.unwrap();
    assert_eq!(nothing, b"");
    scheduler.abort();
}

#[tokio::test]
async fn a_silent_client_is_disconnected_at_the_deadline() {
    let scheduler = scheduler().await;
    let options = DumpOptions::on_port(0).deadline(Duration::from_millis(50));
    let listener = scheduler.listen_for_dumps(options).await.unwrap();
    let mut silent = TcpStream::connect(listener.local_addr()).await.unwrap();
    let mut nothing = Vec::new();
    silent.read_to_end(&mut nothing).await.unwrap();
    assert_eq!(nothing, b"");
    scheduler.abort();
}

/// Held feeds deliver no snapshot, as a registry without a connection.
#[tokio::test]
async fn a_job_that_cannot_be_read_in_time_is_answered_with_an_error() {
    let registry = Arc::new(MemoryRegistry::new().connect());
    let scheduler = Scheduler::builder(registry.clone()).server_ip("10.0.0.7").unwrap();
    let scheduler = scheduler.instance_name("4123").build().unwrap();
    registry.hold_feeds();
    let options = DumpOptions::on_port(0).deadline(Duration::from_millis(400));
    let listener = scheduler.listen_for_dumps(options).await.unwrap();
    let answer = request(listener.local_addr(), "dump@report\n").await;
    assert_eq!(answer, "error: the registry did not deliver job report within 300ms\n");
    scheduler.abort();
}

#[tokio::test]
async fn a_port_is_closed_with_its_listener() {
    let scheduler = scheduler().await;
    let listener = scheduler.listen_for_dumps(DumpOptions::on_port(0)).await.unwrap();
    let address = listener.local_addr();
    let mut waiting = TcpStream::connect(address).await.unwrap();
    drop(listener);
    let mut nothing = Vec::new();
    // The connection may be closed before or after it was accepted.
    let _ = waiting.read_to_end(&mut nothing).await;
    assert_eq!(nothing, b"");
    let again = scheduler.listen_for_dumps(DumpOptions::at(address)).await.unwrap();
    assert_eq!(again.local_addr(), address);
    scheduler.abort();
}

#[tokio::test]
async fn an_invalid_option_is_named_in_the_error() {
    let scheduler = scheduler().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let failed = scheduler.listen_for_dumps(DumpOptions::at(address)).await.unwrap_err();
    assert!(matches!(failed, Error::Listen { .. }), "{failed:?}");
    assert_eq!(failed.to_string(), format!("cannot listen for dumps at {address}"));

    let no_place = DumpOptions::on_port(0).max_connections(0);
    let failed = scheduler.listen_for_dumps(no_place).await.unwrap_err();
    assert_eq!(failed.as_invalid_config().map(|error| error.field), Some("max_connections"));

    let failed = scheduler.listen_for_dumps(DumpOptions::on_port(0).job("a/b")).await.unwrap_err();
    assert!(matches!(failed, Error::Name(_)), "{failed:?}");
    scheduler.abort();
}
