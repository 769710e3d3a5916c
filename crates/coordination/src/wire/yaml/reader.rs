//! Reads YAML like SnakeYAML does for the fields of a configuration: the type of the field decides,
//! not the look of the scalar.

use std::collections::BTreeMap;
use std::fmt;

use super::tree::Tree;

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text, a number, a boolean or `null`.
    Scalar {
        /// Its text without quotes and escapes.
        text: String,
        /// True if it is written without quotes.
        plain: bool,
    },
    /// A list.
    List(Vec<Value>),
    /// A mapping.
    Map(Vec<(Value, Value)>),
    /// A value that no field of a configuration has, such as a tagged object.
    Other,
}

impl Value {
    /// Returns the number of values in this one, including itself.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Scalar { .. } | Self::Other => 1,
            Self::List(values) => 1 + values.iter().map(Self::size).sum::<usize>(),
            Self::Map(entries) => {
                1 + entries.iter().map(|(k, v)| k.size() + v.size()).sum::<usize>()
            }
        }
    }

    /// Writes the value in one line. Tags are lost, because this crate does not interpret them.
    fn in_flow(&self) -> String {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
        match self {
            Self::Scalar { text, plain: true } if self.is_null() => {
                if text.is_empty() {
                    "~".to_owned()
                } else {
                    text.clone()
                }
            }
            Self::Scalar { text, plain: true } if text.chars().all(is_word) && text != "-" => {
                text.clone()
            }
            Self::Scalar { text, .. } => quoted(text),
            Self::List(values) => {
                format!("[{}]", values.iter().map(Self::in_flow).collect::<Vec<_>>().join(", "))
            }
            Self::Map(entries) => {
                let entry = |(k, v): &(Self, Self)| format!("{}: {}", k.in_flow(), v.in_flow());
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
            Self::Other => "~".to_owned(),
        }
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar { text, .. } => Some(text),
            Self::List(_) | Self::Map(_) | Self::Other => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        let nothing = |text: &str| matches!(text, "" | "~" | "null" | "Null" | "NULL");
        matches!(self, Self::Scalar { text, plain: true } if nothing(text))
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self.as_text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// Parses a number in any form of YAML 1.1: with underscores, binary, octal or hexadecimal.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        let text = self.as_text()?.replace('_', "");
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(&text)),
        };
        let in_base = |digits, base| i64::from_str_radix(digits, base).ok();
        let value = if let Some(digits) = digits.strip_prefix("0b") {
            in_base(digits, 2)
        } else if let Some(digits) = digits.strip_prefix("0x") {
            in_base(digits, 16)
        } else if let Some(digits) = digits.strip_prefix('0').filter(|rest| !rest.is_empty()) {
            in_base(digits, 8)
        } else {
            in_base(digits, 10).filter(|value| *value >= 0)
        }?;
        Some(if negative { -value } else { value })
    }

    pub(crate) fn as_texts(&self) -> Option<Vec<String>> {
        let Self::List(values) = self else { return None };
        values.iter().map(|value| value.as_text().map(str::to_owned)).collect()
    }

    /// Returns a mapping of texts to texts. Java fails on a `null` value, so this does too.
    pub(crate) fn as_map(&self) -> Option<BTreeMap<String, String>> {
        let Self::Map(entries) = self else { return None };
        let text = |value: &Self| {
            if value.is_null() {
                return None;
            }
            value.as_text().map(str::to_owned)
        };
        entries.iter().map(|(key, value)| Some((text(key)?, text(value)?))).collect()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar { text, plain: true } => f.write_str(text),
            Self::Scalar { text, plain: false } => write!(f, "{text:?}"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a mapping"),
            Self::Other => f.write_str("a tagged value"),
        }
    }
}

/// A field with its value and its lines.
#[derive(Debug)]
struct Field {
    name: String,
    value: Value,
    lines: String,
}

/// The fields of a mapping, in the order of the document.
#[derive(Debug)]
pub(crate) struct Document(Vec<Field>);

impl Document {
    /// Reads the first document of a text. It must be a mapping with unique texts as keys.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let root = Tree::of(text)?.entries().ok_or("it is something else")?;
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let starts: Vec<usize> = root.iter().map(|entry| entry.line).collect();
        let ends = starts.iter().skip(1).copied().chain([lines.len() + 1]);
        let mut fields: Vec<Field> = Vec::new();
        for ((entry, start), end) in root.into_iter().zip(&starts).zip(ends) {
            let name = entry
                .key
                .as_text()
                .ok_or_else(|| format!("{} is no name of a field", entry.key))?;
            if fields.iter().any(|field| field.name == name) {
                return Err(format!("it has the field {name} twice"));
            }
            let lines = lines.get(start - 1..end.max(*start) - 1).unwrap_or_default().concat();
            fields.push(Field { name: name.to_owned(), value: entry.value, lines });
        }
        Ok(Self(fields))
    }

    fn remove(&mut self, name: &str) -> Option<Field> {
        let place = self.0.iter().position(|field| field.name == name)?;
        Some(self.0.remove(place))
    }

    /// Returns the value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    /// Takes the value of a field.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.remove(name).map(|field| field.value)
    }

    /// Takes a field as lines, including its key, that have the same meaning in any other document.
    pub(crate) fn take_lines(&mut self, name: &str) -> Option<String> {
        self.remove(name).map(Field::into_lines)
    }

    /// Returns the names and lines of the remaining fields.
    pub(crate) fn into_lines(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|field| (field.name.clone(), field.into_lines())).collect()
    }
}

impl Field {
    /// Returns the lines of a field.
    ///
    /// Writes them anew if their meaning depends on their place, such as in braces or by an anchor.
    /// Keeps blank lines at the end only if they are part of the value.
    fn into_lines(self) -> String {
        let trimmed = format!("{}\n", self.lines.trim_end_matches(['\r', '\n']));
        let mut candidates = [trimmed, self.lines.clone()].into_iter();
        candidates
            .find(|lines| self.is_said_by(lines))
            .unwrap_or_else(|| format!("{}: {}\n", quoted(&self.name), self.value.in_flow()))
    }

    /// Returns true if these lines are a document with exactly this field.
    fn is_said_by(&self, lines: &str) -> bool {
        let marker = |line: &str| line.starts_with("---") || line.starts_with("...");
        let alone = Document::read(lines).is_ok_and(|document| match &document.0[..] {
            [field] => field.name == self.name && field.value == self.value,
            _ => false,
        });
        alone && lines.ends_with('\n') && !lines.lines().any(marker)
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}
