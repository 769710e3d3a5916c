//! The log of audited changes as JSON.

use super::to_json;
use crate::AuditLog;

/// Encodes the log.
pub(crate) fn encode_audit(log: &AuditLog) -> String {
    to_json(log)
}

/// Decodes the log.
pub(crate) fn decode_audit(bytes: &[u8]) -> Result<AuditLog, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}
