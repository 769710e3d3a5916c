#![doc = include_str!("../README.md")]

#[cfg(unix)]
mod allow;
mod dataflow;
#[cfg(unix)]
mod file;
mod http;
mod invalid;
#[cfg(unix)]
mod script;
mod secret;
#[cfg(unix)]
mod stored;

#[cfg(unix)]
pub use allow::Allow;
pub use dataflow::{Dataflow, DataflowJob, Progress, ProgressBoard, Streaming};
#[cfg(unix)]
pub use file::{DeclaredJob, JobFile, JobFileError};
pub use http::{Http, HttpError, HttpJob};
pub use invalid::Invalid;
#[cfg(unix)]
pub use script::{Script, ScriptError};
pub use secret::{SecretError, SecretText};
#[cfg(unix)]
pub use stored::{StoredJob, StoredJobError};
