#![doc = include_str!("../README.md")]

mod checks;
pub mod peers;
mod protocol;
mod stage;
#[expect(clippy::print_stdout, reason = "the suite talks to the person who runs it")]
pub mod suite;
pub mod worker;
