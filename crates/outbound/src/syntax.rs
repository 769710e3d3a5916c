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
        let reason = about_key(text, at, message).unwrap_or_else(|| without_value(message));
        Self { line, reason: reason.replace('\n', "; ") }
    }
}

/// Returns the fault of an unknown key with its table, or of a missing key. In TOML, a key belongs
/// to the last header before it, so that the cause may be a header that is missing or wrong.
fn about_key(text: &str, at: usize, message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("missing field `") {
        return Some(format!("{} is missing", rest.split('`').next()?));
    }
    let (key, rest) = message.strip_prefix("unknown field `")?.split_once('`')?;
    let known = rest.strip_prefix(", expected ")?.trim_start_matches("one of ").replace('`', "");
    let table = match table_at(text, at)? {
        "" => "the file".to_owned(),
        table => format!("the table {table}"),
    };
    Some(format!("{key} is an unknown key of {table}; valid is {known}"))
}

/// Returns the name of the table of the key at an offset, as it is written; empty for the file.
fn table_at(text: &str, at: usize) -> Option<&str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..)?.lines().next().unwrap_or_default();
    if let Some(name) = header(line) {
        return Some(name.rsplit_once('.').map_or("", |(parent, _)| parent));
    }
    // The key of an inline table stands behind the one of the table.
    if let Some((key, _)) = text.get(start..at)?.split_once('=') {
        return Some(key.trim());
    }
    Some(text.get(..start)?.lines().rev().find_map(header).unwrap_or(""))
}

/// Returns the name in a line such as `[name]` or `[[name]]`. A line of a list has quotes or
/// commas.
fn header(line: &str) -> Option<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    name.chars().all(is_name).then_some(name.trim())
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
            (Some(0), "missing field `a`", "line 1: a is missing"),
        ] {
            assert_eq!(SyntaxFault::new(text, offset, message).to_string(), expected);
        }
    }

    #[test]
    fn unknown_key_is_named_with_its_table() {
        let message = "unknown field `x`, expected one of `a`, `b`";
        for (text, expected) in [
            ("x = 1", "line 1: x is an unknown key of the file; valid is a, b"),
            ("[a]\nx = 1", "line 2: x is an unknown key of the table a; valid is a, b"),
            (
                "[[a.b]] # c\nl = [\n[1, 2],\n]\nx = 1",
                "line 5: x is an unknown key of the table a.b; ",
            ),
            ("[a]\n[x]", "line 2: x is an unknown key of the file; "),
            ("[a]\n[a.x]", "line 2: x is an unknown key of the table a; "),
            ("[a]\nb = { x = 1 }", "line 2: x is an unknown key of the table b; "),
        ] {
            let fault = SyntaxFault::new(text, text.find('x'), message).to_string();
            assert!(fault.starts_with(expected), "{text:?}: {fault}");
        }
        let message = "unknown field `x`, expected `a` or `b`";
        let fault = SyntaxFault::new("x = 1", Some(0), message).to_string();
        assert_eq!(fault, "line 1: x is an unknown key of the file; valid is a or b");
    }
}
