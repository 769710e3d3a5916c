#![doc = include_str!("../README.md")]

mod assess;
mod condition;
mod evaluate;
mod file;
mod memory;
mod pattern;
mod prometheus;
mod store;
mod watcher;

pub use assess::{JobAssessment, assess, assess_with_history};
pub use condition::{Condition, ConditionKind, Expectation, Severity};
pub use evaluate::{Assessment, FailedRuns, HistoryByJob, HistoryFacts, Seen, State, evaluate};
pub use file::{Heartbeat, WatchFile, WatchFileError};
pub use memory::Memory;
pub use pattern::JobPattern;
pub use prometheus::{NamespaceFacts, prometheus, with_registries};
pub use store::{Silence, SilencedJob, Silences, StoreError};
pub use watcher::{MessageCounts, StoredViolation, StoredWatch, WatchError, WatchView, Watcher};
