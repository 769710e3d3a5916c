//! What is wrong with a definition.

use std::fmt;

/// A value of a definition that cannot be used.
///
/// # Examples
/// ```
/// use outbound::Invalid;
///
/// let error = Invalid::new("http.connect_timeout", "0s", "more than zero");
/// assert_eq!(error.to_string(), "http.connect_timeout is 0s; valid is more than zero");
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
    /// Names a field, its value, which must be no secret, and what would be valid.
    pub fn new(
        field: impl Into<String>,
        value: impl fmt::Display,
        valid: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), value: value.to_string(), valid: valid.into() }
    }
}
