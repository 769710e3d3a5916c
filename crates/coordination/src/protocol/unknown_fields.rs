//! Fields of a stored record that this version does not know.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Fields that a later version of this project added to a record.
///
/// They are kept when the record is rewritten, so that instances of two versions can change the
/// same record. Almost every record has none, so that the empty value is one word. The fields never
/// grow: rewriting writes what was read, and the registry bounds the size of a node.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct UnknownFields(Option<Arc<BTreeMap<String, Value>>>);

impl UnknownFields {
    /// Returns true if the record has no unknown field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the size of the fields in the record's document, in bytes.
    pub(crate) fn json_bytes(&self) -> usize {
        let Some(fields) = &self.0 else { return 0 };
        serde_json::to_string(&**fields).map_or(0, |text| text.len())
    }
}

impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().flat_map(|fields| fields.iter())).finish()
    }
}

impl Serialize for UnknownFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().flat_map(|fields| fields.iter()))
    }
}

impl<'de> Deserialize<'de> for UnknownFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = BTreeMap::deserialize(deserializer)?;
        Ok(Self((!fields.is_empty()).then(|| Arc::new(fields))))
    }
}
