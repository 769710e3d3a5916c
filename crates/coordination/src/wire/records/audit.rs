//! The log of audited changes as JSON: a list, in which each entry is a record of its own.

use serde::{Deserialize, Serialize};

use super::format::{FormatVersion, RecordError, from_json, to_json};
use crate::protocol::audit::AuditEntry;
use crate::{AuditLog, AuditRecord, UnknownFields};

#[derive(Serialize, Deserialize)]
struct EntryDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    id: String,
    at_ms: i64,
    who: String,
    why: String,
    act: String,
    target: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    what: String,
    #[serde(flatten)]
    unknown: UnknownFields,
}

impl From<&AuditEntry> for EntryDoc {
    fn from(entry: &AuditEntry) -> Self {
        let AuditRecord { id, at_ms, who, why, act, target, what } = entry.record.clone();
        let (version, unknown) = (FormatVersion::WRITTEN, entry.unknown.clone());
        Self { version, id, at_ms, who, why, act, target, what, unknown }
    }
}

impl From<EntryDoc> for AuditEntry {
    fn from(doc: EntryDoc) -> Self {
        let EntryDoc { id, at_ms, who, why, act, target, what, unknown, .. } = doc;
        Self { record: AuditRecord { id, at_ms, who, why, act, target, what }, unknown }
    }
}

/// Encodes the log.
pub(crate) fn encode_audit(log: &AuditLog) -> String {
    to_json(&log.entries().map(EntryDoc::from).collect::<Vec<_>>())
}

/// Decodes the log.
pub(crate) fn decode_audit(bytes: &[u8]) -> Result<AuditLog, RecordError> {
    let docs: Vec<EntryDoc> = from_json(bytes)?;
    Ok(docs.into_iter().map(AuditEntry::from).collect())
}
