//! The term of a leader as JSON.

use serde::{Deserialize, Serialize};
use sharding::InstanceId;

use super::format::{FormatVersion, RecordError, from_json, to_json};

#[derive(Serialize, Deserialize)]
struct TermDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    leader: String,
}

/// Encodes the term of a leader.
pub(crate) fn encode_term(leader: &InstanceId) -> String {
    to_json(&TermDoc { version: FormatVersion::WRITTEN, leader: leader.to_string() })
}

/// Decodes the leader of a term.
pub(crate) fn decode_term(bytes: &[u8]) -> Result<InstanceId, RecordError> {
    let doc: TermDoc = from_json(bytes)?;
    Ok(InstanceId::new(doc.leader))
}
