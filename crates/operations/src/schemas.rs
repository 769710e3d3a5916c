//! Schemas of types of other crates, for the document of an HTTP API.

/// An audited change, as `coordination::AuditRecord` is serialized.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub(crate) struct AuditRecord {
    /// Identity of the change, unique within the job.
    id: String,
    /// Time of the change by the operator's clock, in milliseconds since 1970 UTC.
    at_ms: i64,
    /// Author.
    who: String,
    /// Reason.
    why: String,
    /// Operator action as a word, such as `disable`.
    act: String,
    /// Servers, instances or items that were changed, as text.
    target: String,
    /// Effect on the targets, with the old and the new value of each changed field; masked where a
    /// value may be a secret. Empty in records of earlier versions.
    what: String,
}
