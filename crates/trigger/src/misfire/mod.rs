//! Decisions about fires that could not run when they were due.
//!
//! In reading order: `policy`, `fire_range` (consecutive fires), `situation` (input of a decision),
//! `decision` (its result), `decide` (the decision).

mod decide;
mod decision;
mod fire_range;
mod policy;
mod situation;

pub use decide::decide;
pub use decision::{FireVerdict, MisfireDecision, SkipReason};
pub use fire_range::{FireCount, FireRange};
pub use policy::MisfirePolicy;
pub use situation::Situation;
