//! The runs that wait for a place in their process as JSON.

use serde::{Deserialize, Serialize};
use sharding::ShardingItem;

use super::format::{FormatVersion, RecordError, from_json, to_json};
use crate::WaitingRuns;

#[derive(Serialize, Deserialize)]
struct WaitingDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    limit: u32,
    since: i64,
    count: u32,
    items: Vec<u32>,
}

/// Encodes the runs that wait for a place.
pub(crate) fn encode_waiting(waiting: &WaitingRuns) -> String {
    to_json(&WaitingDoc {
        version: FormatVersion::WRITTEN,
        limit: waiting.limit,
        since: waiting.since_ms,
        count: waiting.count,
        items: waiting.items.iter().map(|item| item.index()).collect(),
    })
}

/// Decodes the runs that wait for a place.
pub(crate) fn decode_waiting(bytes: &[u8]) -> Result<WaitingRuns, RecordError> {
    let doc: WaitingDoc = from_json(bytes)?;
    let mut items: Vec<_> = doc.items.into_iter().map(ShardingItem::new).collect();
    items.sort_unstable();
    Ok(WaitingRuns { limit: doc.limit, since_ms: doc.since, count: doc.count, items })
}
