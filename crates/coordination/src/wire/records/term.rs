//! The term of a leader as JSON.

use serde::{Deserialize, Serialize};
use sharding::InstanceId;

use super::to_json;

#[derive(Serialize, Deserialize)]
struct TermDoc {
    leader: String,
}

/// Encodes the term of a leader.
pub(crate) fn encode_term(leader: &InstanceId) -> String {
    to_json(&TermDoc { leader: leader.to_string() })
}

/// Decodes the leader of a term.
pub(crate) fn decode_term(bytes: &[u8]) -> Result<InstanceId, String> {
    let doc: TermDoc = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    Ok(InstanceId::new(doc.leader))
}
