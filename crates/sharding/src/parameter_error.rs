//! Errors of item parameters, with their position in the text.

use std::fmt;
use std::ops::Range;

/// An error in a text of item parameters.
///
/// `Display` writes three lines: the reason with the valid form, the text, and carets under the
/// invalid part.
///
/// # Examples
///
/// ```
/// use sharding::ShardingItemParameters;
///
/// let error = ShardingItemParameters::parse("0=Beijing,one=Shanghai").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "sharding item parameters: the item is not an integer from -2147483648 to 2147483647; \
///      valid are `item=value` pairs separated by commas, such as `0=Beijing,1=Shanghai`
///   0=Beijing,one=Shanghai
///             ^^^"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterError {
    /// The whole text.
    pub text: String,
    /// The invalid part of the text, as a range of bytes; empty where a part is missing.
    pub span: Range<usize>,
    /// The reason.
    pub reason: ParameterErrorReason,
}

/// Reason why a text of item parameters is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterErrorReason {
    /// A pair is empty or blank: `0=A,,1=B`.
    #[error("a pair is empty")]
    EmptyPair,
    /// The pair has no equals sign: `0`.
    #[error("the pair has no equals sign")]
    MissingEqualsSign,
    /// The equals sign has no value after it: `0=`.
    #[error("the pair has no value")]
    MissingValue,
    /// The value contains an equals sign: `0=A=B`.
    #[error("the pair has a second equals sign")]
    SecondEqualsSign,
    /// The text before the equals sign is not an `i32`: `a=1`.
    #[error("the item is not an integer from {} to {}", i32::MIN, i32::MAX)]
    ItemNotAnInteger,
}

impl std::error::Error for ParameterError {}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "sharding item parameters: {}; valid are `item=value` pairs separated by commas, such \
             as `0=Beijing,1=Shanghai`",
            self.reason
        )?;
        writeln!(f, "  {}", on_one_line(&self.text))?;
        let before = self.text[..self.span.start].chars().count();
        let carets = self.text[self.span.clone()].chars().count().max(1);
        write!(f, "  {:before$}{:^<carets$}", "", "")
    }
}

/// Returns the text with every control character replaced by a space, so that the carets are
/// aligned.
fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use crate::ShardingItemParameters;

    #[test]
    fn carets_mark_the_invalid_part() {
        let cases = [
            ("one character", "0=A,b=B", "  0=A,b=B\n      ^"),
            ("several characters", "0=A,bcd=B", "  0=A,bcd=B\n      ^^^"),
            ("an empty part", "0=A,,1=B", "  0=A,,1=B\n      ^"),
            ("at the end", "0=A, ", "  0=A, \n      ^"),
            ("characters are counted, not bytes", "0=北京,é=B", "  0=北京,é=B\n       ^"),
            ("a line end is one column", "0=A,\nb=B", "  0=A, b=B\n       ^"),
        ];
        for (case, text, expected) in cases {
            let message = ShardingItemParameters::parse(text).unwrap_err().to_string();
            let (_, picture) = message.split_once('\n').unwrap();
            assert_eq!(picture, expected, "{case}");
        }
    }
}
