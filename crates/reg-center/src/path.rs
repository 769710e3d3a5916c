//! Node paths: validated once, then only joined and split.

use std::fmt;
use std::sync::Arc;

/// Maximum length of a path, in bytes.
pub const MAX_PATH_BYTES: usize = 4096;

/// An absolute path of a node, such as `/report/sharding/0/instance`.
///
/// The root is `/`. Every other path starts with a slash and does not end with one. It has no
/// empty, `.` or `..` segment. It has no control, private use or special character (U+E000 to
/// U+F8FF, U+FFF0 to U+FFFF) and none beyond U+FFFF (such as emoji). These are the rules of
/// ZooKeeper, which other registries can keep as well.
///
/// A path is cheap to clone. Paths are ordered as text, so that the nodes of a subtree are
/// adjacent.
///
/// # Examples
/// ```
/// use reg_center::NodePath;
///
/// let item = NodePath::parse("/report/sharding")?.join("0")?;
/// assert_eq!(item.as_str(), "/report/sharding/0");
/// assert_eq!(item.name(), "0");
/// assert_eq!(item.parent().map(|p| p.to_string()).as_deref(), Some("/report/sharding"));
/// assert!(NodePath::parse("/report//0").is_err());
/// # Ok::<(), reg_center::PathError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Arc<str>);

impl NodePath {
    /// Returns the root, `/`.
    #[must_use]
    pub fn root() -> Self {
        Self(Arc::from("/"))
    }

    /// Parses an absolute path.
    ///
    /// # Errors
    /// [`PathError`] names the path and the violated rule.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let fail = |reason| Err(PathError { path: text.to_owned(), reason });
        if text == "/" {
            return Ok(Self::root());
        }
        if text.len() > MAX_PATH_BYTES {
            return fail("it is longer than 4096 bytes");
        }
        let Some(segments) = text.strip_prefix('/') else {
            return fail("it must start with a slash");
        };
        match segments.split('/').find_map(segment_fault) {
            Some(reason) => fail(reason),
            None => Ok(Self(Arc::from(text))),
        }
    }

    /// Returns the child of this node with the given name.
    ///
    /// # Errors
    /// [`PathError`] if the name is not one valid segment.
    pub fn join(&self, name: &str) -> Result<Self, PathError> {
        let path = if self.is_root() { format!("/{name}") } else { format!("{}/{name}", self.0) };
        match segment_fault(name) {
            Some(reason) => Err(PathError { path, reason }),
            None if path.len() > MAX_PATH_BYTES => {
                Err(PathError { path, reason: "it is longer than 4096 bytes" })
            }
            None => Ok(Self(Arc::from(path))),
        }
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for `/`.
    #[must_use]
    pub fn is_root(&self) -> bool {
        &*self.0 == "/"
    }

    /// Returns the last segment; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the parent, or `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (above, name) = self.0.rsplit_once('/')?;
        match (above, name) {
            ("", "") => None,
            ("", _) => Some(Self::root()),
            _ => Some(Self(Arc::from(above))),
        }
    }

    /// Returns true if this is `root` or a node below it. `/ab` is not below `/a`.
    #[must_use]
    pub fn is_within(&self, root: &Self) -> bool {
        self == root || self.below(root).is_some()
    }

    /// Returns the text after `root/`, or `None` if this node is not below `root`.
    ///
    /// ```
    /// use reg_center::NodePath;
    ///
    /// let root = NodePath::parse("/job")?;
    /// assert_eq!(NodePath::parse("/job/config")?.below(&root), Some("config"));
    /// assert_eq!(NodePath::parse("/jobs/config")?.below(&root), None);
    /// # Ok::<(), reg_center::PathError>(())
    /// ```
    #[must_use]
    pub fn below(&self, root: &Self) -> Option<&str> {
        let rest = if root.is_root() {
            self.0.strip_prefix('/')
        } else {
            self.0.strip_prefix(&*root.0)?.strip_prefix('/')
        };
        rest.filter(|rest| !rest.is_empty())
    }
}

/// Returns the rule that a segment violates, if any.
fn segment_fault(segment: &str) -> Option<&'static str> {
    match segment {
        "" => Some("it has an empty segment"),
        "." | ".." => Some("it has a relative segment"),
        // Fast path for plain ASCII names, which are nearly all names.
        _ if segment.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'/') => None,
        _ if segment.contains('/') => Some("a name must not contain a slash"),
        _ if segment.chars().any(char::is_control) => Some("it has a control character"),
        // ZooKeeper sees two surrogates, which it rejects.
        _ if segment.chars().any(|c| c > '\u{FFFF}') => {
            Some("it has a character beyond U+FFFF, such as an emoji")
        }
        _ if segment.chars().any(is_reserved) => Some("it has a private or special character"),
        _ => None,
    }
}

/// Returns true for private use characters and for the specials at the end of the basic plane,
/// which ZooKeeper rejects.
fn is_reserved(c: char) -> bool {
    matches!(c, '\u{E000}'..='\u{F8FF}' | '\u{FFF0}'..='\u{FFFF}')
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl std::str::FromStr for NodePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

/// A text that is not a valid node path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{path:?} is not a node path: {reason}; valid is an absolute path such as \"/jobs/report\""
)]
pub struct PathError {
    path: String,
    reason: &'static str,
}

impl PathError {
    /// Returns the violated rule as a clause: `it has an empty segment`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_every_registry_can_store_are_accepted() {
        let rows = [
            ("root", "/", true),
            ("one segment", "/a", true),
            ("any other Unicode", "/作业/0", true),
            ("spaces inside", "/a b", true),
            ("empty", "", false),
            ("relative", "a/b", false),
            ("trailing slash", "/a/", false),
            ("double slash", "//a", false),
            ("dot", "/a/.", false),
            ("dot dot", "/a/../b", false),
            ("NUL", "/a\0", false),
            ("line break", "/a\nb", false),
            ("private use", "/a\u{E000}", false),
            ("special", "/a\u{FFFD}", false),
            ("emoji", "/a🚀", false),
        ];
        for (case, text, valid) in rows {
            assert_eq!(NodePath::parse(text).is_ok(), valid, "{case}");
        }
        let long = format!("/{}", "x".repeat(MAX_PATH_BYTES));
        assert!(NodePath::parse(&long).is_err());
    }

    #[test]
    fn a_child_is_within_its_ancestors_and_a_path_with_the_same_prefix_is_not() {
        let root = NodePath::parse("/a").unwrap();
        let rows = [("/a", true), ("/a/b", true), ("/ab", false), ("/", false)];
        for (text, within) in rows {
            assert_eq!(NodePath::parse(text).unwrap().is_within(&root), within, "{text}");
        }
        assert!(root.is_within(&NodePath::root()));
        assert_eq!(root.below(&NodePath::root()), Some("a"));
        assert_eq!(NodePath::root().below(&NodePath::root()), None);
    }

    #[test]
    fn joining_and_splitting_are_inverse() {
        let child = NodePath::root().join("a").unwrap().join("b").unwrap();
        assert_eq!(child.parent().unwrap().join(child.name()).unwrap(), child);
        assert_eq!(NodePath::root().parent(), None);
        assert!(NodePath::root().join("a/b").is_err());
    }
}
