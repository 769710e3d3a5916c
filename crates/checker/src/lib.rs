#![doc = include_str!("../README.md")]

pub mod blind;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "this module handles a few kinds of facts and ignores the others"
)]
mod check;
mod cron;
mod docs;
pub mod history;
mod input;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "this module handles a few kinds of facts and ignores the others"
)]
mod integrity;
mod jitter;
mod names;
mod options;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "this module handles a few kinds of facts and ignores the others"
)]
mod pass;
mod placement;
mod property;
mod replay;
mod report;
mod slot;
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "this module handles a few kinds of facts and ignores the others"
)]
pub mod svg;
mod tally;
mod timeline;
mod tree;
mod violation;

pub use check::check;
pub use cron::{Schedule, Texts, fires_between, fires_of_config};
pub use input::{History, ReadError};
pub use jitter::delay_ms;
pub use options::Options;
pub use property::Property;
pub use replay::Replay;
pub use report::{Coverage, Judged, Report, Verdict};
pub use violation::{At, Subject, Violation};
