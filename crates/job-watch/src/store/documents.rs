//! The documents that watchers store in the registry: JSON with a format version.

use std::collections::BTreeMap;

use reg_center::NodePath;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;
use crate::{ConditionKind, Memory, Severity};

/// Version of the format that is written.
const FORMAT: u32 = 1;
/// Maximum size of one document, in bytes.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// Name of the watcher that sends the messages. The node is ephemeral.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SenderDoc {
    pub(crate) watcher: String,
}

/// Number of the sender's term. It grows with each election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TermDoc {
    pub(crate) term: u64,
}

/// State of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobDoc {
    pub(crate) memory: Memory,
    pub(crate) alerts: BTreeMap<ConditionKind, Alert>,
}

/// A violation that was or will be reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Alert {
    pub(crate) since: i64,
    pub(crate) why: String,
    pub(crate) severity: Severity,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Set when the violation is over, until all channels that reported it have reported that.
    #[serde(default)]
    pub(crate) resolved: Option<Resolved>,
    /// Last message of each channel about the violation.
    #[serde(default)]
    pub(crate) reported: BTreeMap<String, Reported>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Resolved {
    pub(crate) at: i64,
    pub(crate) why: String,
}

/// Message of a channel about a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reported {
    /// Number of the message.
    pub(crate) n: u64,
    pub(crate) at: i64,
    pub(crate) is_resolved: bool,
}

/// Last message of one channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OutboxDoc {
    /// Number of the message, counted from 1.
    pub(crate) n: u64,
    pub(crate) phase: Phase,
    pub(crate) at: i64,
    /// The message, until it is done.
    #[serde(default)]
    pub(crate) message: Option<MessageDoc>,
}

/// Progress of a message. It is stored before the step that it names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// The message is being sent.
    Sending,
    /// The outcome of the first sending is unknown, and the message is being sent once more.
    Repeating,
    /// The message was sent, or it is not sent any more.
    #[default]
    Done,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct MessageDoc {
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// Silences of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SilencesDoc {
    pub(crate) silences: Vec<Silence>,
}

/// A period in which violations of an expectation are not reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// Kind of the expectation.
    pub expectation: ConditionKind,
    /// End of the silence, in milliseconds since 1970 UTC.
    pub until: i64,
    /// Author.
    pub by: String,
    /// Reason.
    pub why: String,
}

#[derive(Serialize)]
struct Written<'a, T> {
    v: u32,
    #[serde(flatten)]
    value: &'a T,
}

#[derive(Deserialize)]
struct Header {
    v: u32,
}

/// Returns the text of a document.
pub(crate) fn encode<T: Serialize>(value: &T) -> String {
    let written = serde_json::to_string(&Written { v: FORMAT, value });
    written.expect("keys are strings, and numbers are finite")
}

/// Reads a document.
///
/// # Errors
/// [`StoreError::Newer`]: a later version wrote it. [`StoreError::Damaged`]: it is not readable.
pub(crate) fn decode<T: DeserializeOwned>(path: &NodePath, data: &[u8]) -> Result<T, StoreError> {
    let damaged = |error: serde_json::Error| StoreError::Damaged {
        path: path.to_string(),
        reason: error.to_string(),
    };
    let Header { v } = serde_json::from_slice(data).map_err(damaged)?;
    if v > FORMAT {
        return Err(StoreError::Newer { path: path.to_string(), found: v, known: FORMAT });
    }
    serde_json::from_slice(data).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_a_stable_form() {
        let alert = Alert {
            since: 5,
            why: "item 0 is late".to_owned(),
            severity: Severity::Critical,
            labels: BTreeMap::new(),
            resolved: None,
            reported: BTreeMap::from([(
                "ops".to_owned(),
                Reported { n: 7, at: 6, is_resolved: false },
            )]),
        };
        let alerts = BTreeMap::from([(ConditionKind::LateAfter, alert)]);
        let doc = JobDoc { memory: Memory::default(), alerts };
        let text = encode(&doc);
        assert!(text.starts_with("{\"v\":1,\"memory\":{"), "{text}");
        let end = "\"alerts\":{\"late_after\":{\"since\":5,\"why\":\"item 0 is late\",\
                   \"severity\":\"critical\",\"labels\":{},\"resolved\":null,\"reported\":{\"ops\":\
                   {\"n\":7,\"at\":6,\"is_resolved\":false}}}}}";
        assert!(text.ends_with(end), "{text}");
        let path = NodePath::root();
        assert_eq!(decode::<JobDoc>(&path, text.as_bytes()).unwrap(), doc);
        let newer = text.replacen("\"v\":1", "\"v\":2", 1);
        let error = decode::<JobDoc>(&path, newer.as_bytes()).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
        assert!(matches!(decode::<JobDoc>(&path, b"{}"), Err(StoreError::Damaged { .. })));
    }
}
