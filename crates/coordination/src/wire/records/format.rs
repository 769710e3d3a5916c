//! The format version of stored records, and the rule for readers of other versions.
//!
//! | `"v"` of a record | this version |
//! |---|---|
//! | absent or 0 | reads it; writes it as version 1 the next time |
//! | 1 | reads and writes it |
//! | 2 | reads and writes it: the record of an item that has further slots |
//! | greater | refuses it: neither uses nor overwrites it |
//!
//! A version is raised only if an older instance would decide wrongly by the record. Such an
//! instance cannot know which part is safe to use, so it uses none. Every other addition is a
//! new field of the same version: [`UnknownFields`](crate::UnknownFields) keeps it.
//!
//! `docs/compatibility.md` has the rules for changes.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};

/// Greatest format version of the records that this version reads and writes.
pub const FORMAT_VERSION: u64 = 2;

/// Reason why a stored record cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// The data is no valid record. The text describes the damage.
    Damaged(String),
    /// A later version of this project wrote the record, in a format that this version cannot read.
    /// It must not be overwritten.
    Newer {
        /// Format version of the record.
        version: u64,
    },
}

impl RecordError {
    /// Returns true if a later version of this project wrote the record.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Newer { .. })
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(reason) => f.write_str(reason),
            Self::Newer { version } => write!(
                f,
                "the record has format version {version}, and this program reads versions up to {FORMAT_VERSION}: update this program"
            ),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<String> for RecordError {
    fn from(damage: String) -> Self {
        Self::Damaged(damage)
    }
}

/// The field `v`, the first one of each record. Its default is the version of a record without it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct FormatVersion(u64);

impl FormatVersion {
    /// Version of the records from before the field existed.
    pub(super) const ZERO: Self = Self(0);
    /// Version of the records that are written, except for those with a later one.
    pub(super) const WRITTEN: Self = Self(1);
    /// Version of the record of an item that has further slots. A leader that ignored their runs
    /// could move the item.
    pub(super) const WITH_SLOTS: Self = Self(2);
}

impl<'de> Deserialize<'de> for FormatVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let version = u64::deserialize(deserializer)?;
        if version > FORMAT_VERSION {
            return Err(D::Error::custom(RecordError::Newer { version }));
        }
        Ok(Self(version))
    }
}

/// Decodes the document of a record.
pub(super) fn from_json<D: DeserializeOwned>(bytes: &[u8]) -> Result<D, RecordError> {
    // One check of the whole record takes less time than the parser's check of each string.
    let decoded = match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    decoded.map_err(|damage| match version_of(bytes) {
        Some(version) if version > FORMAT_VERSION => RecordError::Newer { version },
        Some(_) | None => RecordError::Damaged(damage),
    })
}

/// Encodes the document of a record.
pub(super) fn to_json(doc: &impl Serialize) -> String {
    serde_json::to_string(doc).expect("records have string keys and no maps that could fail")
}

/// The only field that has the same meaning in every version.
#[derive(Deserialize)]
struct Header {
    #[serde(default)]
    v: u64,
}

/// Returns the greatest version in a record, or in a list of records.
fn version_of(bytes: &[u8]) -> Option<u64> {
    if let Ok(header) = serde_json::from_slice::<Header>(bytes) {
        return Some(header.v);
    }
    let headers = serde_json::from_slice::<Vec<Header>>(bytes).ok()?;
    headers.iter().map(|header| header.v).max()
}
