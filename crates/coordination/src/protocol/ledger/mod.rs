//! The item ledger: one record for each sharding item, changed only by compare-and-set.
//!
//! The record contains everything that decides about runs of the item. The instance whose write
//! succeeds has won the claim, and the sequence of records is the history of the item. A record is
//! never deleted while the job exists.

mod backfills;
mod cancels;
mod claims;
mod endings;
mod fires;
mod lifetime;
mod queue;
mod record;
mod requests;
mod run;
mod slots;

#[cfg(test)]
mod tests;

pub use backfills::Backfilled;
pub use record::{Ledger, LedgerState};
pub use requests::ManualRequest;
pub use run::{Claimant, FireRange, Outcome, Run, RunKind, RunSource};
