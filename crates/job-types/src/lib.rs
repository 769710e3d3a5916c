#![doc = include_str!("../README.md")]

#[cfg(unix)]
mod allow;
mod dataflow;
#[cfg(unix)]
mod file;
#[cfg(feature = "http")]
mod http;
#[cfg(unix)]
mod script;
#[cfg(unix)]
mod stored;

#[cfg(unix)]
pub use allow::Allow;
pub use dataflow::{Dataflow, DataflowJob, Streaming};
#[cfg(unix)]
pub use file::{
    DeclaredJob, DifferentLimits, DuplicateJob, FileChecks, JobFile, JobFileError, ProcessOptions,
    declared_configs, declared_groups, entry_of,
};
#[cfg(feature = "http")]
pub use http::{Http, HttpError, HttpJob};
pub use outbound::{Invalid, SecretError, SecretText};
#[cfg(unix)]
pub use script::{Script, ScriptContext, ScriptError, ScriptLauncher};
#[cfg(unix)]
pub use stored::{StoredJob, StoredJobError};

/// Returns the error for an HTTP request in a program that can send none.
#[cfg(all(unix, not(feature = "http")))]
fn no_http(field: &str) -> Invalid {
    let valid = "a script: this program is built without the feature `http`";
    Invalid::new(field, "an HTTP request", valid)
}
