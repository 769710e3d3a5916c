//! Cron expressions in the dialect of Quartz 2.3.2, and their fire times in a time zone.
//!
//! In reading order: `field` (parts of an expression), `parse` and `error`, `day_rule` (days of a
//! month), `pattern` (the search), `describe`, `expression`, `schedule`.

mod day_rule;
mod describe;
mod error;
mod expression;
mod field;
mod parse;
mod pattern;
mod schedule;

pub use error::{CronParseError, CronParseErrorReason};
pub use expression::{CronCaveat, CronExpression};
pub use field::CronField;
pub use schedule::CronSchedule;
