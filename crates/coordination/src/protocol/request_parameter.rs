//! Parameter of a manual request, which its runs get.

use std::fmt;
use std::sync::Arc;

/// Maximum length of the parameter of a request, in bytes.
pub const MAX_REQUEST_PARAMETER_BYTES: usize = 4_096;

/// Maximum size of the parameter of one request in the records of all of its items together: 16
/// MiB.
///
/// Each record holds the parameter until its run has ended, so that the registry stores it once for
/// each item.
pub const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// The parameter that the runs of one request get, in addition to the job's configured parameter.
///
/// 1 to 4096 bytes of UTF-8, without U+FFFE, U+FFFF and control characters other than tabs and line
/// breaks. So it is valid in JSON, XML, environment variables and headers.
///
/// It is stored in plain text, in the request and in the record of each item until its run has
/// ended. Do not put secrets into it.
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
#[non_exhaustive]
pub struct InvalidParameter {
    /// Name of the field: `parameter`.
    pub field: &'static str,
    /// The value, or the length of a long one.
    pub value: String,
    /// Description of valid values.
    pub valid: &'static str,
}

impl RequestParameter {
    /// Checks a text.
    ///
    /// # Errors
    /// [`InvalidParameter`] names the field, its value and the valid values.
    pub fn new(text: &str) -> Result<Self, InvalidParameter> {
        let value = match text.len() {
            0 => "empty".to_owned(),
            n if n > MAX_REQUEST_PARAMETER_BYTES => format!("a text of {n} bytes"),
            _ if !text.chars().all(is_valid) => format!("{text:?}"),
            _ => return Ok(Self(text.into())),
        };
        let valid = "1 to 4096 bytes of text, without control characters other than tabs and line \
                     breaks; omit the parameter if the runs need none";
        Err(InvalidParameter { field: "parameter", value, valid })
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if one request can pass the parameter to this number of items: together it
    /// takes at most [`MAX_REQUEST_BYTES`].
    ///
    /// # Examples
    /// ```
    /// use coordination::{MAX_REQUEST_BYTES, RequestParameter};
    ///
    /// let february = RequestParameter::new("february")?;
    /// assert!(february.fits_items(100_000));
    /// let longest = RequestParameter::new(&"x".repeat(4_096))?;
    /// assert!(longest.fits_items(MAX_REQUEST_BYTES / 4_096));
    /// assert!(!longest.fits_items(MAX_REQUEST_BYTES / 4_096 + 1));
    /// # Ok::<(), coordination::InvalidParameter>(())
    /// ```
    #[must_use]
    pub fn fits_items(&self, items: usize) -> bool {
        self.0.len().saturating_mul(items) <= MAX_REQUEST_BYTES
    }

    /// Returns the maximum length in JSON, in bytes.
    ///
    /// Beside quotes, only backslashes and the three valid control characters are escaped, each by
    /// one more byte.
    pub(crate) fn json_bytes(&self) -> usize {
        2 * self.0.len()
    }
}

fn is_valid(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        // XML excludes both.
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
    fn characters_that_json_or_xml_cannot_hold_are_rejected_with_the_value() {
        let longest = "é".repeat(MAX_REQUEST_PARAMETER_BYTES / 2);
        let too_long = format!("{longest}x");
        let rows = [
            ("plain", "2024-02", None),
            ("Unicode and characters that JSON and HTML escape", "<'\"\\>&=\u{2028}作业🚀", None),
            ("lines", "a\tb\r\nc", None),
            ("one space", " ", None),
            ("longest", longest.as_str(), None),
            ("empty", "", Some("empty")),
            ("too long", too_long.as_str(), Some("a text of 4097 bytes")),
            ("null", "a\0b", Some(r#""a\0b""#)),
            ("escape", "\u{1b}[1m", Some(r#""\u{1b}[1m""#)),
            ("delete", "\u{7f}", Some(r#""\u{7f}""#)),
            ("control character of the second block", "\u{85}", Some(r#""\u{85}""#)),
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
    fn no_text_exceeds_its_maximum_length_in_json() {
        for text in ["\"", "\\\\", "\t\n\r", "ab", "作\u{2028}", "/<>&"] {
            let json = serde_json::to_string(text).unwrap();
            let max = RequestParameter::new(text).unwrap().json_bytes();
            assert!(json.len() - "\"\"".len() <= max, "{json}");
        }
    }
}
