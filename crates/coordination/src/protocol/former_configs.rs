//! The last replaced configurations, so that one can be restored.

use std::collections::VecDeque;

use crate::UnknownFields;

/// A configuration that is no longer in force, and the change that replaced it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FormerConfig {
    /// The document as it was stored.
    pub document: String,
    /// Time of the replacement by the author's clock, in milliseconds since 1970 UTC.
    pub replaced_ms: i64,
    /// Author of the change that replaced it: an operator, or the server of the program.
    pub who: String,
    /// Reason of that change.
    pub why: String,
}

/// The last configurations of a job that operators, and programs with `overwrite`, have replaced,
/// oldest first.
///
/// Their number and size are bounded, so that the log fits one node.
///
/// # Examples
/// ```
/// use coordination::{FormerConfig, FormerConfigs};
///
/// let mut former = FormerConfigs::default();
/// for n in 0..100 {
///     former.push(FormerConfig {
///         document: format!("{{\"cron\":\"{n} * * * * ?\"}}"),
///         replaced_ms: n,
///         who: "anna".to_owned(),
///         why: "release 12".to_owned(),
///     });
/// }
/// assert_eq!(former.iter().count(), FormerConfigs::MAX_CONFIGS);
/// assert_eq!(former.iter().next_back().map(|last| last.replaced_ms), Some(99));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FormerConfigs(VecDeque<FormerConfigEntry>);

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FormerConfigEntry {
    pub(crate) config: FormerConfig,
    pub(crate) unknown: UnknownFields,
}

impl FormerConfigs {
    /// Maximum number of configurations. The oldest ones are dropped.
    pub const MAX_CONFIGS: usize = 20;
    /// Maximum size of all documents together, in bytes. The oldest ones are dropped, and a larger
    /// document is not added.
    ///
    /// A node of ZooKeeper has at most 1 MiB, and JSON needs up to six bytes for one of a document.
    pub const MAX_BYTES: usize = 128 * 1024;

    /// Returns the text of a stored document. `None` if the log cannot keep it: it is no text, or
    /// larger than [`MAX_BYTES`](Self::MAX_BYTES).
    #[must_use]
    pub fn storable(document: &[u8]) -> Option<&str> {
        let text = std::str::from_utf8(document).ok();
        text.filter(|text| text.len() <= Self::MAX_BYTES)
    }

    /// Adds a configuration and drops the oldest ones beyond the limits. If the document alone is
    /// larger than [`MAX_BYTES`](Self::MAX_BYTES), the log stays as it is.
    pub fn push(&mut self, config: FormerConfig) {
        if config.document.len() > Self::MAX_BYTES {
            return;
        }
        self.0.push_back(FormerConfigEntry { config, unknown: UnknownFields::default() });
        while self.0.len() > Self::MAX_CONFIGS || self.bytes() > Self::MAX_BYTES {
            self.0.pop_front();
        }
    }

    /// Returns the configurations, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &FormerConfig> {
        self.0.iter().map(|entry| &entry.config)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &FormerConfigEntry> {
        self.0.iter()
    }

    fn bytes(&self) -> usize {
        self.iter().map(|config| config.document.len()).sum()
    }
}

impl FromIterator<FormerConfigEntry> for FormerConfigs {
    fn from_iter<T: IntoIterator<Item = FormerConfigEntry>>(entries: T) -> Self {
        Self(entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(bytes: usize, replaced_ms: i64) -> FormerConfig {
        let (who, why) = ("anna".to_owned(), "release 12".to_owned());
        FormerConfig { document: "x".repeat(bytes), replaced_ms, who, why }
    }

    fn kept(former: &FormerConfigs) -> Vec<i64> {
        former.iter().map(|config| config.replaced_ms).collect()
    }

    #[test]
    fn oldest_configs_beyond_the_size_limit_are_dropped() {
        let mut former = FormerConfigs::default();
        let half = FormerConfigs::MAX_BYTES / 2;
        for n in 0..3 {
            former.push(config(half, n));
        }
        assert_eq!(kept(&former), [1, 2]);
    }

    #[test]
    fn oversized_config_is_not_kept_and_drops_no_other() {
        let mut former = FormerConfigs::default();
        former.push(config(1, 0));
        let oversized = config(FormerConfigs::MAX_BYTES + 1, 1);
        assert_eq!(FormerConfigs::storable(oversized.document.as_bytes()), None);
        former.push(oversized);
        assert_eq!(kept(&former), [0]);
        let largest = config(FormerConfigs::MAX_BYTES, 2);
        assert!(FormerConfigs::storable(largest.document.as_bytes()).is_some());
        former.push(largest);
        assert_eq!(kept(&former), [2]);
        assert_eq!(FormerConfigs::storable(b"\xff"), None, "it is no text");
    }
}
