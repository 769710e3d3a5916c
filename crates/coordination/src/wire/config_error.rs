//! Errors of stored configurations.

use crate::{Dialect, InvalidConfig, InvalidName};

/// Reason why a stored document is no usable configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The document is empty.
    #[error("the document is empty")]
    Empty,
    /// The document is no JSON object or YAML mapping.
    #[error("the document is no {form}: {reason}")]
    Syntax {
        /// The expected form: a JSON object or a YAML mapping.
        form: &'static str,
        /// The error of the parser.
        reason: String,
    },
    /// A field has the wrong type or is missing.
    #[error("field {field} is {found}; valid is {valid}")]
    Field {
        /// The name of the field.
        field: &'static str,
        /// The value of the field, or `missing`.
        found: String,
        /// The valid values.
        valid: &'static str,
    },
    /// The document has another dialect than the job's other nodes.
    #[error("the document is of ElasticJob {found}, and the job's nodes are of {expected}")]
    Dialect {
        /// The dialect of the document.
        found: Dialect,
        /// The dialect of the job.
        expected: Dialect,
    },
    /// The job's name is not valid.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The values are not a valid configuration.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
}
