//! A server ends with the process that started it, for every kind of end.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::net::{SocketAddr, TcpStream};

use server_fixture::{Owner, stops_listening};

/// Starts a process that owns a server, and returns it with the server's address.
fn owner_of_a_server() -> (Owner, SocketAddr) {
    let owner = Owner::start(env!("CARGO_BIN_EXE_zookeeper-fixture")).unwrap();
    let address = owner.line().parse().unwrap();
    (owner, address)
}

#[test]
fn server_ends_when_its_owner_is_killed() {
    let (owner, address) = owner_of_a_server();
    TcpStream::connect(address).unwrap();
    owner.kill();
    assert!(stops_listening(address), "{address}");
}

/// Without a terminal, as in the background of a script, the end of the standard input has no
/// effect.
#[test]
fn signal_stops_the_server_and_end_of_input_does_not() {
    for end in [Owner::terminate, Owner::interrupt] {
        let (mut owner, address) = owner_of_a_server();
        assert!(owner.is_running().unwrap());
        TcpStream::connect(address).unwrap();
        assert!(end(owner).unwrap().success());
        assert!(
            TcpStream::connect(address).is_err(),
            "{address}: the server ends before its owner"
        );
    }
}
