//! The output of a command: text for people, or one document for programs.
//!
//! Commands give tables, pairs and lines; how they look is decided here, at the end.

mod screen;
mod style;
mod table;

use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::screen::{Form, Look, OutputArguments, Screen};
pub(crate) use self::table::{Column, Table};
use crate::fault::Exit;
use crate::text::clean;

/// A text that the look of the output decides about: lines, tables and pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text(Vec<Block>);

#[derive(Clone, Debug)]
enum Block {
    /// Whole lines.
    Lines(String),
    /// A line that begins with the word of a state.
    State(String),
    Table(Table),
    /// A value for each name.
    Pairs(Vec<(Column, String)>),
}

impl Text {
    /// Adds whole lines.
    pub(crate) fn push_str(&mut self, lines: &str) {
        self.0.push(Block::Lines(lines.to_owned()));
    }

    /// Adds a line that begins with the word of a state, which has its color on a terminal.
    pub(crate) fn push_state(&mut self, text: &str) {
        self.0.push(Block::State(line(text)));
    }

    /// Adds another text, such as a table.
    pub(crate) fn push(&mut self, text: impl Into<Self>) {
        self.0.extend(text.into().0);
    }

    /// Returns the text with another one after it.
    pub(crate) fn followed_by(mut self, text: impl Into<Self>) -> Self {
        self.push(text);
        self
    }

    /// Draws the text for people.
    pub(crate) fn draw(&self, look: Look) -> String {
        let drawn = self.0.iter().map(|block| match block {
            Block::Lines(lines) => lines.clone(),
            Block::State(line) if look.has_colors => style::with_state(line),
            Block::State(line) => line.clone(),
            Block::Table(table) => table.draw(look),
            Block::Pairs(pairs) => draw_pairs(pairs, look),
        });
        drawn.collect()
    }

    /// Returns the names of what the text lists, one a line.
    fn names(&self) -> String {
        let names = self.0.iter().flat_map(|block| match block {
            Block::Table(table) => table.names(),
            Block::Lines(_) | Block::State(_) | Block::Pairs(_) => Vec::new(),
        });
        names.map(|name| line(&name)).collect()
    }
}

impl From<String> for Text {
    fn from(lines: String) -> Self {
        Self(vec![Block::Lines(lines)])
    }
}

impl From<&str> for Text {
    fn from(lines: &str) -> Self {
        lines.to_owned().into()
    }
}

impl From<Table> for Text {
    fn from(table: Table) -> Self {
        Self(vec![Block::Table(table)])
    }
}

/// Answer of a command, in all forms.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) text: Text,
    pub(crate) json: Value,
    pub(crate) exit: Exit,
    /// Lines for the standard error, beside a text that programs read.
    pub(crate) beside: String,
}

impl Page {
    /// Creates an answer from its text and its document.
    pub(crate) fn new(text: impl Into<Text>, json: &impl Serialize) -> Self {
        let json = serde_json::to_value(json).unwrap_or_else(|error| {
            // Serialization cannot fail: keys are strings and numbers are finite.
            json!({ "error": { "kind": "refused", "code": 1, "message": error.to_string() } })
        });
        Self { text: text.into(), json, exit: Exit::Done, beside: String::new() }
    }

    pub(crate) fn ending(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// Adds lines for the standard error, which documents omit.
    pub(crate) fn beside(self, beside: String) -> Self {
        Self { beside, ..self }
    }

    /// Returns the answer in the form that the command line names.
    pub(crate) fn show(&self, look: Look) -> String {
        match look.form {
            Form::Table | Form::Wide => self.text.draw(look),
            Form::Name => self.text.names(),
            Form::Json | Form::Yaml => document(&self.json, look),
        }
    }
}

/// Writes a document in the form that the command line names: YAML, or else JSON.
pub(crate) fn document(value: &Value, look: Look) -> String {
    match look.form {
        // A value of JSON is one of YAML, so that this cannot fail.
        Form::Yaml => serde_saphyr::to_string(value).unwrap_or_else(|error| format!("# {error}\n")),
        Form::Table | Form::Wide | Form::Json | Form::Name => format!("{value:#}\n"),
    }
}

/// Returns records of `operations` as a document with keys in snake case.
///
/// The records have the keys of ElasticJob's console, such as `jobName`.
pub(crate) fn snake_case(records: &impl Serialize) -> Value {
    fn renamed(value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                fields.into_iter().map(|(key, value)| (snake_key(&key), renamed(value))).collect()
            }
            Value::Array(values) => values.into_iter().map(renamed).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
        }
    }
    renamed(json!(records))
}

fn snake_key(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// Returns one line for each name with its value; pairs without a value are omitted.
pub(crate) fn pairs(pairs: impl IntoIterator<Item = (impl Into<Column>, String)>) -> Text {
    let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value));
    Text(vec![Block::Pairs(pairs.filter(|(_, value)| !value.is_empty()).collect())])
}

fn draw_pairs(pairs: &[(Column, String)], look: Look) -> String {
    let width = pairs.iter().map(|(name, _)| name.heading().len()).max().unwrap_or_default();
    let line = |(name, value): &(Column, String)| {
        let value = name.painted(&name.shown(value, false, look), look);
        format!("{:width$}  {value}\n", name.heading())
    };
    pairs.iter().map(line).collect()
}

/// Draws a value or sentence from the registry on its own line.
pub(crate) fn line(text: &str) -> String {
    clean(text) + "\n"
}

/// Returns a number with its noun: `1 job`, `2 jobs`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    #[test]
    fn state_at_the_beginning_of_a_line_has_a_color() {
        let rows = [
            ("error unreadable report: x", "\u{1b}[31merror\u{1b}[0m unreadable report: x\n"),
            ("info mixed report: x", "info mixed report: x\n"),
        ];
        for (text, expected) in rows {
            let mut shown = Text::default();
            shown.push_state(text);
            assert_eq!(shown.draw(Look { has_colors: true, ..Look::default() }), expected);
            assert_eq!(shown.draw(Look::default()), format!("{text}\n"));
        }
    }

    /// Every value from the registry is printed by one of these functions.
    #[test]
    fn output_escapes_control_and_invisible_characters() {
        let hostile = "a\u{1b}[2J\u{7}\r\u{202e}\u{2066}\u{200b}\u{2028}\u{85}\nERROR forged";
        let table = Table::new(&["A", "B"], [vec![hostile.to_owned(), "b".to_owned()]]);
        let shown = [
            ("table", Text::from(table).draw(Look::default()), 2),
            ("pairs", pairs([("name", hostile.to_owned())]).draw(Look::default()), 1),
            ("line", line(hostile), 1),
            ("error", Fault::refused(hostile).to_string() + "\n", 1),
            ("log", crate::log::log_line(hostile), 1),
        ];
        for (case, text, lines) in shown {
            assert_eq!(text.matches('\n').count(), lines, "{case}: {text:?}");
            let is_plain = |c: char| c == '\n' || c.is_ascii_graphic() || c == ' ';
            assert!(text.chars().all(is_plain), "{case}: {text:?}");
            assert!(text.contains("\\u{202e}"), "{case}: {text:?}");
        }
    }
}
