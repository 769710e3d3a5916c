//! All tests from outside, as one program.

mod scenarios;
mod scenarios_tampered;
mod sim;
mod system;
mod system_chaos;
mod system_determinism;
