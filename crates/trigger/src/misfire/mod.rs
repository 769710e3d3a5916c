//! What becomes of fires that could not run when they were due.
//!
//! In reading order: `policy`, `fire_range` (fires by name), `situation` (what a decision depends
//! on), `decision` (what it says), `decide` (how it is made).

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
