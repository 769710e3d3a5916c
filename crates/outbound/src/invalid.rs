//! The error for an invalid field of a definition.

use std::fmt;

/// An invalid value of a field in a definition.
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
    /// Name of the field.
    pub field: String,
    /// Value of the field. Never a secret.
    pub value: String,
    /// Description of the valid values.
    pub valid: String,
}

impl Invalid {
    /// Creates the error from a field, its value and the valid values. `value` must not be a
    /// secret.
    pub fn new(
        field: impl Into<String>,
        value: impl fmt::Display,
        valid: impl Into<String>,
    ) -> Self {
        Self { field: field.into(), value: value.to_string(), valid: valid.into() }
    }
}
