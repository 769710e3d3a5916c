//! Reason of an item's last failure, as stored in its record.

use std::fmt;
use std::sync::Arc;

use super::one_line::one_line;

/// Maximum length of a failure reason, in bytes of UTF-8.
pub const MAX_FAILURE_REASON_BYTES: usize = 256;

/// The reason of a failure: one line of 1 to 256 bytes of UTF-8, without control characters.
///
/// It is stored in the item's record, which operators can read. It is as public as the run's line
/// in the log.
///
/// # Examples
/// ```
/// use coordination::{FailureReason, MAX_FAILURE_REASON_BYTES};
///
/// let text = "exit code 3:\n  \u{1b}[31mno such table";
/// let reason = FailureReason::new(text).expect("it is not blank");
/// assert_eq!(reason.as_str(), r"exit code 3: \u{1b}[31mno such table");
/// let long = FailureReason::new(&"é".repeat(1_000)).expect("it is not blank");
/// assert!(long.as_str().len() <= MAX_FAILURE_REASON_BYTES && long.as_str().ends_with('…'));
/// assert_eq!(FailureReason::new(" \n"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FailureReason(Arc<str>);

impl FailureReason {
    /// Makes a reason of any text. `None` if the text is blank.
    ///
    /// White space becomes single spaces. Control characters and marks that change the writing
    /// direction become escapes. A text beyond [`MAX_FAILURE_REASON_BYTES`] is cut and ends with
    /// `…`.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        one_line(text, MAX_FAILURE_REASON_BYTES).map(|line| Self(line.into()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the maximum length in JSON, in bytes: only quotes and backslashes are escaped, each
    /// by one more byte.
    pub(crate) fn json_bytes(&self) -> usize {
        2 * self.0.len()
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_reason_is_one_line_without_control_characters() {
        let rows = [
            ("plain", Some("plain")),
            ("  two\r\n\tlines \n", Some("two lines")),
            ("\u{7}\u{1b}[2J", Some(r"\u{7}\u{1b}[2J")),
            ("evil\u{202E}txt.exe", Some(r"evil\u{202e}txt.exe")),
            ("每日 🚀", Some("每日 🚀")),
            ("", None),
            ("\n \t", None),
        ];
        for (text, expected) in rows {
            assert_eq!(FailureReason::new(text).as_ref().map(FailureReason::as_str), expected);
        }
    }

    proptest! {
        #[test]
        fn a_reason_is_bounded_and_idempotent(text in "\\PC{0,300}|.{0,300}") {
            if let Some(reason) = FailureReason::new(&text) {
                let shown = reason.as_str();
                prop_assert!(!shown.is_empty() && shown.len() <= MAX_FAILURE_REASON_BYTES);
                prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
                prop_assert_eq!(FailureReason::new(shown), Some(reason.clone()));
                let in_json = serde_json::to_string(shown).expect("a text is JSON").len() - 2;
                prop_assert!(in_json <= reason.json_bytes());
            }
        }
    }
}
