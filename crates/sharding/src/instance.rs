//! The instance id, and the order in which a leader lists instances.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::java_string_cmp;

/// Identity of one instance of a job, such as `10.0.0.1@-@4711`.
///
/// The text is opaque to this crate: it is compared but not parsed, and any text is valid. Clones
/// share the text. `Ord` is the order of Rust's `str`, for use in maps. The strategies use the
/// order of [`sort_descending`] instead.
///
/// # Examples
///
/// ```
/// use sharding::InstanceId;
///
/// let id = InstanceId::new("10.0.0.1@-@4711");
/// assert_eq!(id.as_str(), "10.0.0.1@-@4711");
/// assert_eq!(id, InstanceId::from("10.0.0.1@-@4711"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(Arc<str>);

impl InstanceId {
    /// Returns an id with this text.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// Returns the text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for InstanceId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl Borrow<str> for InstanceId {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for InstanceId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Sorts instances as the leader of ElasticJob 2.1.5 and 3.x lists them: descending, by the whole
/// id, in the order of Java's `String.compareTo`.
///
/// The ids are compared as text, not as addresses and numbers: `@-@9` comes before `@-@100`. The
/// order differs from reversed `Ord` only for characters outside the basic plane, which Java
/// compares as surrogate pairs.
///
/// # Examples
///
/// ```
/// use sharding::{InstanceId, sort_descending};
///
/// let mut instances =
///     ["10.0.0.30@-@1", "10.0.0.3@-@100", "10.0.0.3@-@9"].map(InstanceId::from);
/// sort_descending(&mut instances);
/// assert_eq!(
///     instances.each_ref().map(InstanceId::as_str),
///     ["10.0.0.3@-@9", "10.0.0.3@-@100", "10.0.0.30@-@1"]
/// );
/// ```
pub fn sort_descending(instances: &mut [InstanceId]) {
    instances.sort_unstable_by(descending);
}

/// Compares two instances in the order of [`sort_descending`].
pub(crate) fn descending(left: &InstanceId, right: &InstanceId) -> std::cmp::Ordering {
    java_string_cmp(right.as_str(), left.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descending_order_is_that_of_java_strings() {
        let cases = [
            ("no instances", vec![], vec![]),
            (
                "addresses as text",
                vec!["10.0.0.3", "9", "10.0.0.30"],
                vec!["9", "10.0.0.30", "10.0.0.3"],
            ),
            (
                "the separator is above digits",
                vec!["1.30@-@1", "1.3@-@1"],
                vec!["1.3@-@1", "1.30@-@1"],
            ),
            (
                "surrogates are below the private use area",
                vec!["\u{1F680}", "\u{E000}"],
                vec!["\u{E000}", "\u{1F680}"],
            ),
        ];
        for (case, given, expected) in cases {
            let mut instances: Vec<_> = given.into_iter().map(InstanceId::from).collect();
            sort_descending(&mut instances);
            assert_eq!(
                instances.iter().map(InstanceId::as_str).collect::<Vec<_>>(),
                expected,
                "{case}"
            );
        }
    }
}
