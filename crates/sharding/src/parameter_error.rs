//! Where and why a text of item parameters is wrong.

use std::fmt;
use std::ops::Range;

/// A text of item parameters that cannot be read.
///
/// `Display` takes three lines: what is wrong and what would be valid, the text, and carets under
/// the wrong part of it.
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
    /// The wrong part of it, in bytes; empty where something is missing.
    pub span: Range<usize>,
    /// What is wrong there.
    pub reason: ParameterErrorReason,
}

/// What is wrong with a text of item parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterErrorReason {
    /// There is nothing, or nothing but blanks, where a pair belongs: `0=A,,1=B`.
    #[error("a pair is empty")]
    EmptyPair,
    /// The pair is not split by an equals sign: `0`.
    #[error("the pair has no equals sign")]
    MissingEqualsSign,
    /// Nothing follows the equals sign: `0=`.
    #[error("the pair has no value")]
    MissingValue,
    /// The value contains an equals sign: `0=A=B`.
    #[error("the pair has a second equals sign")]
    SecondEqualsSign,
    /// What stands before the equals sign is not an `i32`: `a=1`.
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

/// The text with every control character as a space, so that the carets stay under their part.
fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use crate::ShardingItemParameters;

    #[test]
    fn carets_stand_under_the_wrong_part() {
        let cases = [
            ("one character", "0=A,b=B", "  0=A,b=B\n      ^"),
            ("several", "0=A,bcd=B", "  0=A,bcd=B\n      ^^^"),
            ("nothing there", "0=A,,1=B", "  0=A,,1=B\n      ^"),
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
