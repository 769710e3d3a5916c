//! All tests from outside, as one program.

mod corpus;
mod prop_targets;
mod seeds;
