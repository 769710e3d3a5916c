//! Changes of a tree: a value that is a mistake is taken out, so that the search goes on.

use super::{Entry, Node, Scalar, Step, Value};

impl Node {
    pub(in crate::file) fn of_text(text: &str) -> Self {
        Self { line: 0, value: Value::Text(text.to_owned()) }
    }

    pub(in crate::file) fn of_number(number: u64) -> Self {
        Self::plain(number.to_string(), Scalar::Unsigned(number))
    }

    pub(in crate::file) fn of_flag(flag: bool) -> Self {
        Self::plain(flag.to_string(), Scalar::Bool(flag))
    }

    fn plain(raw: String, scalar: Scalar) -> Self {
        Self { line: 0, value: Value::Plain { raw, scalar, is_text: false } }
    }

    pub(in crate::file) fn of_table<const N: usize>(values: [(&str, Self); N]) -> Self {
        let entry = |(key, node): (&str, Self)| Entry { key: key.to_owned(), line: 0, node };
        Self { line: 0, value: Value::Table(values.into_iter().map(entry).collect()) }
    }

    /// Returns true if there is a value at a path.
    pub(in crate::file) fn has(&self, path: &[Step]) -> bool {
        self.at(path).is_some()
    }

    /// Returns true if there is a table at a path.
    pub(in crate::file) fn is_table(&self, path: &[Step]) -> bool {
        self.at(path).is_some_and(|node| matches!(node.value, Value::Table(_)))
    }

    /// Sets the value at a path, whose parent must exist. The line of a replaced value stays.
    pub(in crate::file) fn set(&mut self, path: &[Step], new: Self) {
        let Some((last, parent)) = path.split_last() else { return };
        match (self.at_mut(parent).map(|node| &mut node.value), last) {
            (Some(Value::Table(entries)), Step::Key(key)) => {
                match entries.iter_mut().find(|entry| entry.key == *key) {
                    Some(entry) => entry.node.value = new.value,
                    None => entries.push(Entry { key: key.clone(), line: 0, node: new }),
                }
            }
            (Some(Value::List(nodes)), Step::Index(index)) => {
                if let Some(node) = nodes.get_mut(*index) {
                    node.value = new.value;
                }
            }
            _ => {}
        }
    }

    /// Removes a key of a table. Elements of lists stay, because paths count them.
    pub(in crate::file) fn remove(&mut self, path: &[Step]) {
        let Some((Step::Key(key), parent)) = path.split_last() else { return };
        if let Some(Value::Table(entries)) = self.at_mut(parent).map(|node| &mut node.value) {
            entries.retain(|entry| entry.key != *key);
        }
    }

    fn at_mut(&mut self, path: &[Step]) -> Option<&mut Self> {
        path.iter().try_fold(self, |node, step| match (&mut node.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
            }
            (Value::List(nodes), Step::Index(index)) => nodes.get_mut(*index),
            _ => None,
        })
    }
}
