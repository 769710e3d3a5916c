//! Inputs of placement: attributes of instances, and rules of jobs.

mod attributes;
pub(crate) mod reason;
mod rules;
mod selector;

pub use attributes::{InstanceAttributes, MAX_LABELS, MAX_WEIGHT};
pub use reason::PlacementReason;
pub use rules::{MAX_PLACEMENT_BYTES, MAX_PLACEMENT_ENTRIES, PlacementRules};
pub use selector::Selector;

/// An attribute or a rule that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} is {value:?}; valid is {valid}")]
#[non_exhaustive]
pub struct InvalidPlacement {
    /// Name of the invalid part, such as `weight`, or `rule 2, pin`.
    pub part: String,
    /// The invalid text.
    pub value: String,
    /// Description of valid texts.
    pub valid: String,
}

impl InvalidPlacement {
    pub(crate) fn new(
        part: impl Into<String>,
        value: impl ToString,
        valid: impl Into<String>,
    ) -> Self {
        Self { part: part.into(), value: value.to_string(), valid: valid.into() }
    }
}

/// Maximum length of a key or a value, in characters.
const MAX_WORD: usize = 63;

/// Valid keys and values, for messages.
const WORD: &str = "1 to 63 letters, digits or characters of `.-_/:@+`";

/// Returns true if the text can be a key or a value. Such a text needs no quotes in any stored
/// form.
fn is_word(text: &str) -> bool {
    let is_valid = |c: char| c.is_alphanumeric() || ".-_/:@+".contains(c);
    !text.is_empty() && text.chars().count() <= MAX_WORD && text.chars().all(is_valid)
}
