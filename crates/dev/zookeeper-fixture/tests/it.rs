//! All tests from outside, as one program.

mod parent_death;
mod server;
