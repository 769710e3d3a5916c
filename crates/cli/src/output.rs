//! What a command prints: a table for people, or one JSON document for programs.

use comfy_table::{Table, presets};
use serde::Serialize;
use serde_json::{Value, json};

use crate::fault::Exit;
use crate::text::clean;

/// The answer of a command, in both forms.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) json: Value,
    pub(crate) exit: Exit,
    /// What is told beside a text that is meant for programs: lines for the standard error.
    pub(crate) beside: String,
}

impl Page {
    /// Makes an answer of its two forms.
    pub(crate) fn new(text: impl Into<String>, json: &impl Serialize) -> Self {
        let json = serde_json::to_value(json).unwrap_or_else(|error| {
            // Names are texts and numbers are finite, so that this cannot happen.
            json!({ "error": { "kind": "refused", "code": 1, "message": error.to_string() } })
        });
        Self { text: text.into(), json, exit: Exit::Done, beside: String::new() }
    }

    pub(crate) fn ending(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// Adds lines for the standard error, unless the answer is a document.
    pub(crate) fn beside(self, beside: String) -> Self {
        Self { beside, ..self }
    }
}

/// Draws rows under their headings, columns two spaces apart, without anything at the ends of lines.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.to_vec());
    for row in rows {
        table.add_row(row.iter().map(|cell| clean(cell)));
    }
    let lines = table.lines().map(|line| line.trim_end().trim_start_matches(' ').to_owned() + "\n");
    lines.collect()
}

/// Draws names beside their values, one pair on a line; pairs without a value are left out.
pub(crate) fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let pairs: Vec<_> = pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines = pairs.iter().map(|(name, value)| format!("{name:width$}  {}\n", clean(value)));
    lines.collect()
}

/// Draws one value or sentence from the registry on a line of its own.
pub(crate) fn line(text: &str) -> String {
    clean(text) + "\n"
}

/// Returns `1 job`, `2 jobs`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    /// Everything that is printed from the registry goes through one of these.
    #[test]
    fn no_helper_prints_a_character_that_moves_hides_or_reorders_text() {
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
