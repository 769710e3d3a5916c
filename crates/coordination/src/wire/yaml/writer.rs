//! Writes block style YAML, byte for byte like SnakeYAML 2.x with its default options.
//!
//! One exception: SnakeYAML writes texts with control characters as `!!binary`. This writer quotes
//! and escapes them.

use std::fmt::Write as _;

use super::analysis::{Analysis, is_ambiguous, is_break, is_printable};

/// Column after which a scalar is folded at its next single space.
const BEST_WIDTH: usize = 80;
/// Indentation of each level, in columns.
const BEST_INDENT: usize = 2;
/// Number of characters, including the tag, from which a key is written after a question mark.
const MAX_SIMPLE_KEY: usize = 128;
/// Tag of a string, which counts for the length of a key.
const STRING_TAG: &str = "!!str";

/// Writes mappings and lists of scalars.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    out: String,
    column: usize,
    /// The indentation of the current node's lines, in columns.
    indent: usize,
    /// True if only a space or indentation precedes the column.
    whitespace: bool,
    /// True if only indentation precedes the column.
    indention: bool,
}

impl Writer {
    /// Writes a field with a text.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        self.key(0, name);
        self.indented(BEST_INDENT, |writer| writer.scalar(value, false));
    }

    /// Writes a field with a number or a boolean.
    pub(crate) fn plain(&mut self, name: &str, value: impl std::fmt::Display) {
        self.key(0, name);
        write!(self.out, " {value}").expect("writing to a string cannot fail");
    }

    /// Writes a field with a list of texts.
    pub(crate) fn list<'a>(&mut self, name: &str, values: impl IntoIterator<Item = &'a str>) {
        self.key(0, name);
        for value in values {
            self.line(0);
            self.out.push('-');
            (self.column, self.whitespace, self.indention) = (1, false, true);
            self.indented(BEST_INDENT, |writer| writer.scalar(value, false));
        }
    }

    /// Writes a field with a mapping of texts to texts.
    pub(crate) fn map<'a>(
        &mut self,
        name: &str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) {
        self.key(0, name);
        for (key, value) in entries {
            self.key(BEST_INDENT, key);
            self.indented(2 * BEST_INDENT, |writer| writer.scalar(value, false));
        }
    }

    /// Appends lines unchanged. They must be empty or end with a line break.
    pub(crate) fn raw(&mut self, lines: &str) {
        if !lines.is_empty() {
            self.line(0);
            self.out.push_str(lines.strip_suffix('\n').unwrap_or(lines));
        }
    }

    /// Ends the document.
    pub(crate) fn finish(mut self) -> String {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out
    }

    /// Starts a line at the indentation, unless one has just started.
    fn line(&mut self, indent: usize) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        (self.column, self.whitespace, self.indention) = (indent, true, true);
    }

    fn key(&mut self, indent: usize, name: &str) {
        self.line(indent);
        let shown: usize = name.chars().map(char::len_utf16).sum();
        let simple = !name.is_empty()
            && !Analysis::of(name).multiline
            && shown + STRING_TAG.len() < MAX_SIMPLE_KEY;
        if simple {
            self.indented(indent, |writer| writer.scalar(name, true));
        } else {
            self.push("?");
            (self.whitespace, self.indention) = (false, true);
            self.indented(indent + BEST_INDENT, |writer| writer.scalar(name, false));
            self.line(indent);
        }
        self.push(":");
        (self.whitespace, self.indention) = (false, false);
    }

    fn indented(&mut self, indent: usize, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.indent, indent);
        write(self);
        self.indent = outer;
    }

    /// Writes a text in the first valid style, in the order of SnakeYAML.
    fn scalar(&mut self, text: &str, is_key: bool) {
        if text.is_empty() {
            return self.single_quoted(text, is_key);
        }
        let analysis = Analysis::of(text);
        match analysis {
            Analysis { multiline: true, block: true, .. } => self.literal(text),
            Analysis { multiline: false, plain: true, .. } if !is_ambiguous(text) => {
                self.flowing(text, is_key, false);
            }
            Analysis { multiline: false, single_quoted: true, .. } => {
                self.single_quoted(text, is_key);
            }
            _ => self.double_quoted(text, is_key),
        }
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().map(char::len_utf16).sum::<usize>();
    }

    fn indicator(&mut self, text: &str) {
        if !self.whitespace {
            self.push(" ");
        }
        self.push(text);
        (self.whitespace, self.indention) = (false, false);
    }

    fn line_break(&mut self, c: char) {
        self.out.push(c);
        (self.column, self.whitespace, self.indention) = (0, true, true);
    }

    fn indentation(&mut self) {
        let begun = self.indention && self.whitespace && self.column <= self.indent;
        if !begun {
            self.line_break('\n');
        }
        while self.column < self.indent {
            self.push(" ");
        }
        self.whitespace = true;
    }

    fn single_quoted(&mut self, text: &str, is_key: bool) {
        self.indicator("'");
        self.flowing(text, is_key, true);
        self.push("'");
    }

    /// Writes a plain or single-quoted text of one line, and folds it at single spaces if it is
    /// long.
    fn flowing(&mut self, text: &str, is_key: bool, quoted: bool) {
        if !quoted {
            if !self.whitespace {
                self.push(" ");
            }
            (self.whitespace, self.indention) = (false, false);
        }
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c| (c == ' ') != (first == ' ')).unwrap_or(rest.len());
            let (part, after) = rest.split_at(end);
            let inside = !quoted || (rest.len() < text.len() && !after.is_empty());
            if part == " " && self.column > BEST_WIDTH && !is_key && inside {
                self.indentation();
                (self.whitespace, self.indention) = (false, false);
            } else if quoted {
                self.push(&part.replace('\'', "''"));
            } else {
                self.push(part);
            }
            rest = after;
        }
    }

    fn literal(&mut self, text: &str) {
        self.indicator(&format!("|{}", block_hints(text)));
        self.line_break('\n');
        let mut line_is_new = true;
        for c in text.chars() {
            if is_break(c) {
                self.line_break(c);
                line_is_new = true;
            } else {
                if std::mem::take(&mut line_is_new) {
                    self.indentation();
                }
                self.push(c.encode_utf8(&mut [0; 4]));
            }
        }
        if !line_is_new {
            self.line_break('\n');
        }
    }

    fn double_quoted(&mut self, text: &str, is_key: bool) {
        self.indicator("\"");
        let chars: Vec<char> = text.chars().collect();
        let (mut start, mut end) = (0, 0);
        while end <= chars.len() {
            let c = chars.get(end).copied();
            if c.is_none_or(is_escaped) {
                let plain: String = chars[start..end].iter().collect();
                self.push(&plain);
                start = end;
                if let Some(c) = c {
                    self.push(&escape(c));
                    start = end + 1;
                }
            }
            let inside = end > 0 && end + 1 < chars.len();
            let waiting: usize =
                chars.get(start..end).unwrap_or_default().iter().map(|c| c.len_utf16()).sum();
            let long = self.column + waiting > BEST_WIDTH;
            if inside && (c == Some(' ') || start >= end) && long && !is_key {
                let plain: String = chars.get(start..end).unwrap_or_default().iter().collect();
                start = start.max(end);
                self.push(&format!("{plain}\\"));
                self.indentation();
                (self.whitespace, self.indention) = (false, false);
                if chars.get(start) == Some(&' ') {
                    self.push("\\");
                }
            }
            end += 1;
        }
        self.push("\"");
    }
}

fn is_escaped(c: char) -> bool {
    matches!(c, '"' | '\\' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        || !matches!(c, '\u{20}'..='\u{7e}')
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        c if is_printable(c) => return c.into(),
        c if u32::from(c) <= 0xff => return format!("\\x{:02x}", u32::from(c)),
        c => return format!("\\u{:04x}", u32::from(c)),
    };
    format!("\\{short}")
}

/// Returns the header of a literal: its indentation, if it starts with a blank, and its chomping.
fn block_hints(text: &str) -> String {
    let mut hints = String::new();
    if text.starts_with(|c| c == ' ' || is_break(c)) {
        hints.push_str(&BEST_INDENT.to_string());
    }
    let mut backwards = text.chars().rev();
    match (backwards.next(), backwards.next()) {
        (Some(last), _) if !is_break(last) => hints.push('-'),
        (Some(_), before) if before.is_none_or(is_break) => hints.push('+'),
        _ => {}
    }
    hints
}
