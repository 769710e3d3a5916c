//! All tests from outside, as one program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod email;
mod http;
mod stored;
mod support;
