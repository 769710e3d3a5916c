//! The last starts of a job with a start rate as JSON.

use serde::{Deserialize, Serialize};

use super::format::{FormatVersion, RecordError, from_json, to_json};
use crate::StartLog;

#[derive(Serialize, Deserialize)]
struct StartsDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    starts: Vec<(i64, u32)>,
}

/// Encodes the last starts.
pub(crate) fn encode_starts(log: &StartLog) -> String {
    to_json(&StartsDoc { version: FormatVersion::WRITTEN, starts: log.starts.clone() })
}

/// Decodes the last starts.
pub(crate) fn decode_starts(bytes: &[u8]) -> Result<StartLog, RecordError> {
    let mut doc: StartsDoc = from_json(bytes)?;
    doc.starts.sort_unstable();
    Ok(StartLog { starts: doc.starts })
}
