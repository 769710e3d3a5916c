//! How a script can fail.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use crate::SecretError;

/// Why a script did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The program could not be started.
    #[error("{program} could not be started")]
    Start {
        /// Which program.
        program: String,
        /// What the operating system says.
        #[source]
        source: std::io::Error,
    },
    /// A variable of its environment could not be set.
    #[error("{program} was not started: its variable {name} cannot be set")]
    Environment {
        /// Which program.
        program: String,
        /// Which variable.
        name: String,
        /// The reference that leads nowhere.
        source: SecretError,
    },
    /// It ended with a status other than 0, or by a signal.
    #[error("{program} ended with {}{}", Shown(*.status), LastLines(.tail))]
    Failed {
        /// Which program.
        program: String,
        /// How.
        status: ExitStatus,
        /// The last lines that it printed.
        tail: String,
    },
    /// How it ended is not known, because its launcher is gone.
    #[error("{program} ended without a status")]
    Lost {
        /// Which program.
        program: String,
        /// What happened to the launcher.
        #[source]
        source: std::io::Error,
    },
    /// It was ended, because the run was cancelled or its time was over.
    #[error("{program} was ended{}", LastLines(.tail))]
    Ended {
        /// Which program.
        program: String,
        /// The last lines that it printed.
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
