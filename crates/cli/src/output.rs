//! The output of a command: text for people, or one JSON document for programs.

use comfy_table::{Table, presets};
use console::Term;
use serde::Serialize;
use serde_json::{Value, json};

use crate::fault::Exit;
use crate::text::clean;

/// Answer of a command, in both forms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) json: Value,
    pub(crate) exit: Exit,
    /// Lines for the standard error, beside a text that programs read.
    pub(crate) beside: String,
}

impl Page {
    /// Creates an answer from its text and its document.
    pub(crate) fn new(text: impl Into<String>, json: &impl Serialize) -> Self {
        let json = serde_json::to_value(json).unwrap_or_else(|error| {
            // Serialization cannot fail: keys are strings and numbers are finite.
            json!({ "error": { "kind": "refused", "code": 1, "message": error.to_string() } })
        });
        Self { text: text.into(), json, exit: Exit::Done, beside: String::new() }
    }

    pub(crate) fn ending(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// Adds lines for the standard error, which `--json` omits.
    pub(crate) fn beside(self, beside: String) -> Self {
        Self { beside, ..self }
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

/// Draws rows under their headings, columns two spaces apart, without trailing spaces.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.to_vec());
    for row in rows {
        table.add_row(row.iter().map(|cell| clean(cell)));
    }
    let lines = table.lines().map(|line| line.trim_end().trim_start_matches(' ').to_owned() + "\n");
    lines.collect()
}

/// Width of lines if the standard output is not a terminal, in characters.
const WIDTH_OF_FILES: usize = 200;
/// Minimum width of the last column, in characters.
const LEAST_WIDTH: usize = 20;

/// Draws rows as [`table`] does, with the last column cut to the width of the terminal.
pub(crate) fn table_on_screen(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let size = Term::stdout().size_checked();
    table_within(headings, rows, size.map_or(WIDTH_OF_FILES, |(_, columns)| usize::from(columns)))
}

fn table_within(headings: &[&str], mut rows: Vec<Vec<String>>, width: usize) -> String {
    let chars = |text: &str| text.chars().count();
    let before = headings.len().saturating_sub(1);
    rows.iter_mut().flatten().for_each(|cell| *cell = clean(cell));
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| chars(cell));
        cells.max().unwrap_or_default().max(chars(headings[column])) + 2
    };
    let taken: usize = (0..before).map(widest).sum();
    let room = width.saturating_sub(taken).max(LEAST_WIDTH);
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(before)) {
        if chars(cell) > room {
            *cell = cell.chars().take(room - 1).chain(['…']).collect();
        }
    }
    table(headings, rows)
}

/// Draws one line for each name with its value; pairs without a value are omitted.
pub(crate) fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let pairs: Vec<_> = pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines = pairs.iter().map(|(name, value)| format!("{name:width$}  {}\n", clean(value)));
    lines.collect()
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
    fn only_the_last_column_is_cut_to_the_width() {
        let row = |reason: &str| vec!["2024-02-29T12:00:00Z".to_owned(), reason.to_owned()];
        let rows = || vec![row(&"ä".repeat(99)), row("a\nb\u{1b}[2J"), row(&"x".repeat(28))];
        let expected = format!(
            "FIRE                  REASON\n2024-02-29T12:00:00Z  {}…\n\
             2024-02-29T12:00:00Z  a\\nb\\u{{1b}}[2J\n2024-02-29T12:00:00Z  {}\n",
            "ä".repeat(27),
            "x".repeat(28)
        );
        assert_eq!(table_within(&["FIRE", "REASON"], rows(), 50), expected);
        let narrow = table_within(&["FIRE", "REASON"], rows(), 1);
        assert!(narrow.lines().all(|line| line.chars().count() <= 22 + LEAST_WIDTH), "{narrow}");
    }

    /// Every value from the registry is printed by one of these functions.
    #[test]
    fn output_escapes_control_and_invisible_characters() {
        let hostile = "a\u{1b}[2J\u{7}\r\u{202e}\u{2066}\u{200b}\u{2028}\u{85}\nERROR forged";
        let shown = [
            ("table", table(&["A", "B"], [vec![hostile.to_owned(), "b".to_owned()]]), 2),
            ("pairs", pairs([("name", hostile.to_owned())]), 1),
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
