//! A server ends with the process that started it, for every kind of end.

use server_fixture::{ends_before_its_owner, ends_when_its_owner_is_killed};

#[test]
fn server_ends_when_its_owner_is_killed() {
    ends_when_its_owner_is_killed(env!("CARGO_BIN_EXE_zookeeper-fixture"));
}

#[test]
fn signal_stops_the_server_and_end_of_input_does_not() {
    ends_before_its_owner(env!("CARGO_BIN_EXE_zookeeper-fixture"));
}
