//! Builds the values of a YAML document from the events of the parser.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

use super::Value;

/// Maximum depth of nested values.
const MAX_DEPTH: usize = 64;
/// Maximum number of values of a document, counting each repetition by an alias.
const MAX_VALUES: usize = 100_000;

/// A document with the lines of the fields in its outermost mapping.
#[derive(Debug)]
pub(super) struct Tree {
    root: Option<Vec<Entry>>,
}

/// A field of the outermost mapping.
#[derive(Debug)]
pub(super) struct Entry {
    /// The line of the key, from 1.
    pub(super) line: usize,
    pub(super) key: Value,
    pub(super) value: Value,
}

impl Tree {
    /// Reads the first document of a text.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        let mut builder =
            Builder { parser: Parser::new_from_str(text), anchors: BTreeMap::new(), values: 0 };
        loop {
            match builder.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::MappingStart(..), _) => return Ok(Self { root: Some(builder.entries()?) }),
                (Event::StreamEnd | Event::DocumentEnd, _) => return Err("it is empty".to_owned()),
                (
                    Event::Alias(_)
                    | Event::Scalar(..)
                    | Event::SequenceStart(..)
                    | Event::SequenceEnd
                    | Event::MappingEnd,
                    _,
                ) => return Ok(Self { root: None }),
            }
        }
    }

    /// Returns the fields, if the document is a mapping.
    pub(super) fn entries(self) -> Option<Vec<Entry>> {
        self.root
    }
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: BTreeMap<usize, Value>,
    values: usize,
}

impl<'a> Builder<'a> {
    /// Returns the next event and its first line.
    fn next(&mut self) -> Result<(Event<'a>, usize), String> {
        let next = self.parser.next_event().ok_or("it ends too early")?;
        let (event, span) = next.map_err(|error: ScanError| error.to_string())?;
        Ok((event, span.start.line()))
    }

    fn entries(&mut self) -> Result<Vec<Entry>, String> {
        let mut entries = Vec::new();
        loop {
            let (event, line) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let key = self.value(event, 1)?;
            let event = self.next()?.0;
            entries.push(Entry { line, key, value: self.value(event, 1)? });
        }
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        self.count(1)?;
        if depth > MAX_DEPTH {
            return Err(format!("values are nested deeper than {MAX_DEPTH}"));
        }
        let (value, anchor) = match event {
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().unwrap_or(Value::Other);
                self.count(value.size())?;
                return Ok(value);
            }
            Event::Scalar(_, _, anchor, Some(_)) => (Value::Other, anchor),
            Event::Scalar(text, style, anchor, None) => {
                let plain = style == ScalarStyle::Plain;
                (Value::Scalar { text: text.into_owned(), plain }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                let values = self.list(depth)?;
                (if tag.is_some() { Value::Other } else { Value::List(values) }, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                let entries = self.map(depth)?;
                (if tag.is_some() { Value::Other } else { Value::Map(entries) }, anchor)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err("a value is missing".to_owned()),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        loop {
            let event = self.next()?.0;
            if event == Event::SequenceEnd {
                return Ok(values);
            }
            values.push(self.value(event, depth + 1)?);
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<(Value, Value)>, String> {
        let mut entries = Vec::new();
        loop {
            let event = self.next()?.0;
            if event == Event::MappingEnd {
                return Ok(entries);
            }
            let key = self.value(event, depth + 1)?;
            let event = self.next()?.0;
            entries.push((key, self.value(event, depth + 1)?));
        }
    }

    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values += values;
        if self.values > MAX_VALUES {
            return Err(format!("it has more than {MAX_VALUES} values"));
        }
        Ok(())
    }
}
