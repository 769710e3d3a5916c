//! A file of jobs as a tree of values with their lines, the same for TOML and YAML.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_saphyr::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// Keys below which a text may hold a credential: errors do not show it.
const CREDENTIALS: [&str; 6] = ["http", "env", "error_handlers", "secrets", "hosts", "alert_hosts"];

/// Keys whose values are secret texts: errors do not show a number there either.
const SECRET_TEXTS: [&str; 8] =
    ["authorization", "body", "env", "headers", "password", "secret", "secrets", "url"];

/// A value of the file.
#[derive(Debug)]
pub(super) struct Node {
    line: usize,
    value: Value,
}

#[derive(Debug)]
enum Value {
    Text(String),
    /// A scalar that is not a quoted text, with its source text.
    Plain {
        raw: String,
        scalar: Scalar,
        /// True in YAML, which needs no quotes: `5` is also a text.
        is_text: bool,
    },
    List(Vec<Node>),
    Table(Vec<Entry>),
}

#[derive(Clone, Copy, Debug)]
enum Scalar {
    Nothing,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    /// A float, a date, or a number that is too large.
    Other,
}

#[derive(Debug)]
struct Entry {
    key: String,
    line: usize,
    node: Node,
}

/// One step of the path from the top of the file to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// Parses a TOML document.
pub(super) fn from_toml(text: &str) -> Result<Node, String> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        // Not `Display` of the error: it shows the line, which may hold a credential.
        let line = error.span().map_or(1, |span| lines.at(span.start));
        format!("line {line}: {}", error.message())
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

/// Parses a YAML document.
pub(super) fn from_yaml(text: &str) -> Result<Node, String> {
    // The snippet would show lines that may hold a credential.
    let options = serde_saphyr::options! { with_snippet: false };
    let value: Spanned<YamlValue> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
    Ok(yaml_node(value, text))
}

enum YamlValue {
    Text(String),
    Plain(Scalar),
    List(Vec<Spanned<YamlValue>>),
    Table(Vec<(Spanned<String>, Spanned<YamlValue>)>),
}

fn yaml_node(found: Spanned<YamlValue>, text: &str) -> Node {
    let line = usize::try_from(found.referenced.line()).unwrap_or(usize::MAX);
    let raw = || {
        let span = found.defined.span();
        let bytes = span.byte_offset().zip(span.byte_len());
        let bytes = bytes.and_then(|(start, len)| {
            let start = usize::try_from(start).ok()?;
            text.get(start..start.checked_add(usize::try_from(len).ok()?)?)
        });
        bytes.unwrap_or_default().trim().to_owned()
    };
    let value = match found.value {
        YamlValue::Text(text) => Value::Text(text),
        YamlValue::Plain(scalar) => Value::Plain { raw: raw(), scalar, is_text: true },
        YamlValue::List(nodes) => {
            Value::List(nodes.into_iter().map(|node| yaml_node(node, text)).collect())
        }
        YamlValue::Table(entries) => {
            let entry = |(key, node): (Spanned<String>, _)| Entry {
                line: usize::try_from(key.referenced.line()).unwrap_or(usize::MAX),
                key: key.value,
                node: yaml_node(node, text),
            };
            Value::Table(entries.into_iter().map(entry).collect())
        }
    };
    Node { line, value }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Nothing))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Bool(flag)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Unsigned(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<YamlValue, E> {
        let unsigned = u64::try_from(number).map(Scalar::Unsigned);
        Ok(YamlValue::Plain(unsigned.unwrap_or(Scalar::Signed(number))))
    }

    fn visit_f64<E>(self, _: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Other))
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<YamlValue, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element()? {
            nodes.push(node);
        }
        Ok(YamlValue::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(YamlValue::Table(entries))
    }
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
}

