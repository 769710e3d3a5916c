//! All tests from outside, as one program.

mod faults;
mod smoke;
mod support;
mod txnlog;
