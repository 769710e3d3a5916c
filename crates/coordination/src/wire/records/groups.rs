//! The nodes of groups as JSON: limits, permits, and places in the line of waiting jobs.

use serde::{Deserialize, Serialize};
use sharding::{InstanceId, ShardingItem};

use super::decode_token;
use super::format::{FormatVersion, RecordError, from_json, to_json};
use crate::{GroupLimits, JobName, PermitHolder, Slot, StartRate};

#[derive(Serialize, Deserialize)]
struct LimitsDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_rate: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct HolderDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    job: String,
    item: u32,
    /// The number of the slot, if it is not the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<u32>,
    by: String,
    token: u64,
}

#[derive(Serialize, Deserialize)]
struct PlaceDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    by: String,
}

/// Encodes the limits of a group.
#[must_use]
pub fn encode_group_limits(limits: &GroupLimits) -> String {
    to_json(&LimitsDoc {
        version: FormatVersion::WRITTEN,
        cluster_concurrency: limits.cluster_concurrency,
        start_rate: limits.start_rate.map(|rate| rate.to_string()),
    })
}

/// Decodes the limits of a group.
///
/// # Errors
/// [`RecordError`]: the data is no valid record, or a later version wrote it.
///
/// # Examples
/// ```
/// use coordination::{GroupLimits, decode_group_limits, encode_group_limits};
///
/// let limits = GroupLimits { cluster_concurrency: Some(3), start_rate: None };
/// assert_eq!(encode_group_limits(&limits), r#"{"v":1,"cluster_concurrency":3}"#);
/// assert_eq!(decode_group_limits(br#"{"v":1,"cluster_concurrency":3}"#), Ok(limits));
/// ```
pub fn decode_group_limits(bytes: &[u8]) -> Result<GroupLimits, RecordError> {
    let doc: LimitsDoc = from_json(bytes)?;
    let rate = |text: String| {
        let error = || format!("start_rate is {text:?}; valid is {}", StartRate::VALID);
        StartRate::parse(&text).ok_or_else(error)
    };
    let start_rate = doc.start_rate.map(rate).transpose()?;
    let limits = GroupLimits { cluster_concurrency: doc.cluster_concurrency, start_rate };
    limits.check().map_err(|error| error.to_string())?;
    Ok(limits)
}

/// Encodes the run that has a permit.
pub(crate) fn encode_permit_holder(holder: &PermitHolder) -> String {
    let slot = Slot::of(holder.item);
    to_json(&HolderDoc {
        version: FormatVersion::WRITTEN,
        job: holder.job.to_string(),
        item: slot.item.index(),
        slot: Some(slot.number).filter(|number| *number > 0),
        by: holder.holder.to_string(),
        token: holder.token.0,
    })
}

/// Decodes the run that has a permit.
pub(crate) fn decode_permit_holder(bytes: &[u8]) -> Result<PermitHolder, RecordError> {
    let doc: HolderDoc = from_json(bytes)?;
    let number = doc.slot.unwrap_or(0);
    let key = Slot::new(ShardingItem::new(doc.item), number).map(Slot::key);
    Ok(PermitHolder {
        job: JobName::new(&doc.job).map_err(|error| error.to_string())?,
        item: key.ok_or_else(|| format!("item {} has no slot {number}", doc.item))?,
        holder: InstanceId::new(doc.by),
        token: decode_token(doc.token)?,
    })
}

/// Encodes the instance that waits for its job.
pub(crate) fn encode_place(by: &InstanceId) -> String {
    to_json(&PlaceDoc { version: FormatVersion::WRITTEN, by: by.to_string() })
}

/// Decodes the instance that waits for its job.
pub(crate) fn decode_place(bytes: &[u8]) -> Result<InstanceId, RecordError> {
    let doc: PlaceDoc = from_json(bytes)?;
    Ok(InstanceId::new(doc.by))
}
