//! Faults of texts that may hold secrets.

/// A fault of a text that may hold secrets, such as a file of a program.
///
/// It names the line and not its content. A parser quotes the value that has the wrong type, which
/// is a secret if a password was written without quotation marks: such a value is left out.
///
/// # Examples
/// ```
/// use outbound::SyntaxFault;
///
/// let message = "invalid type: integer `123456`, expected a string";
/// let fault = SyntaxFault::new("a = 1\npassword = 123456", Some(6), message);
/// assert_eq!(fault.to_string(), "line 2: invalid type: integer, expected a string");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct SyntaxFault {
    /// Line of the fault, counted from 1.
    pub line: usize,
    /// Description of the fault, in one line.
    pub reason: String,
}

impl SyntaxFault {
    /// Creates a fault from a parser's message, and the offset of the fault in bytes if the parser
    /// knows it.
    #[must_use]
    pub fn new(text: &str, offset: Option<usize>, message: &str) -> Self {
        let at = offset.unwrap_or(0).min(text.len());
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        Self { line, reason: without_value(message).replace('\n', "; ") }
    }
}

/// Removes the value from a message of serde about a wrong type or value, which is
/// "invalid type: KIND VALUE, expected TEXT" with the value in backticks or quotation marks.
fn without_value(message: &str) -> String {
    const EXPECTED: &str = ", expected ";
    let quotes_value = ["invalid type: ", "invalid value: "];
    let is_about_value = quotes_value.iter().any(|beginning| message.starts_with(beginning));
    let value = message.find(['`', '"']);
    // The value may contain the words too, so that the last ones count.
    let expected = message.rfind(EXPECTED);
    match (value, expected) {
        (Some(value), Some(expected)) if is_about_value && value < expected => {
            format!("{}{}", message[..value].trim_end(), &message[expected..])
        }
        (Some(value), None) if is_about_value => message[..value].trim_end().to_owned(),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_has_the_line_and_no_value() {
        let text = "one\ntwo\n";
        for (offset, message, expected) in [
            (None, "broken", "line 1: broken"),
            (Some(4), "broken\nhere", "line 2: broken; here"),
            (Some(99), "broken", "line 3: broken"),
            (
                Some(0),
                "invalid type: integer `12`, expected a string",
                "line 1: invalid type: integer, expected a string",
            ),
            (
                Some(0),
                "invalid type: string \"a, expected b\", expected u32",
                "line 1: invalid type: string, expected u32",
            ),
            (
                Some(0),
                "invalid value: integer `-1`, expected u32",
                "line 1: invalid value: integer, expected u32",
            ),
            (Some(0), "invalid type: string \"12", "line 1: invalid type: string"),
            (
                Some(0),
                "invalid type: map, expected `a` or `b`",
                "line 1: invalid type: map, expected `a` or `b`",
            ),
            (Some(0), "unknown field `a`, expected `b`", "line 1: unknown field `a`, expected `b`"),
        ] {
            assert_eq!(SyntaxFault::new(text, offset, message).to_string(), expected);
        }
    }
}
