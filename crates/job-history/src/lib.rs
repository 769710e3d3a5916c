#![doc = include_str!("../README.md")]

mod audit_copier;
mod entry;
mod error;
mod fire_facts;
mod fire_outcome;
#[cfg(all(test, feature = "sqlite"))]
mod full_disk;
mod history;
mod history_queries;
mod java_rows;
mod options;
mod query;
mod queue;
mod store;
mod store_url;
mod text;
#[cfg(feature = "verify")]
mod verify;
mod writer;

pub use audit_copier::AuditCopier;
pub use error::{Error, Result};
pub use fire_outcome::FireOutcome;
pub use history::{History, HistoryStats};
pub use lite::OutputStream;
pub use options::HistoryOptions;
pub use query::{
    AuditCursor, AuditPage, AuditQuery, CompletedRun, DropRecord, EventCursor, EventPage,
    EventQuery, EventRecord, FireCursor, FirePage, FireQuery, FireRecord, InvalidCursor,
    OutcomeCount, OutputCursor, OutputPage, OutputQuery, OutputRecord, StoredAudit, all_changes,
};
pub use queue::HistorySubscriber;
pub use store::JavaFailures;
#[cfg(feature = "verify")]
pub use verify::{JudgedFire, UnjudgedPeriod, Verdict, VerdictCounts, Verification, VerifyQuery};
