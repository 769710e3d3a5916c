//! Faults of texts that may hold secrets.

/// A fault of a TOML text that may hold secrets, such as a file of a program.
///
/// It names the line and the key. The parser quotes the value that has the wrong type, which is a
/// secret if a password was written without quotation marks: such a value is left out.
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
        let at = text.floor_char_boundary(offset.unwrap_or(0));
        let reason = about_key(text, at, message).unwrap_or_else(|| without_value(message));
        Self::with_reason(text, at, &reason)
    }

    fn with_reason(text: &str, at: usize, reason: &str) -> Self {
        let line = text[..at].matches('\n').count() + 1;
        Self { line, reason: reason.replace('\n', "; ") }
    }
}

/// Parses a TOML text that may hold secrets.
///
/// # Errors
/// [`SyntaxFault`]: the text is not TOML, or does not have the keys and types of `T`.
///
/// # Examples
/// ```
/// #[derive(Debug, serde::Deserialize)]
/// struct Login {
///     password: String,
/// }
///
/// let fault = outbound::parse_toml::<Login>("password = 123456").unwrap_err();
/// assert_eq!(
///     fault.to_string(),
///     "line 1: password is a whole number; valid is a text in quotes"
/// );
/// assert_eq!(outbound::parse_toml::<Login>("password = 'x'").unwrap().password, "x");
/// ```
#[cfg(feature = "toml")]
pub fn parse_toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, SyntaxFault> {
    let offset = |error: &toml::de::Error| error.span().map(|span| span.start);
    let document = toml::Deserializer::parse(text).map_err(|error| {
        let at = text.floor_char_boundary(offset(&error).unwrap_or(0));
        let column = line_before(text, at).chars().count() + 1;
        let reason = format!("not valid TOML at column {column}: {}", error.message());
        SyntaxFault::with_reason(text, at, &reason)
    })?;
    T::deserialize(document)
        .map_err(|error| SyntaxFault::new(text, offset(&error), error.message()))
}

/// Returns a fault that names its key, if the text shows it.
fn about_key(text: &str, at: usize, message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("missing field `") {
        return Some(format!("{} is missing", rest.split('`').next()?));
    }
    if let Some(rest) = message.strip_prefix("unknown field `") {
        // In TOML, a key belongs to the last header before it, so that the cause may be a header
        // that is missing or wrong.
        let (key, known) = rest.split_once("`, expected ")?;
        let table = match table_at(text, at)? {
            "" => "the file".to_owned(),
            table => format!("the table {table}"),
        };
        return Some(format!("{key} is an unknown key of {table}; valid is {}", listed(known)));
    }
    let key = key_before(text, at);
    let subject = key.unwrap_or("a value");
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        let (found, known) = rest.split_once("`, expected ")?;
        return Some(format!("{subject} is {found:?}; valid is {}", listed(known)));
    }
    let about_value = message.strip_prefix("invalid type: ");
    let Some(found) = about_value.or_else(|| message.strip_prefix("invalid value: ")) else {
        return key.map(|key| format!("{key}: {message}"));
    };
    // The value may contain the word too, so that the last one counts.
    let (found, expected) = found.rsplit_once(", expected ")?;
    let kinds = [
        ("string", "a text"),
        ("integer", "a whole number"),
        ("floating point", "a decimal number"),
        ("boolean", "true or false"),
        ("sequence", "a list"),
        ("map", "a table"),
    ];
    let (_, kind) = kinds.into_iter().find(|(kind, _)| found.starts_with(kind))?;
    let valid = match expected {
        "a string" => "a text in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 on",
        other => other,
    };
    Some(format!("{subject} is {kind}; valid is {valid}"))
}

/// Returns the names in a list of serde, which is "`a`", "`a` or `b`" or "one of `a`, `b`".
fn listed(names: &str) -> String {
    names.trim_start_matches("one of ").replace('`', "")
}

