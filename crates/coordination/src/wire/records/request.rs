//! Manual requests of operators as JSON.

use serde::{Deserialize, Serialize};

use super::format::{FormatVersion, RecordError, from_json, to_json};
use super::item_ranges::{RangesDoc, decode_items, encode_items};
use super::{decode_parameter, encode_parameter};
use crate::protocol::trigger_record::TriggerRecord;
use crate::{FireTime, MAX_SHARDING_TOTAL_COUNT, UnknownFields};

#[derive(Serialize, Deserialize)]
struct TriggerDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    by: String,
    at: i64,
    /// Absent for a request for all items. Empty once the records of all items contain the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<RangesDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

/// Encodes a manual request.
pub(crate) fn encode_trigger(record: &TriggerRecord) -> String {
    to_json(&TriggerDoc {
        version: FormatVersion::WRITTEN,
        by: record.by.clone(),
        at: record.at.0,
        items: record.items.as_ref().map(|items| encode_items(items.iter().copied())),
        parameter: encode_parameter(record.parameter.as_ref()),
        unknown: record.unknown.clone(),
    })
}

/// Decodes a manual request.
pub(crate) fn decode_trigger(bytes: &[u8]) -> Result<TriggerRecord, RecordError> {
    let doc: TriggerDoc = from_json(bytes)?;
    let read = |ranges: &RangesDoc| decode_items(ranges, MAX_SHARDING_TOTAL_COUNT);
    Ok(TriggerRecord {
        by: doc.by,
        at: FireTime(doc.at),
        items: doc.items.as_ref().map(read).transpose()?,
        parameter: decode_parameter(doc.parameter.as_deref())?,
        unknown: doc.unknown,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sharding::ShardingItem;

    use super::*;
    use crate::RequestParameter;

    fn round_trips(record: &TriggerRecord) {
        let text = encode_trigger(record);
        assert_eq!(decode_trigger(text.as_bytes()).unwrap(), *record, "{text}");
    }

    #[test]
    fn requests_round_trip() {
        let some = |items: &[u32]| -> BTreeSet<ShardingItem> {
            items.iter().copied().map(ShardingItem::new).collect()
        };
        for items in [Some(some(&[])), Some(some(&[0, 1, 2, 7])), None] {
            let by = "operator".to_owned();
            round_trips(&TriggerRecord::new(by, FireTime(7), items));
        }
    }

    #[test]
    fn parameter_round_trips_and_its_bytes_are_fixed() {
        let parameter = RequestParameter::new("a\"b\n作").ok();
        let record =
            TriggerRecord { parameter, ..TriggerRecord::new("a".into(), FireTime(1_501), None) };
        round_trips(&record);
        assert_eq!(encode_trigger(&record), r#"{"v":1,"by":"a","at":1501,"parameter":"a\"b\n作"}"#);
    }
}
