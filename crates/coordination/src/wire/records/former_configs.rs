//! The log of replaced configurations as JSON: a list, in which each entry is a record of its own.

use serde::{Deserialize, Serialize};

use super::format::{FormatVersion, RecordError, from_json, to_json};
use crate::protocol::former_configs::FormerConfigEntry;
use crate::{FormerConfig, FormerConfigs, UnknownFields};

#[derive(Serialize, Deserialize)]
struct EntryDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    replaced_ms: i64,
    who: String,
    why: String,
    document: String,
    #[serde(flatten)]
    unknown: UnknownFields,
}

impl From<&FormerConfigEntry> for EntryDoc {
    fn from(entry: &FormerConfigEntry) -> Self {
        let FormerConfig { document, replaced_ms, who, why } = entry.config.clone();
        let (version, unknown) = (FormatVersion::WRITTEN, entry.unknown.clone());
        Self { version, replaced_ms, who, why, document, unknown }
    }
}

impl From<EntryDoc> for FormerConfigEntry {
    fn from(doc: EntryDoc) -> Self {
        let EntryDoc { replaced_ms, who, why, document, unknown, .. } = doc;
        Self { config: FormerConfig { document, replaced_ms, who, why }, unknown }
    }
}

/// Encodes the log.
pub(crate) fn encode_former_configs(log: &FormerConfigs) -> String {
    to_json(&log.entries().map(EntryDoc::from).collect::<Vec<_>>())
}

/// Decodes the log.
pub(crate) fn decode_former_configs(bytes: &[u8]) -> Result<FormerConfigs, RecordError> {
    let docs: Vec<EntryDoc> = from_json(bytes)?;
    Ok(docs.into_iter().map(FormerConfigEntry::from).collect())
}
