#![doc = include_str!("../README.md")]

#[cfg(unix)]
mod allow;
mod dataflow;
#[cfg(unix)]
mod file;
mod http;
#[cfg(unix)]
mod script;
#[cfg(unix)]
mod stored;

#[cfg(unix)]
pub use allow::Allow;
pub use dataflow::{Dataflow, DataflowJob, Progress, ProgressBoard, Streaming};
#[cfg(unix)]
pub use file::{DeclaredJob, JobFile, JobFileError};
pub use http::{Http, HttpError, HttpJob};
pub use outbound::{Invalid, SecretError, SecretText};
#[cfg(unix)]
pub use script::{Script, ScriptContext, ScriptError, ScriptLauncher};
#[cfg(unix)]
pub use stored::{StoredJob, StoredJobError};
