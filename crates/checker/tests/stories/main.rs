//! Histories told in a few words, good and bad ones, for every property; and good ones that are spoilt at random.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod catching_up;
mod claims;
mod cluster;
mod fires;
mod harness;
mod leaks;
mod liveness;
mod runs;
mod spoilt;
mod story;
