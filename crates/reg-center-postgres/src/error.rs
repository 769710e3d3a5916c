//! Errors of opening a registry, and failures of calls.

use std::path::PathBuf;

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

/// A call to the server that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing was written.
    NotDone {
        cause: String,
        /// The SQLSTATE of the server's error; empty if the server did not answer.
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
        Self::NotDone { cause: cause.into(), code: String::new() }
    }

    pub(crate) fn cause(&self) -> &str {
        match self {
            Self::NotDone { cause, .. } | Self::Unknown(cause) => cause,
            Self::SessionOver => "the session is over",
        }
    }

    pub(crate) fn code(&self) -> &str {
        match self {
            Self::NotDone { code, .. } => code,
            Self::Unknown(_) | Self::SessionOver => "",
        }
    }
}
