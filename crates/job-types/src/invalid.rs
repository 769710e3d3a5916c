//! What is wrong with a definition.

use std::fmt;

/// A value of a definition that cannot be used.
///
/// # Examples
/// ```
/// use job_types::Script;
///
/// let error = Script::parse("backup.sh 'unfinished").unwrap_err();
/// assert_eq!(error.field, "script.command");
/// assert!(error.to_string().starts_with("script.command is \"backup.sh 'unfinished\"; valid is "));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; valid is {valid}")]
#[non_exhaustive]
pub struct Invalid {
    /// Which field.
    pub field: String,
    /// What it is. Never a secret.
    pub value: String,
    /// What would be valid.
    pub valid: String,
}

impl Invalid {
    pub(crate) fn new(
        field: impl Into<String>,
        value: impl fmt::Display,
        valid: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), value: value.to_string(), valid: valid.into() }
    }
}
