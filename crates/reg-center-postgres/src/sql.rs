//! SQL texts. All values are literals in the text, because a statement that is prepared in one
//! message and executed in the next one does not work behind a pooler.

use std::fmt::Write as _;

use reg_center::{Expect, Lifetime, NodePath, Op, Scope};

/// Returns a literal of a text, whatever the server's settings of literals are.
pub(crate) fn text(value: &str) -> String {
    if value.chars().all(|c| c != '\'' && c != '\\' && c != '\0') {
        return format!("'{value}'");
    }
    format!("convert_from(decode('{}', 'hex'), 'UTF8')", hex(value.as_bytes()))
}

/// Returns a literal of an array of texts.
pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    let mut array = String::from("{");
    for (n, value) in values.into_iter().enumerate() {
        array.push_str(if n == 0 { "\"" } else { ",\"" });
        for c in value.chars() {
            if matches!(c, '"' | '\\') {
                array.push('\\');
            }
            array.push(c);
        }
        array.push('"');
    }
    array.push('}');
    format!("{}::text[]", text(&array))
}

/// Returns a literal of an array of integers.
pub(crate) fn integers(values: impl IntoIterator<Item = i64>, kind: &str) -> String {
    let mut array = String::from("'{");
    for (n, value) in values.into_iter().enumerate() {
        let separator = if n == 0 { "" } else { "," };
        write!(array, "{separator}{value}").expect("writing to a string cannot fail");
    }
    format!("{array}}}'::{kind}[]")
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the key of a node: its parent and its name, both empty for the root.
pub(crate) fn key(path: &NodePath) -> (String, &str) {
    match path.parent() {
        Some(parent) => (parent.as_str().to_owned(), path.name()),
        None => (String::new(), ""),
    }
}

/// Returns the path of a key.
pub(crate) fn path_of(parent: &str, name: &str) -> String {
    match parent {
        "" => "/".to_owned(),
        "/" => format!("/{name}"),
        parent => format!("{parent}/{name}"),
    }
}

/// Returns the tree of a node: its top-level name, which is empty for the root.
pub(crate) fn tree_of(path: &NodePath) -> &str {
    path.as_str()[1..].split('/').next().unwrap_or_default()
}

/// Returns the condition that selects the trees of a scope; `None` for all trees.
pub(crate) fn trees_of(scope: &Scope) -> Option<Vec<&str>> {
    let mut trees: Vec<&str> = Vec::new();
    for part in scope.parts() {
        if part.is_root() {
            return None;
        }
        trees.push(tree_of(part));
    }
    trees.dedup();
    Some(trees)
}

/// The arguments of `commit_all` for some transactions.
pub(crate) struct Batch {
    /// The sorted names of all trees that the transactions touch.
    pub(crate) trees: Vec<String>,
    arguments: String,
}

impl Batch {
    pub(crate) fn new(txns: &[&[Op]]) -> Self {
        let ops = || txns.iter().flat_map(|ops| ops.iter());
        let mut trees: Vec<String> = ops().map(|op| tree_of(op.path()).to_owned()).collect();
        trees.sort_unstable();
        trees.dedup();
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let ends = txns.iter().scan(0, |end, ops| {
            *end += ops.len();
            Some(count(*end))
        });
        let tree = |op: &Op| {
            let found = trees.binary_search_by(|name| name.as_str().cmp(tree_of(op.path())));
            count(found.unwrap_or_default() + 1)
        };
        let keys: Vec<(String, &str)> = ops().map(|op| key(op.path())).collect();
        let data_ends = ops().scan(0, |end, op| {
            *end += op.data_len();
            Some(count(*end))
        });
        let data: String = ops().map(|op| hex(data_of(op))).collect();
        let arguments = [
            texts(trees.iter().map(String::as_str)),
            integers(ends, "int"),
            integers(ops().map(kind_of), "int"),
            integers(ops().map(version_of), "bigint"),
            integers(ops().map(tree), "int"),
            texts(keys.iter().map(|(parent, _)| parent.as_str())),
            texts(keys.iter().map(|(_, name)| *name)),
            format!("decode('{data}', 'hex')"),
            integers(data_ends, "int"),
        ];
        Self { trees, arguments: arguments.join(", ") }
    }

    pub(crate) fn arguments(&self) -> &str {
        &self.arguments
    }
}

fn kind_of(op: &Op) -> i64 {
    match op {
        Op::Create { lifetime: Lifetime::Persistent, .. } => 1,
        Op::Create { lifetime: Lifetime::Ephemeral, .. } => 2,
        Op::Put { .. } => 3,
        Op::Delete { .. } => 4,
        Op::Check { .. } => 5,
        Op::CheckAbsent { .. } => 6,
    }
}

fn version_of(op: &Op) -> i64 {
    match op {
        Op::Put { expect, .. } | Op::Delete { expect, .. } | Op::Check { expect, .. } => {
            match expect {
                Expect::Exists => -1,
                Expect::Version(version) => i64::from(version.0),
            }
        }
        Op::Create { .. } | Op::CheckAbsent { .. } => -1,
    }
}

fn data_of(op: &Op) -> &[u8] {
    match op {
        Op::Create { data, .. } | Op::Put { data, .. } => data,
        Op::Delete { .. } | Op::Check { .. } | Op::CheckAbsent { .. } => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_cannot_be_left() {
        assert_eq!(text("a b"), "'a b'");
        let quoted = text("a'b\\");
        assert_eq!(quoted, "convert_from(decode('6127625c', 'hex'), 'UTF8')");
        assert_eq!(texts(["a", ""]), "'{\"a\",\"\"}'::text[]");
        assert_eq!(texts([]), "'{}'::text[]");
        assert!(texts(["x\"y"]).starts_with("convert_from("), "it has a backslash");
        assert_eq!(integers([1, -2], "int"), "'{1,-2}'::int[]");
    }

    #[test]
    fn a_node_belongs_to_the_tree_of_its_top_level_name() {
        let rows = [("/", ""), ("/a", "a"), ("/a/b/c", "a"), ("/ab", "ab")];
        for (path, tree) in rows {
            assert_eq!(tree_of(&NodePath::parse(path).unwrap()), tree, "{path}");
        }
    }

    #[test]
    fn a_key_is_turned_back_into_its_path() {
        for path in ["/", "/a", "/a/b", "/a/b/c"] {
            let parsed = NodePath::parse(path).unwrap();
            let (parent, name) = key(&parsed);
            assert_eq!(path_of(&parent, name), path);
        }
    }
}