impl Node {
    /// Returns the values of a list; empty if the value is no list.
    pub(super) fn elements(&self) -> &[Node] {
        match &self.value {
            Value::List(nodes) => nodes,
            Value::Text(_) | Value::Plain { .. } | Value::Table(_) => &[],
        }
    }

    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.step(&Step::Key(key.to_owned())).map(|(_, node)| node)
    }

    /// Returns the text, if the value is a text.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Plain { raw, is_text: true, .. } => Some(raw),
            Value::Plain { .. } | Value::List(_) | Value::Table(_) => None,
        }
    }

    fn is_nothing(&self) -> bool {
        matches!(self.value, Value::Plain { scalar: Scalar::Nothing, .. })
    }

    fn step(&self, step: &Step) -> Option<(usize, &Node)> {
        match (&self.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                let entry = entries.iter().find(|entry| entry.key == *key)?;
                Some((entry.line, &entry.node))
            }
            (Value::List(nodes), Step::Index(index)) => {
                nodes.get(*index).map(|node| (node.line, node))
            }
            _ => None,
        }
    }

    /// Returns the line of the value at a path, or of the last existing value on the way to it.
    pub(super) fn line_of(&self, path: &[Step]) -> usize {
        let (mut line, mut node) = (self.line, self);
        for step in path {
            let Some((next_line, next)) = node.step(step) else { break };
            (line, node) = (next_line, next);
        }
        line
    }

    /// Returns the lines of the table at a path, and of its keys.
    pub(super) fn lines_below(&self, path: &[Step]) -> super::Lines {
        let mut node = self;
        for step in path {
            let Some((_, next)) = node.step(step) else { break };
            node = next;
        }
        let keys = match &node.value {
            Value::Table(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.line)).collect()
            }
            Value::Text(_) | Value::Plain { .. } | Value::List(_) => BTreeMap::new(),
        };
        super::Lines { job: node.line, keys }
    }

    /// Returns the value at a path in the form that errors show.
    pub(super) fn shown_at(&self, path: &[Step]) -> String {
        let is_hidden =
            |step: &Step| matches!(step, Step::Key(key) if CREDENTIALS.contains(&key.as_str()));
        let is_secret =
            |step: &Step| matches!(step, Step::Key(key) if SECRET_TEXTS.contains(&key.as_str()));
        let mut node = self;
        for step in path {
            let Some((_, next)) = node.step(step) else { return "missing".to_owned() };
            node = next;
        }
        match &node.value {
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
            Value::Plain { scalar: Scalar::Nothing, .. } => "empty".to_owned(),
            Value::Text(_) if path.iter().any(is_hidden) => "a text".to_owned(),
            Value::Plain { .. } if path.iter().any(is_secret) => "no text".to_owned(),
            Value::Text(text) => format!("{text:?}"),
            Value::Plain { raw, .. } => raw.clone(),
        }
    }
}

/// Reason why a tree is no file of jobs, with its position.
#[derive(Debug)]
pub(super) struct Mistake {
    /// Steps from the inside outwards, in the order in which serde returns through the levels.
    /// [`Mistake::path`] reverses them.
    steps: Vec<Step>,
    pub(super) reason: Reason,
}

#[derive(Debug)]
pub(super) enum Reason {
    /// The value is of another type, or out of range.
    Unfit,
    /// The value is an invalid text.
    Unusable { found: String, valid: String },
    /// The table at the path lacks a key.
    Missing(&'static str),
    /// The table at the path has an unknown key.
    Unknown { key: String, known: &'static [&'static str] },
}

impl Mistake {
    /// Returns the path of the invalid value.
    pub(super) fn path(&self) -> Vec<Step> {
        self.steps.iter().rev().cloned().collect()
    }

    fn new(reason: Reason) -> Self {
        Self { steps: Vec::new(), reason }
    }

    fn under(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.reason, self.path())
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let found = message.to_string();
        Self::new(Reason::Unusable { found, valid: "a value of another kind".to_owned() })
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::new(Reason::Unfit)
    }

    fn invalid_value(found: Unexpected<'_>, valid: &dyn de::Expected) -> Self {
        let Unexpected::Other(found) = found else { return Self::new(Reason::Unfit) };
        Self::new(Reason::Unusable { found: found.to_owned(), valid: valid.to_string() })
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(Reason::Unknown { key: key.to_owned(), known })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Reason::Missing(key))
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Plain { scalar, .. } => match scalar {
                Scalar::Nothing => visitor.visit_unit(),
                Scalar::Bool(flag) => visitor.visit_bool(*flag),
                Scalar::Unsigned(number) => visitor.visit_u64(*number),
                Scalar::Signed(number) => visitor.visit_i64(*number),
                Scalar::Other => Err(Mistake::new(Reason::Unfit)),
            },
            Value::List(nodes) => visitor.visit_seq(Elements { nodes, at: 0 }),
            Value::Table(entries) => visitor.visit_map(Entries { entries, at: 0 }),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.text().filter(|_| !self.is_nothing()) {
            Some(text) => visitor.visit_str(text),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        if self.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Elements<'a> {
    nodes: &'a [Node],
    at: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Mistake;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Mistake> {
        let Some(node) = self.nodes.get(self.at) else { return Ok(None) };
        let element = seed.deserialize(node).map_err(|error| error.under(Step::Index(self.at)));
        self.at += 1;
        element.map(Some)
    }
}

struct Entries<'a> {
    entries: &'a [Entry],
    /// Index of the next entry.
    at: usize,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Mistake;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Mistake> {
        let Some(entry) = self.entries.get(self.at) else { return Ok(None) };
        self.at += 1;
        seed.deserialize(StrDeserializer::new(&entry.key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mistake> {
        let entry = self.at.checked_sub(1).and_then(|at| self.entries.get(at));
        let entry = entry.ok_or_else(|| Mistake::new(Reason::Unfit))?;
        seed.deserialize(&entry.node).map_err(|error| error.under(Step::Key(entry.key.clone())))
    }
}
