//! A server ends with the process that started it, for every kind of end.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const LIMIT: Duration = Duration::from_secs(60);

/// Starts a process that owns a server, and returns it with the server's address.
fn owner_of_a_server() -> (Child, BufReader<ChildStdout>, SocketAddr) {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_zookeeper-fixture"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(owner.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let address = line.trim().parse().unwrap_or_else(|_| panic!("not an address: {line:?}"));
    (owner, output, address)
}

fn is_serving(address: SocketAddr) -> bool {
    TcpStream::connect(address).and_then(|mut stream| stream.write_all(b"ruok")).is_ok()
}

fn wait_until_not_serving(address: SocketAddr) {
    let deadline = Instant::now() + LIMIT;
    while is_serving(address) {
        assert!(Instant::now() < deadline, "{address} still answers after {LIMIT:?}");
        thread::yield_now();
    }
}

#[test]
fn server_ends_when_its_owner_is_killed() {
    let (mut owner, _output, address) = owner_of_a_server();
    assert!(is_serving(address));
    owner.kill().unwrap();
    owner.wait().unwrap();
    wait_until_not_serving(address);
}

/// Without a terminal, as in the background of a script, the end of the standard input has no
/// effect.
#[test]
fn signal_stops_the_server_and_end_of_input_does_not() {
    for signal in [Signal::TERM, Signal::INT] {
        let (mut owner, _output, address) = owner_of_a_server();
        assert_eq!(owner.try_wait().unwrap(), None);
        assert!(is_serving(address));
        kill_process(Pid::from_child(&owner), signal).unwrap();
        assert!(owner.wait().unwrap().success(), "{signal:?}");
        assert!(!is_serving(address), "{signal:?}: the server ends before its owner");
    }
}
