//! Parser of TOML documents.

use toml::de::{DeInteger, DeTable, DeValue};

use super::{Entry, Node, Scalar, Value};

/// Parses a TOML document.
pub(in crate::file) fn from_toml(text: &str) -> Result<Node, String> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        // Not `Display` of the error: it shows the line, which may hold a credential.
        let span = error.span().unwrap_or_default();
        let (line, column) = (lines.at(span.start), lines.column(text, span.start));
        // A key is no secret, and the line may not show it: `[table.key]`.
        let key = text.get(span).filter(|_| error.message() == "duplicate key");
        let key = key.map(|key| format!(" {key}")).unwrap_or_default();
        format!("line {line}, column {column}: {}{key}", error.message())
    })?;
    Ok(Node { line: 1, value: toml_table(table.get_ref(), &lines) })
}

fn toml_table(table: &DeTable<'_>, lines: &Lines) -> Value {
    let entries = table.iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        line: lines.at(key.span().start),
        node: Node {
            line: lines.at(value.span().start),
            value: toml_value(value.get_ref(), lines),
        },
    });
    Value::Table(entries.collect())
}

fn toml_value(value: &DeValue<'_>, lines: &Lines) -> Value {
    let plain = |raw: String, scalar| Value::Plain { raw, scalar, is_text: false };
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => plain(number.as_str().to_owned(), integer(number)),
        DeValue::Float(number) => plain(number.as_str().to_owned(), Scalar::Other),
        DeValue::Boolean(flag) => plain(flag.to_string(), Scalar::Bool(*flag)),
        DeValue::Datetime(time) => plain(time.to_string(), Scalar::Other),
        DeValue::Array(array) => Value::List(
            array
                .iter()
                .map(|element| Node {
                    line: lines.at(element.span().start),
                    value: toml_value(element.get_ref(), lines),
                })
                .collect(),
        ),
        DeValue::Table(table) => toml_table(table, lines),
    }
}

fn integer(number: &DeInteger<'_>) -> Scalar {
    let (text, radix) = (number.as_str(), number.radix());
    let unsigned = u64::from_str_radix(text, radix).ok().map(Scalar::Unsigned);
    let signed = || i64::from_str_radix(text, radix).ok().map(Scalar::Signed);
    unsigned.or_else(signed).unwrap_or(Scalar::Other)
}

/// Offsets of the starts of the lines of a text.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line of an offset, counted from 1.
    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }

    /// Returns the column of an offset in its line, in characters, counted from 1.
    fn column(&self, text: &str, offset: usize) -> usize {
        let start = self.0.iter().rev().find(|start| **start <= offset).copied().unwrap_or(0);
        text.get(start..offset).map_or(1, |before| before.chars().count() + 1)
    }
}
