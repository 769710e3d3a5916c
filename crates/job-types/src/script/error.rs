//! Errors of a script.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use crate::SecretError;

/// Reason why a script did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The program could not be started.
    #[error("{program} could not be started")]
    Start {
        /// Program of the script.
        program: String,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// A variable of its environment could not be resolved.
    #[error("{program} was not started: its variable {name} cannot be set")]
    Environment {
        /// Program of the script.
        program: String,
        /// Name of the variable.
        name: String,
        /// The reference that cannot be resolved.
        source: SecretError,
    },
    /// The program ended with a status other than 0, or by a signal.
    #[error("{program} ended with {}{}", Shown(*.status), LastLines(.tail))]
    Failed {
        /// Program of the script.
        program: String,
        /// Exit status or signal.
        status: ExitStatus,
        /// Last lines of the output.
        tail: String,
    },
    /// The exit status is unknown, because the launcher is gone.
    #[error("{program} ended without a status")]
    Lost {
        /// Program of the script.
        program: String,
        /// Reason of the end of the launcher.
        #[source]
        source: std::io::Error,
    },
    /// The worker ended the program, because the run was cancelled or timed out.
    #[error("{program} was ended{}", LastLines(.tail))]
    Ended {
        /// Program of the script.
        program: String,
        /// Last lines of the output.
        tail: String,
    },
}

struct Shown(ExitStatus);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "status {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => write!(f, "{}", self.0),
        }
    }
}

struct LastLines<'a>(&'a str);

impl fmt::Display for LastLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str(", and printed nothing"),
            tail => write!(f, "; its last lines:\n{tail}"),
        }
    }
}
