//! All tests from outside, as one program.

mod proxy;
