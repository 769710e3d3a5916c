//! Tests with real servers: serving, data across restarts, pause, leaders, and end.

use std::time::Duration;

use etcd_fixture::{Cluster, Error, Grant, Server, ServerOptions, SharedError, User};
use server_fixture::{ends_before_its_owner, ends_when_its_owner_is_killed};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn each_server_serves_on_its_own_loopback_address_and_keeps_it() {
    let mut one = Server::start().unwrap();
    let two = Server::start().unwrap();
    assert!(one.address().ip().is_loopback(), "{}", one.address());
    assert_ne!(one.address(), two.address());
    assert!(one.version().starts_with("3."), "{}", one.version());
    assert!(one.is_leader().unwrap(), "the only server leads");
    let address = one.address();
    one.kill().unwrap();
    assert!(matches!(one.is_leader(), Err(Error::NoAnswer { .. })));
    assert!(matches!(one.kill(), Err(Error::Shared(SharedError::NotRunning { .. }))));
    one.restart().unwrap();
    assert_eq!(one.address(), address);
    assert!(one.is_leader().unwrap());
}

#[test]
fn server_runs_unprivileged() {
    let server = Server::start().unwrap();
    let data = server.log_path().with_file_name("data");
    let member = std::fs::metadata(data.join("member")).unwrap();
    let owner = std::os::unix::fs::MetadataExt::uid(&member);
    assert_ne!(owner, 0, "the files of a server belong to its user");
}

#[test]
fn failed_start_quotes_the_log() {
    let error = Server::start_with(&ServerOptions::default().flag("--no-such-flag")).unwrap_err();
    let Error::Shared(SharedError::Exited { log_tail, .. }) = &error else { panic!("{error:?}") };
    assert!(log_tail.contains("no-such-flag"), "{log_tail}");
    assert!(error.to_string().contains(log_tail.as_str()), "the message quotes the log");
}

#[test]
fn start_fails_after_its_limit() {
    let options = ServerOptions::default().ready_within(Duration::ZERO);
    let error = Server::start_with(&options).unwrap_err();
    assert!(matches!(error, Error::Shared(SharedError::NotReady { .. })), "{error:?}");
}

#[test]
fn users_are_created_once() {
    let server = Server::start().unwrap();
    let user = User {
        name: "worker".into(),
        password: "s3cret".into(),
        grant: Grant::Prefix("/jobs".into()),
    };
    server.enable_users(std::slice::from_ref(&user)).unwrap();
    let again = server.enable_users(&[user]);
    assert!(matches!(again, Err(Error::Rejected { .. })), "authentication is on: {again:?}");
}

#[test]
fn cluster_elects_a_new_leader_after_a_kill() {
    let mut cluster = Cluster::start(3).unwrap();
    assert_eq!(cluster.addresses().len(), 3);
    let first = cluster.wait_for_leader(LIMIT).unwrap();
    cluster.server_mut(first).kill().unwrap();
    let second = cluster.wait_for_leader(LIMIT).unwrap();
    assert_ne!(first, second);
    cluster.launch_missing().unwrap();
    assert!(cluster.servers().iter().all(|server| server.is_leader().is_ok()));
    let error = Cluster::start(1).unwrap_err();
    assert!(matches!(error, Error::ClusterSize { n_servers: 1 }), "{error:?}");
}

#[test]
fn server_ends_when_its_owner_is_killed() {
    ends_when_its_owner_is_killed(env!("CARGO_BIN_EXE_etcd-fixture"));
}

#[test]
fn signal_stops_the_server_before_its_owner() {
    ends_before_its_owner(env!("CARGO_BIN_EXE_etcd-fixture"));
}
