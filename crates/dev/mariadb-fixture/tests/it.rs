//! Tests with real servers: data across restarts, errors, users, TLS, passwords, end.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;
use std::time::Duration;

use mariadb_fixture::{Authority, Error, Server, ServerOptions};
use server_fixture::{ends_before_its_owner, ends_when_its_owner_is_killed};

#[test]
fn data_survive_stop_and_kill_on_the_same_address() {
    let mut server = Server::start().unwrap();
    let address = server.address();
    assert!(address.ip().is_loopback(), "{address}");
    server.query("CREATE DATABASE d; CREATE TABLE d.t (x int)").unwrap();
    server.query("INSERT INTO d.t VALUES (1)").unwrap();
    server.restart().unwrap();
    server.query("INSERT INTO d.t VALUES (2)").unwrap();
    server.kill().unwrap();
    assert!(matches!(server.kill(), Err(Error::NotRunning { .. })));
    assert!(matches!(server.query("SELECT 1"), Err(Error::Program { .. })));
    server.restart().unwrap();
    assert_eq!(server.address(), address);
    assert_eq!(server.query("SELECT sum(x), count(*) FROM d.t").unwrap(), "3\t2");
}

#[test]
fn server_has_one_user_no_socket_and_no_privileges_on_this_machine() {
    let server = Server::start().unwrap();
    let users = server.query("SELECT user, host FROM mysql.user ORDER BY user").unwrap();
    assert_eq!(users, "mariadb.sys\tlocalhost\nroot\t%");
    assert_eq!(server.query("SELECT @@socket").unwrap(), "");
    let data = std::fs::metadata(server.log_path().with_file_name("data").join("mysql")).unwrap();
    assert_ne!(data.uid(), 0, "the files of a server belong to its user");
}

#[test]
fn failed_start_quotes_the_log() {
    let options = ServerOptions::default().setting("max_connections", "soon");
    let error = Server::start_with(&options).unwrap_err();
    let Error::Exited { log_tail, .. } = &error else { panic!("{error:?}") };
    assert!(log_tail.contains("max_connections"), "{log_tail}");
}

#[test]
fn start_fails_after_its_limit() {
    let options = ServerOptions::default().ready_within(Duration::ZERO);
    let error = Server::start_with(&options).unwrap_err();
    assert!(matches!(error, Error::NotReady { awaited: "serving", .. }), "{error:?}");
}

#[test]
fn password_is_required_and_never_shown() {
    let authority = Authority::new("the test's own");
    let password = r"s3cret'\";
    let options = ServerOptions::default().password(password).tls(&authority);
    let server = Server::start_with(&options).unwrap();
    let cipher = server.query("SHOW SESSION STATUS LIKE 'Ssl_version'").unwrap();
    assert!(cipher.starts_with("Ssl_version\tTLSv1."), "{cipher}");
    assert!(!format!("{server:?} {}", server.url()).contains("s3cret"));
    let error = server.query("SELECT nonsense").unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("nonsense") && !shown.contains("s3cret"), "{shown}");
    let address = server.address();
    let rows = [
        ("both", password, "--ssl", true),
        ("no password", "", "--ssl", false),
        ("no TLS", password, "--skip-ssl", false),
    ];
    for (case, password, tls, expected) in rows {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--protocol=TCP", "--user=root", "--execute=SELECT 1"]);
        client.arg(format!("--host={}", address.ip())).arg(format!("--port={}", address.port()));
        let output = client.arg(tls).env("MYSQL_PWD", password).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), expected, "{case}: {message}");
        assert_eq!(message.contains("Access denied"), !expected, "{case}: {message}");
    }
}

#[test]
fn server_ends_when_its_owner_is_killed() {
    ends_when_its_owner_is_killed(env!("CARGO_BIN_EXE_mariadb-fixture"));
}

#[test]
fn signal_stops_the_server_before_its_owner() {
    ends_before_its_owner(env!("CARGO_BIN_EXE_mariadb-fixture"));
}
