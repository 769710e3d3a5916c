//! Tests with real servers: serving, data across restarts, pause, counts, and end.

use std::io;
use std::time::Duration;

use zookeeper_fixture::{Ensemble, Error, Server, ServerOptions, SharedError};

#[path = "support/session.rs"]
mod session;
use session::Session;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn each_server_serves_on_its_own_loopback_address() {
    let one = Server::start().unwrap();
    let two = Server::start().unwrap();
    assert!(one.address().ip().is_loopback(), "{}", one.address());
    assert_ne!(one.address(), two.address());
    assert_eq!(one.connect_string(), one.address().to_string());
    assert_eq!(one.mode().unwrap().as_deref(), Some("standalone"));
    let version = one.four_letter("srvr").unwrap();
    assert!(version.starts_with("Zookeeper version: 3."), "{version}");
}

#[test]
fn data_survive_stop_and_kill() {
    let mut server = Server::start().unwrap();
    let address = server.address();
    Session::open(address).unwrap().create("/before", b"kept").unwrap();
    server.restart().unwrap();
    assert_eq!(server.address(), address, "the address stays");
    assert_eq!(Session::open(address).unwrap().read("/before").unwrap(), b"kept");

    Session::open(address).unwrap().create("/between", b"too").unwrap();
    server.kill().unwrap();
    server.restart().unwrap();
    assert_eq!(Session::open(address).unwrap().read("/between").unwrap(), b"too");
}

#[test]
fn stopped_server_reports_not_running_until_it_is_restarted() {
    let mut server = Server::start().unwrap();
    server.stop().unwrap();
    let refusals = [
        ("stop", server.stop()),
        ("kill", server.kill()),
        ("pause", server.pause()),
        ("resume", server.resume()),
    ];
    for (action, refusal) in refusals {
        assert!(
            matches!(refusal, Err(Error::Shared(SharedError::NotRunning { .. }))),
            "{action}: {refusal:?}"
        );
    }
    assert!(matches!(server.mode(), Err(Error::NoAnswer { .. })));
    server.restart().unwrap();
    assert_eq!(server.mode().unwrap().as_deref(), Some("standalone"));
}

#[test]
fn paused_server_does_not_answer_and_keeps_its_sessions() {
    let server = Server::start().unwrap();
    let mut session = Session::open(server.address()).unwrap();
    server.pause().unwrap();
    let Err(Error::NoAnswer { source, .. }) = server.four_letter("srvr") else {
        panic!("a paused server answered");
    };
    let timed_out = matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    assert!(timed_out, "the connection is accepted without an answer: {source}");
    server.resume().unwrap();
    session.create("/after", b"").unwrap();
    assert_eq!(session.read("/after").unwrap(), b"");
}

#[test]
fn client_requests_are_counted_without_four_letter_commands() {
    let server = Server::start().unwrap();
    let before = server.request_count().unwrap();
    server.four_letter("srvr").unwrap();
    server.four_letter("cons").unwrap();
    assert_eq!(server.request_count().unwrap() - before, 0, "no client is connected");

    let mut session = Session::open(server.address()).unwrap();
    session.create("/counted", b"").unwrap();
    session.read("/counted").unwrap();
    assert_eq!(server.request_count().unwrap() - before, 3, "open, create, read");
}

#[test]
fn failed_start_quotes_the_log() {
    let error = Server::start_with(&ServerOptions::default().line("tickTime=soon")).unwrap_err();
    let Error::Shared(SharedError::Exited { log_tail, .. }) = &error else { panic!("{error:?}") };
    assert!(log_tail.contains("soon"), "{log_tail}");
    assert!(error.to_string().contains(log_tail.as_str()), "the message quotes the log");
}

#[test]
fn start_fails_after_its_limit() {
    let options = ServerOptions::default().ready_within(Duration::ZERO);
    let error = Server::start_with(&options).unwrap_err();
    assert!(matches!(error, Error::Shared(SharedError::NotReady { .. })), "{error:?}");
}

#[test]
fn server_outlives_the_thread_that_started_it() {
    let server = std::thread::spawn(|| Server::start().unwrap()).join().unwrap();
    // Pausing fails for a killed process.
    server.pause().unwrap();
    server.resume().unwrap();
    assert_eq!(server.mode().unwrap().as_deref(), Some("standalone"));
}

#[test]
fn ensemble_elects_a_new_leader_after_a_kill() {
    let mut ensemble = Ensemble::start(3).unwrap();
    assert_eq!(ensemble.connect_string().split(',').count(), 3);
    let first = ensemble.wait_for_leader(LIMIT).unwrap();
    let address = ensemble.servers()[first].address();
    Session::open(address).unwrap().create("/agreed", b"yes").unwrap();

    ensemble.server_mut(first).kill().unwrap();
    let second = ensemble.wait_for_leader(LIMIT).unwrap();
    assert_ne!(first, second);
    ensemble.server_mut(first).restart().unwrap();
    let mode = ensemble.servers()[first].mode().unwrap();
    assert_eq!(mode.as_deref(), Some("follower"), "the old leader follows the new one");
    let mut session = Session::open(address).unwrap();
    assert_eq!(session.read("/agreed").unwrap(), b"yes");
}

#[test]
fn ensemble_size_must_be_2_to_9() {
    for n_servers in [0, 1, 10] {
        let error = Ensemble::start(n_servers).unwrap_err();
        assert!(matches!(error, Error::EnsembleSize { .. }), "{n_servers}: {error:?}");
    }
}
