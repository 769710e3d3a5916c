#![doc = include_str!("../README.md")]

mod checks;
pub mod peers;
mod protocol;
mod stage;
#[expect(clippy::print_stdout, reason = "the suite prints its results")]
pub mod suite;
pub mod worker;
