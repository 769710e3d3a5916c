//! Errors of options.

/// An option that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} is {value}; valid: {valid}")]
pub struct OptionsError {
    option: &'static str,
    value: String,
    valid: String,
}

impl OptionsError {
    pub(super) fn new(option: &'static str, value: &str, valid: impl Into<String>) -> Self {
        Self::described(option, format!("{value:?}"), valid)
    }

    /// Returns an error whose value is described in words.
    pub(super) fn described(option: &'static str, value: String, valid: impl Into<String>) -> Self {
        Self { option, value, valid: valid.into() }
    }

    /// Returns an error that does not show the value.
    pub(super) fn hidden(option: &'static str, valid: &'static str) -> Self {
        Self::described(option, "(hidden)".to_owned(), valid)
    }

    /// Returns the name of the option.
    #[must_use]
    pub fn option(&self) -> &'static str {
        self.option
    }
}
