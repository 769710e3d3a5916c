//! Errors of opening a registry, and failures of calls.

use std::path::PathBuf;

use reg_center::{Error, NodePath};

use crate::OptionsError;

/// Reason why a registry cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An option is invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The file of the password or of a certificate cannot be read.
    #[error("{option}: cannot read {}: {cause}", path.display())]
    File {
        /// The option that names the file.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        cause: String,
    },
    /// The server cannot be reached, or does not answer.
    #[error("{server}: {cause}")]
    Unreachable {
        /// The address of the server and the database.
        server: String,
        /// The reason.
        cause: String,
    },
    /// The server has no such database.
    #[error("{server}: {cause}; create the database first")]
    NoDatabase {
        /// The address of the server and the database.
        server: String,
        /// The reason that the server gave.
        cause: String,
    },
    /// The connection cannot be protected as wanted, or the certificate of the server is not valid.
    #[error("{server}: TLS: {cause}")]
    Tls {
        /// The address of the server and the database.
        server: String,
        /// The reason.
        cause: String,
    },
    /// The server does not accept the user, the password or the certificate.
    #[error("{server}: access refused: {cause}")]
    Refused {
        /// The address of the server and the database.
        server: String,
        /// The reason that the server gave.
        cause: String,
    },
    /// The server is a standby, which takes no writes.
    #[error(
        "{server}: the server is a standby and takes no writes; connect to the primary, by its \
         name or by an address that follows it"
    )]
    Standby {
        /// The address of the server and the database.
        server: String,
    },
    /// The encoding of the database is not UTF8, so it cannot store every name.
    #[error(
        "{server}: the database has the encoding {found}, a registry needs UTF8; create a database \
         WITH ENCODING 'UTF8' TEMPLATE template0"
    )]
    Encoding {
        /// The address of the server and the database.
        server: String,
        /// The encoding of the database.
        found: String,
    },
    /// The schema is missing, and [`create_if_missing`](crate::PostgresOptions::create_if_missing)
    /// is off.
    #[error("{server}: there is no schema {schema:?} with a registry")]
    NoSchema {
        /// The address of the server and the database.
        server: String,
        /// The schema.
        schema: String,
    },
    /// The schema is missing or old, and this user may not create it.
    #[error(
        "{server}: the schema {schema:?} cannot be prepared: {cause}; connect once as a user that \
         may create it, and grant this user the rights that reg-center-postgres documents"
    )]
    Schema {
        /// The address of the server and the database.
        server: String,
        /// The schema.
        schema: String,
        /// The reason that the server gave.
        cause: String,
    },
    /// The schema has the format of a later version of this program.
    #[error(
        "{server}: the schema {schema:?} has format {found}, this program knows format {known}; \
         use the later version of the program that wrote it"
    )]
    LaterFormat {
        /// The address of the server and the database.
        server: String,
        /// The schema.
        schema: String,
        /// The format of the schema.
        found: i32,
        /// The format that this program writes.
        known: i32,
    },
}

/// SQLSTATE of a missing right.
pub(crate) const NO_RIGHT: &str = "42501";
/// SQLSTATE of a missing database.
pub(crate) const NO_DATABASE: &str = "3D000";
/// SQLSTATE of the functions: the registry is behind a revision that this program has seen.
pub(crate) const DATA_LOST: &str = "EJ002";
/// Classes of SQLSTATE by which the server refuses the values of a statement: data exceptions,
/// violated constraints, exceeded limits of the program.
const REFUSED_VALUES: [&str; 3] = ["22", "23", "54"];

/// A call to the server that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing was written, and the connection cannot be used any more.
    NotDone(String),
    /// The server refused the statement and rolled it back. The connection can be used.
    Refused {
        cause: String,
        /// The SQLSTATE of the server's error.
        code: String,
    },
    /// The write may have happened.
    Unknown(String),
    /// The session is over. Nothing was written.
    SessionOver,
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    pub(crate) fn not_done(cause: impl Into<String>) -> Self {
        Self::NotDone(cause.into())
    }

    pub(crate) fn cause(&self) -> &str {
        match self {
            Self::NotDone(cause) | Self::Refused { cause, .. } | Self::Unknown(cause) => cause,
            Self::SessionOver => "the session is over",
        }
    }

    /// Returns the SQLSTATE of the server's error; empty without one.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Refused { code, .. } => code,
            Self::NotDone(_) | Self::Unknown(_) | Self::SessionOver => "",
        }
    }

    /// Returns the error of a call if the server refuses this call alone, so that others and the
    /// session can go on. `path` is the first node of the call.
    pub(crate) fn refusal(&self, call: &'static str, path: Option<&NodePath>) -> Option<Error> {
        let Self::Refused { cause, code } = self else { return None };
        if code == NO_RIGHT {
            return Some(Error::NotAuthorized { path: path.cloned().unwrap_or(NodePath::root()) });
        }
        let is_refused = REFUSED_VALUES.iter().any(|class| code.starts_with(class));
        is_refused.then(|| Error::Rejected { call, cause: cause.clone() })
    }
}