/// Returns the key of the value at an offset, if it stands in the same line.
fn key_before(text: &str, at: usize) -> Option<&str> {
    let (before, _) = line_before(text, at).rsplit_once('=')?;
    let key = before.rsplit(['{', ',']).next()?.trim().trim_matches(['"', '\'']);
    // Other texts before a sign of equality may be part of a value, which may be a secret.
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

/// Returns the text between the beginning of a line and an offset in it.
fn line_before(text: &str, at: usize) -> &str {
    let before = &text[..at];
    &before[before.rfind('\n').map_or(0, |end| end + 1)..]
}

/// Returns the name of the table of the key at an offset, as it is written; empty for the file.
fn table_at(text: &str, at: usize) -> Option<&str> {
    let before = line_before(text, at);
    let start = at - before.len();
    let line = text.get(start..)?.lines().next().unwrap_or_default();
    if let Some(name) = header(line) {
        return Some(name.rsplit_once('.').map_or("", |(parent, _)| parent));
    }
    // The key of an inline table stands behind the one of the table.
    if let Some((key, _)) = before.split_once('=') {
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

/// Removes the value from a message of serde about a wrong type or value, whose key is not known.
fn without_value(message: &str) -> String {
    let is_about_value = ["invalid type: ", "invalid value: "]
        .iter()
        .any(|beginning| message.starts_with(beginning));
    let end = message.find(['`', '"']).filter(|_| is_about_value).unwrap_or(message.len());
    message[..end].trim_end().to_owned()
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the faults are of interest")]
    struct Document {
        name: Option<String>,
        size: Option<u16>,
        names: Option<Vec<String>>,
        kind: Option<Kind>,
        a: Option<Table>,
        address: Option<std::net::IpAddr>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Small,
        Large,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the faults are of interest")]
    struct Table {
        id: u8,
        labels: Option<BTreeMap<String, String>>,
        b: Option<Vec<Labels>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the faults are of interest")]
    struct Labels {
        id: Option<bool>,
    }

    #[test]
    fn fault_of_another_parser_has_the_line_and_no_value() {
        for (offset, message, expected) in [
            (None, "broken", "line 1: broken"),
            (Some(4), "broken\nhere", "line 2: broken; here"),
            (Some(99), "broken", "line 3: broken"),
            (
                Some(0),
                "invalid type: string \"a, expected b\", expected u32",
                "line 1: a value is a text; valid is a whole number from 0 to 4294967295",
            ),
            (Some(0), "invalid type: string \"12", "line 1: invalid type: string"),
            (Some(0), "missing field `a`", "line 1: a is missing"),
        ] {
            assert_eq!(SyntaxFault::new("one\ntwo\n", offset, message).to_string(), expected);
        }
    }

    #[test]
    fn fault_has_line_key_and_valid_values_but_no_value() {
        for (text, expected) in [
            ("name = 's3cret", "line 1: not valid TOML at column "),
            ("size = 1\nä = s3cret", "line 2: not valid TOML at column "),
            ("[a", "line 1: not valid TOML at column "),
            ("size = 1\nsize = 2", "line 2: not valid TOML at column 1: duplicate key"),
            ("name = 5342", "line 1: name is a whole number; valid is a text in quotes"),
            ("\n size = 's3cret, expected b'", "line 2: size is a text; valid is a whole number"),
            (
                "size = -5342",
                "line 1: size is a whole number; valid is a whole number from 0 to 65535",
            ),
            ("size = 534200", "line 1: size is a whole number; valid is a whole number from 0 to "),
            (
                "names = ['a',\n5342]",
                "line 2: a value is a whole number; valid is a text in quotes",
            ),
            ("names = ['s3cret=', 5342]", "line 1: a value is a whole number; valid is a text"),
            ("names = { a = 5342 }", "line 1: names is a table; valid is a list"),
            ("kind = 'medium'", "line 1: kind is \"medium\"; valid is small or large"),
            ("a = { id = 1, labels = { b = 5342 } }", "line 1: b is a whole number; valid is a "),
            ("[a]\nid = 1\nb = [{ id = 5342 }]", "line 3: id is a whole number; valid is true or"),
            ("address = 's3cret'", "line 1: address: invalid IP address syntax"),
            ("[a]", "line 1: id is missing"),
            ("x = 1", "line 1: x is an unknown key of the file; valid is name, size, "),
            ("[a]\nx = 1", "line 2: x is an unknown key of the table a; valid is id, labels, b"),
            (
                "[a]\nid = 1\n[[a.b]] # c\nx = 1",
                "line 4: x is an unknown key of the table a.b; valid is id",
            ),
            ("[a]\nid = 1\n[x]", "line 3: x is an unknown key of the file; "),
            ("[a]\nid = 1\n[a.x]", "line 3: x is an unknown key of the table a; "),
            ("a = { x = 1 }", "line 1: x is an unknown key of the table a; "),
        ] {
            let fault = parse_toml::<Document>(text).unwrap_err().to_string();
            assert!(fault.starts_with(expected), "{text:?}: {fault}");
            assert!(!fault.contains("s3cret") && !fault.contains("5342"), "{fault}");
        }
        parse_toml::<Document>("size = 1\n[a]\nid = 1").unwrap();
    }
}
