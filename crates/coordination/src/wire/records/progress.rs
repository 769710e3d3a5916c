//! The progress of a run as JSON.

use serde::{Deserialize, Serialize};

use super::format::{FormatVersion, RecordError, from_json, to_json};
use super::{decode_token, is_zero};
use crate::{OutcomeCounts, Progress, ProgressRecord};

#[derive(Serialize, Deserialize)]
struct ProgressDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    token: u64,
    at: i64,
    done: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    succeeded: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed: u64,
}

/// Encodes the progress of a run.
#[must_use]
pub fn encode_progress(record: &ProgressRecord) -> String {
    let ProgressRecord { token, at_ms, progress, counts } = record;
    to_json(&ProgressDoc {
        version: FormatVersion::WRITTEN,
        token: token.0,
        at: *at_ms,
        done: progress.done(),
        total: progress.total(),
        message: progress.message().to_owned(),
        succeeded: counts.succeeded,
        failed: counts.failed,
    })
}

/// Decodes the progress of a run.
///
/// # Errors
/// The bytes are no valid record, or a record of a later version.
///
/// # Examples
/// ```
/// let bytes = br#"{"v":1,"token":7,"at":1000,"done":30,"total":120}"#;
/// let record = coordination::decode_progress(bytes)?;
/// assert_eq!((record.token.0, record.progress.percent()), (7, Some(25)));
/// # Ok::<(), coordination::RecordError>(())
/// ```
pub fn decode_progress(bytes: &[u8]) -> Result<ProgressRecord, RecordError> {
    let ProgressDoc { token, at, done, total, message, succeeded, failed, .. } = from_json(bytes)?;
    let progress = Progress::new(done, total, &message).map_err(|error| error.to_string())?;
    let counts = OutcomeCounts { succeeded, failed };
    Ok(ProgressRecord::new(decode_token(token)?, at, progress).counting(counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_records_are_rejected() {
        let rows = [
            ("", "EOF"),
            (r#"{"token":1,"at":1}"#, "done"),
            (r#"{"token":1,"at":1,"done":2,"total":1}"#, "done is 2"),
            (r#"{"token":9223372036854775807,"at":1,"done":1}"#, "token"),
            (r#"{"token":1,"at":1,"done":1,"message":"a\nb"}"#, "control character"),
        ];
        for (text, expected) in rows {
            let error = decode_progress(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
