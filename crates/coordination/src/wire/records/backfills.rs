//! The log of backfills as JSON: a list, in which each entry is a record of its own.

use serde::{Deserialize, Serialize};

use super::format::{FormatVersion, RecordError, from_json, to_json};
use super::item_ranges::{RangesDoc, decode_items, encode_items};
use crate::{
    Backfill, BackfillCancel, BackfillLog, FireTime, MAX_BACKFILL_CONCURRENCY, MAX_BACKFILL_FIRES,
    MAX_SHARDING_TOTAL_COUNT, UnknownFields,
};

#[derive(Serialize, Deserialize)]
struct BackfillDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    id: String,
    by: String,
    why: String,
    at: i64,
    from: i64,
    until: i64,
    /// Absent once the backfill has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fires: Vec<i64>,
    total: usize,
    items: RangesDoc,
    concurrency: usize,
    done: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel: Option<CancelDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<i64>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

#[derive(Serialize, Deserialize)]
struct CancelDoc {
    by: String,
    why: String,
    at: i64,
}

/// Encodes the log.
pub(crate) fn encode_backfills(log: &BackfillLog) -> String {
    to_json(&log.iter().map(encode).collect::<Vec<_>>())
}

/// Decodes the log of backfills of a job.
///
/// # Errors
/// The bytes are no valid log, or a log of a later version.
pub fn decode_backfills(bytes: &[u8]) -> Result<BackfillLog, RecordError> {
    let docs: Vec<BackfillDoc> = from_json(bytes)?;
    Ok(docs.into_iter().map(decode).collect::<Result<_, _>>()?)
}

fn encode(backfill: &Backfill) -> BackfillDoc {
    let cancel = |BackfillCancel { by, why, at_ms }| CancelDoc { by, why, at: at_ms };
    BackfillDoc {
        version: FormatVersion::WRITTEN,
        id: backfill.id.to_string(),
        by: backfill.by.clone(),
        why: backfill.why.clone(),
        at: backfill.at.0,
        from: backfill.from_ms,
        until: backfill.until_ms,
        fires: backfill.fires.iter().map(|fire| fire.0).collect(),
        total: backfill.total,
        items: encode_items(backfill.items.iter().copied()),
        concurrency: backfill.concurrency,
        done: backfill.done,
        cancel: backfill.cancel.clone().map(cancel),
        ended: backfill.ended_ms,
        unknown: backfill.unknown.clone(),
    }
}

fn decode(doc: BackfillDoc) -> Result<Backfill, String> {
    let id = &doc.id;
    if doc.fires.len() > MAX_BACKFILL_FIRES || !doc.fires.is_sorted_by(|one, next| one < next) {
        return Err(format!(
            "the fires of backfill {id} are more than {MAX_BACKFILL_FIRES} or not ascending"
        ));
    }
    if !(1..=MAX_BACKFILL_CONCURRENCY).contains(&doc.concurrency) {
        let concurrency = doc.concurrency;
        return Err(format!(
            "the concurrency {concurrency} of backfill {id} is not within \
             1..={MAX_BACKFILL_CONCURRENCY}"
        ));
    }
    let cancel = |CancelDoc { by, why, at }| BackfillCancel { by, why, at_ms: at };
    Ok(Backfill {
        by: doc.by,
        why: doc.why,
        at: FireTime(doc.at),
        from_ms: doc.from,
        until_ms: doc.until,
        fires: doc.fires.into_iter().map(FireTime).collect(),
        total: doc.total,
        items: decode_items(&doc.items, MAX_SHARDING_TOTAL_COUNT)?,
        concurrency: doc.concurrency,
        done: doc.done,
        cancel: doc.cancel.map(cancel),
        ended_ms: doc.ended,
        unknown: doc.unknown,
        id: doc.id.into(),
    })
}
