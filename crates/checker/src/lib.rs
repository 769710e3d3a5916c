#![doc = include_str!("../README.md")]

pub mod blind;
mod check;
mod cron;
mod docs;
pub mod history;
mod input;
mod integrity;
mod names;
mod options;
mod pass;
mod property;
mod replay;
mod report;
mod tally;
mod timeline;
mod tree;
mod violation;

pub use check::check;
pub use input::{History, ReadError};
pub use options::Options;
pub use property::Property;
pub use replay::Replay;
pub use report::{Coverage, Judged, Report, Verdict};
pub use violation::{At, Subject, Violation};
