#![doc = include_str!("../README.md")]

mod act;
mod change;
mod error;
mod operations;
mod reader;
mod snapshot;
mod statistics;
mod validate;
mod watch;

pub use act::{
    DrainMode, Drained, FieldChange, ItemRun, Removal, RemovalPreview, RequestedRun, Scope,
    StoredConfig, Triggered, Updated, differences,
};
pub use change::{By, Entry, Recorded, Report};
pub use error::{Error, Result};
pub use operations::Operations;
pub use reader::{Namespace, ReadBounds};
pub use snapshot::JobSnapshot;
pub use statistics::{
    ItemBrief, ItemState, JobBrief, JobState, ServerBrief, ServerJob, item_brief, item_briefs,
    job_brief, job_briefs, job_state, jobs_of_server, server_briefs,
};
pub use validate::{schedule_of, validate};
