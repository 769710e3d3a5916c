//! A file of jobs as a tree of values with their lines, the same for TOML and YAML.

mod deserializer;
mod edit;
mod toml;
mod yaml;

use std::collections::BTreeMap;

use super::declared::Lines;

pub(super) use self::toml::from_toml;
pub(super) use deserializer::{Mistake, Reason};
pub(super) use yaml::from_yaml;

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
    pub(super) fn lines_below(&self, path: &[Step]) -> Lines {
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
        Lines { job: node.line, keys }
    }

    /// Returns the value at a path.
    fn at(&self, path: &[Step]) -> Option<&Self> {
        path.iter().try_fold(self, |node, step| Some(node.step(step)?.1))
    }

    /// Returns the value at a path in the form that errors show.
    pub(super) fn shown_at(&self, path: &[Step]) -> String {
        let is_hidden =
            |step: &Step| matches!(step, Step::Key(key) if CREDENTIALS.contains(&key.as_str()));
        let is_secret =
            |step: &Step| matches!(step, Step::Key(key) if SECRET_TEXTS.contains(&key.as_str()));
        let Some(node) = self.at(path) else { return "missing".to_owned() };
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
