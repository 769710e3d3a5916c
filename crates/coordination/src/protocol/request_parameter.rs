//! What an operator tells the runs of one request.

use std::fmt;
use std::sync::Arc;

/// The longest parameter of a request, in bytes.
pub const MAX_REQUEST_PARAMETER_BYTES: usize = 4_096;

/// How many bytes one request may tell all its runs together, at most: 16 MiB. Each item's record holds the parameter until its
/// run has ended, so that it takes as much in the registry as all items together.
pub const MAX_TOLD_BYTES: usize = 16 * 1024 * 1024;

/// What the runs of one request are told beside what the configuration tells every run.
///
/// 1 to 4096 bytes of UTF-8, without control characters other than tabs and line breaks, and without U+FFFE and U+FFFF: so that
/// it fits JSON, XML, the environment of a script and a header alike. It stands in the registry as it is, in the request
/// and then in the record of each item until its run has ended: it is no place for secrets.
///
/// # Examples
/// ```
/// use coordination::RequestParameter;
///
/// assert_eq!(RequestParameter::new("2024-02-29")?.as_str(), "2024-02-29");
/// let error = RequestParameter::new("a\0b").unwrap_err();
/// assert_eq!(error.field, "parameter");
/// assert_eq!(error.value, r#""a\0b""#);
/// # Ok::<(), coordination::InvalidParameter>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestParameter(Arc<str>);

/// A text that cannot be the parameter of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; valid is {valid}")]
pub struct InvalidParameter {
    /// Which field: `parameter`.
    pub field: &'static str,
    /// What it is; of a long text how long it is.
    pub value: String,
    /// What would be valid.
    pub valid: &'static str,
}

impl RequestParameter {
    /// Checks a text.
    ///
    /// # Errors
    /// [`InvalidParameter`] names the field, its value and what would be valid.
    pub fn new(text: &str) -> Result<Self, InvalidParameter> {
        let value = match text.len() {
            0 => "empty".to_owned(),
            n if n > MAX_REQUEST_PARAMETER_BYTES => format!("a text of {n} bytes"),
            _ if !text.chars().all(is_valid) => format!("{text:?}"),
            _ => return Ok(Self(text.into())),
        };
        let valid = "1 to 4096 bytes of text, without control characters other than tabs and line breaks; \
                     leave it out if there is nothing to tell";
        Err(InvalidParameter { field: "parameter", value, valid })
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the runs of so many items can be told it by one request: together it takes [`MAX_TOLD_BYTES`] at most.
    ///
    /// # Examples
    /// ```
    /// use coordination::{MAX_TOLD_BYTES, RequestParameter};
    ///
    /// let february = RequestParameter::new("february")?;
    /// assert!(february.can_be_told_to(100_000));
    /// let longest = RequestParameter::new(&"x".repeat(4_096))?;
    /// assert!(longest.can_be_told_to(MAX_TOLD_BYTES / 4_096));
    /// assert!(!longest.can_be_told_to(MAX_TOLD_BYTES / 4_096 + 1));
    /// # Ok::<(), coordination::InvalidParameter>(())
    /// ```
    #[must_use]
    pub fn can_be_told_to(&self, items: usize) -> bool {
        self.0.len().saturating_mul(items) <= MAX_TOLD_BYTES
    }

    /// Returns how many bytes it takes in JSON at most: beside quotes, only backslashes and the three control characters
    /// that are valid are escaped, each by one more.
    pub(crate) fn json_bytes(&self) -> usize {
        2 * self.0.len()
    }
}

fn is_valid(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        c => !c.is_control(),
    }
}

impl fmt::Display for RequestParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_json_or_xml_cannot_hold_is_refused_and_named() {
        let longest = "é".repeat(MAX_REQUEST_PARAMETER_BYTES / 2);
        let too_long = format!("{longest}x");
        let rows = [
            ("plain", "2024-02", None),
            ("Unicode, and what JSON and HTML take amiss", "<'\"\\>&=\u{2028}作业🚀", None),
            ("lines", "a\tb\r\nc", None),
            ("one space", " ", None),
            ("as long as can be", longest.as_str(), None),
            ("empty", "", Some("empty")),
            ("too long", too_long.as_str(), Some("a text of 4097 bytes")),
            ("null", "a\0b", Some(r#""a\0b""#)),
            ("escape", "\u{1b}[1m", Some(r#""\u{1b}[1m""#)),
            ("delete", "\u{7f}", Some(r#""\u{7f}""#)),
            ("of the second block", "\u{85}", Some(r#""\u{85}""#)),
            ("no character", "\u{FFFE}", Some(r#""\u{fffe}""#)),
        ];
        for (case, text, value) in rows {
            let checked = RequestParameter::new(text);
            assert_eq!(
                checked.as_ref().ok().map(RequestParameter::as_str),
                value.is_none().then_some(text),
                "{case}"
            );
            assert_eq!(checked.err().map(|error| error.value).as_deref(), value, "{case}");
        }
    }

    #[test]
    fn no_text_takes_more_bytes_in_json_than_is_reckoned_with() {
        for text in ["\"", "\\\\", "\t\n\r", "ab", "作\u{2028}", "/<>&"] {
            let json = serde_json::to_string(text).unwrap();
            let reckoned = RequestParameter::new(text).unwrap().json_bytes();
            assert!(json.len() - "\"\"".len() <= reckoned, "{json}");
        }
    }
}
