//! The last once-per-cluster calls as JSON.

use serde::{Deserialize, Serialize};
use sharding::InstanceId;

use super::decode_token;
use super::format::{FormatVersion, RecordError, from_json, to_json};
use crate::FireTime;
use crate::protocol::once::{EndedFire, OnceCall, OnceRecord};
use crate::protocol::unknown_fields::UnknownFields;

#[derive(Serialize, Deserialize)]
struct OnceDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<CallDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed: Option<CallDoc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<EndDoc>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

#[derive(Serialize, Deserialize)]
struct CallDoc {
    fire: i64,
    token: u64,
    holder: String,
    done: bool,
}

#[derive(Serialize, Deserialize)]
struct EndDoc {
    #[serde(skip_serializing_if = "Option::is_none")]
    fire: Option<i64>,
    at: i64,
}

/// Encodes the last once-per-cluster calls.
pub(crate) fn encode_once(record: &OnceRecord) -> String {
    let call = |call: &OnceCall| CallDoc {
        fire: call.fire.0,
        token: call.token.0,
        holder: call.holder.to_string(),
        done: call.done,
    };
    to_json(&OnceDoc {
        version: FormatVersion::WRITTEN,
        started: record.started.as_ref().map(call),
        completed: record.completed.as_ref().map(call),
        ended: record.ended.map(|end| EndDoc { fire: end.fire.map(|fire| fire.0), at: end.at.0 }),
        unknown: record.unknown.clone(),
    })
}

/// Decodes the last once-per-cluster calls.
pub(crate) fn decode_once(bytes: &[u8]) -> Result<OnceRecord, RecordError> {
    let doc: OnceDoc = from_json(bytes)?;
    let call = |call: CallDoc| -> Result<OnceCall, String> {
        Ok(OnceCall {
            fire: FireTime(call.fire),
            token: decode_token(call.token)?,
            holder: InstanceId::new(call.holder),
            done: call.done,
        })
    };
    Ok(OnceRecord {
        started: doc.started.map(call).transpose()?,
        completed: doc.completed.map(call).transpose()?,
        ended: doc
            .ended
            .map(|end| EndedFire { fire: end.fire.map(FireTime), at: FireTime(end.at) }),
        unknown: doc.unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FencingToken;

    #[test]
    fn calls_round_trip() {
        let call = OnceCall {
            fire: FireTime(1_000),
            token: FencingToken(4),
            holder: InstanceId::new("10.0.0.1@-@7-a"),
            done: true,
        };
        let record = OnceRecord { started: Some(call), ..OnceRecord::default() };
        assert_eq!(decode_once(encode_once(&record).as_bytes()).unwrap(), record);
    }
}
