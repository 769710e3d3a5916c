//! Assignment records as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sharding::InstanceId;

use super::format::{FormatVersion, RecordError, from_json, to_json};
use super::item_ranges::{RangesDoc, check_ranges};
use crate::protocol::assignment::AssignmentRecord;
use crate::protocol::pending::Pending;
use crate::{FireTime, MAX_SHARDING_TOTAL_COUNT, UnknownFields};

#[derive(Serialize, Deserialize)]
struct AssignmentDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    members: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<String, String>,
    total: u32,
    strategy: String,
    handled: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<i64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pending: BTreeMap<String, RangesDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    announced: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    counts: Vec<u32>,
    /// Hexadecimal, because JSON numbers of other readers may have 53 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    placement: Option<String>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

/// Encodes an assignment record, with the pending items of each instance as inclusive ranges.
pub fn encode_assignment(record: &AssignmentRecord) -> String {
    let mut pending: BTreeMap<&InstanceId, RangesDoc> = BTreeMap::new();
    for (first, last, next) in record.pending.ranges() {
        pending.entry(next).or_default().push((first.index(), last.index()));
    }
    let names = record.names.iter().map(|(id, name)| (id.to_string(), name.clone()));
    to_json(&AssignmentDoc {
        version: FormatVersion::WRITTEN,
        members: record.members.iter().map(ToString::to_string).collect(),
        names: names.collect(),
        total: record.total_count,
        strategy: record.strategy.clone(),
        handled: record.handled,
        due: record.due.map(|fire| fire.0),
        pending: pending.into_iter().map(|(owner, items)| (owner.to_string(), items)).collect(),
        announced: record.announced,
        counts: record
            .members
            .iter()
            .filter_map(|member| record.counts.get(member))
            .copied()
            .collect(),
        placement: record.placement.map(|hash| format!("{hash:016x}")),
        unknown: record.unknown.clone(),
    })
}

/// Decodes an assignment record.
///
/// # Errors
/// The bytes are no valid record, or a record of a later version.
pub fn decode_assignment(bytes: &[u8]) -> Result<AssignmentRecord, RecordError> {
    let doc: AssignmentDoc = from_json(bytes)?;
    if doc.total > MAX_SHARDING_TOTAL_COUNT {
        return Err(format!("total {} is above {MAX_SHARDING_TOTAL_COUNT}", doc.total).into());
    }
    let mut pending = Pending::default();
    for (id, ranges) in doc.pending {
        let next = InstanceId::new(id);
        check_ranges(&ranges, doc.total)?;
        for (first, last) in ranges {
            pending.try_insert_range(first, last, &next).map_err(|(item, other)| {
                format!("item {item} has two next owners, {other} and {next}")
            })?;
        }
    }
    let members: Vec<_> = doc.members.into_iter().map(InstanceId::new).collect();
    let counts: BTreeMap<_, _> = members.iter().cloned().zip(doc.counts).collect();
    Ok(AssignmentRecord {
        members,
        names: doc.names.into_iter().map(|(id, name)| (InstanceId::new(id), name)).collect(),
        total_count: doc.total,
        strategy: doc.strategy,
        handled: doc.handled,
        due: doc.due.map(FireTime),
        pending,
        announced: doc.announced,
        counts,
        // Another text differs from every hash, so that items are assigned anew.
        placement: doc.placement.map(|text| u64::from_str_radix(&text, 16).unwrap_or(0)),
        unknown: doc.unknown,
    })
}

#[cfg(test)]
mod tests {
    use sharding::ShardingItem;

    use super::*;

    #[test]
    fn assignment_record_is_compact_and_round_trips() {
        let owner = |i: u32| InstanceId::new(format!("10.0.0.{}@-@1", 1 + i / 100));
        let record = AssignmentRecord {
            members: vec![owner(0), owner(100)],
            names: [(owner(0), "first".to_owned())].into(),
            total_count: 200,
            strategy: "AVG_ALLOCATION".into(),
            handled: 7,
            due: Some(FireTime(1_000)),
            pending: (0..200).map(|i| (ShardingItem::new(i), owner(i))).collect(),
            announced: Some(3),
            counts: [(owner(0), 100), (owner(100), 100)].into(),
            placement: Some(0x0123_4567_89ab_cdef),
            unknown: UnknownFields::default(),
        };
        let text = encode_assignment(&record);
        assert!(text.len() < 300, "{text}");
        assert_eq!(decode_assignment(text.as_bytes()).unwrap(), record);
    }
}
