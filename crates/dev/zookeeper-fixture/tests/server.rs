//! A real server does what the fixture says: it serves, keeps its data, stands still and ends.

use std::io;
use std::time::Duration;

use zookeeper_fixture::{Ensemble, Error, Server, ServerOptions};

#[path = "support/session.rs"]
mod session;
use session::Session;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_server_serves_on_its_own_loopback_address() {
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
fn data_survive_a_stop_and_a_kill() {
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
fn a_stopped_server_says_so_until_it_is_restarted() {
    let mut server = Server::start().unwrap();
    server.stop().unwrap();
    let refusals = [
        ("stop", server.stop()),
        ("kill", server.kill()),
        ("pause", server.pause()),
        ("resume", server.resume()),
    ];
    for (action, refusal) in refusals {
        assert!(matches!(refusal, Err(Error::NotRunning { .. })), "{action}: {refusal:?}");
    }
    assert!(matches!(server.mode(), Err(Error::NoAnswer { .. })));
    server.restart().unwrap();
    assert_eq!(server.mode().unwrap().as_deref(), Some("standalone"));
}

#[test]
fn a_paused_server_is_silent_and_goes_on_where_it_was() {
    let server = Server::start().unwrap();
    let mut session = Session::open(server.address()).unwrap();
    server.pause().unwrap();
    let Err(Error::NoAnswer { source, .. }) = server.four_letter("srvr") else {
        panic!("a paused server answered");
    };
    let timed_out = matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    assert!(timed_out, "the connection is accepted and stays silent: {source}");
    server.resume().unwrap();
    session.create("/after", b"").unwrap();
    assert_eq!(session.read("/after").unwrap(), b"");
}

#[test]
fn requests_of_clients_are_counted_and_our_own_questions_are_not() {
    let server = Server::start().unwrap();
    let before = server.request_count().unwrap();
    server.four_letter("srvr").unwrap();
    server.four_letter("cons").unwrap();
    assert_eq!(server.request_count().unwrap() - before, 0, "nobody else is connected");

    let mut session = Session::open(server.address()).unwrap();
    session.create("/counted", b"").unwrap();
    session.read("/counted").unwrap();
    assert_eq!(server.request_count().unwrap() - before, 3, "open, create, read");
}

#[test]
fn a_server_that_cannot_start_shows_its_log() {
    let error = Server::start_with(&ServerOptions::default().line("tickTime=soon")).unwrap_err();
    let Error::Exited { log_tail, .. } = &error else { panic!("{error:?}") };
    assert!(log_tail.contains("soon"), "{log_tail}");
    assert!(error.to_string().contains(log_tail.as_str()), "the message quotes the log");
}

#[test]
fn a_server_that_never_serves_is_given_up() {
    let options = ServerOptions::default().ready_within(Duration::ZERO);
    let error = Server::start_with(&options).unwrap_err();
    assert!(matches!(error, Error::NotReady { .. }), "{error:?}");
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = std::thread::spawn(|| Server::start().unwrap()).join().unwrap();
    // Pausing looks at the process itself: it fails for one that has been killed.
    server.pause().unwrap();
    server.resume().unwrap();
    assert_eq!(server.mode().unwrap().as_deref(), Some("standalone"));
}

#[test]
fn an_ensemble_elects_another_leader_when_it_loses_its_own() {
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
fn an_ensemble_needs_at_least_two_servers() {
    for n_servers in [0, 1, 10] {
        let error = Ensemble::start(n_servers).unwrap_err();
        assert!(matches!(error, Error::EnsembleSize { .. }), "{n_servers}: {error:?}");
    }
}
