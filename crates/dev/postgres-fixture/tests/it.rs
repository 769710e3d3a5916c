//! Tests with real servers: data across restarts, errors, TLS, passwords, standby, end.

use std::net::TcpStream;

use postgres_fixture::{Authority, Error, Pooler, Server, ServerOptions};
use server_fixture::{ends_before_its_owner, ends_when_its_owner_is_killed, stops_listening};

#[test]
fn data_survive_stop_and_kill_on_the_same_address() {
    let mut server = Server::start().unwrap();
    let address = server.address();
    assert!(address.ip().is_loopback(), "{address}");
    server.query("CREATE TABLE t (x int); INSERT INTO t VALUES (1)").unwrap();
    server.restart().unwrap();
    server.query("INSERT INTO t VALUES (2)").unwrap();
    server.kill().unwrap();
    assert!(matches!(server.kill(), Err(Error::NotRunning { .. })));
    assert!(matches!(server.query("SELECT 1"), Err(Error::Program { .. })));
    server.restart().unwrap();
    assert_eq!(server.address(), address);
    assert_eq!(server.query("SELECT sum(x) FROM t").unwrap(), "3");
}

#[test]
fn failed_start_quotes_the_log() {
    let options = ServerOptions::default().setting("max_connections", "soon");
    let error = Server::start_with(&options).unwrap_err();
    let Error::Exited { log_tail, .. } = &error else { panic!("{error:?}") };
    assert!(log_tail.contains("max_connections"), "{log_tail}");
}

#[test]
fn synchronous_standby_has_every_acknowledged_commit_when_it_is_promoted() {
    let mut primary = Server::start().unwrap();
    primary.query("CREATE TABLE t (x int)").unwrap();
    let standby = primary.start_synchronous_standby().unwrap();
    primary.query("INSERT INTO t VALUES (7)").unwrap();
    primary.kill().unwrap();
    let refused = standby.query("INSERT INTO t VALUES (8)").unwrap_err().to_string();
    assert!(refused.contains("read-only transaction"), "{refused}");
    standby.promote().unwrap();
    standby.query("INSERT INTO t VALUES (8)").unwrap();
    assert_eq!(standby.query("SELECT sum(x) FROM t").unwrap(), "15");
    let file = standby.query("SELECT pg_walfile_name(pg_current_wal_insert_lsn())").unwrap();
    assert!(file.starts_with("00000002"), "the timeline is the next one: {file}");
}

#[test]
fn pooler_accepts_connections_and_ends_with_its_value() {
    let server = Server::start().unwrap();
    let pooler = Pooler::start(&server).unwrap();
    let address = pooler.address();
    assert!(address.ip().is_loopback() && address.ip() != server.address().ip(), "{address}");
    TcpStream::connect(address).unwrap();
    drop(pooler);
    assert!(stops_listening(address), "{address}");
}

#[test]
fn password_is_required_and_never_shown() {
    let authority = Authority::new("the test's own");
    let options = ServerOptions::default().password("s3cret").tls(&authority);
    let server = Server::start_with(&options).unwrap();
    let tls = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert_eq!(server.query(tls).unwrap(), "t");
    assert!(!format!("{server:?} {}", server.url()).contains("s3cret"));
    let error = server.query("SELECT nonsense").unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("nonsense") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn server_ends_when_its_owner_is_killed() {
    ends_when_its_owner_is_killed(env!("CARGO_BIN_EXE_postgres-fixture"));
}

#[test]
fn signal_stops_the_server_before_its_owner() {
    ends_before_its_owner(env!("CARGO_BIN_EXE_postgres-fixture"));
}
