//! Parts that all changes share: author and reason, and the answer.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use operations::{By, Error, Report};
use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::problem::{Answer, Problem};

/// Body of a change without further fields.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// Reason, recorded with the change: 1 to 512 bytes without control characters.
    #[schema(min_length = 1, max_length = 512, example = "release 12")]
    pub(super) reason: String,
}

/// Effects of a change.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Changed {
    /// Changed, left and failed targets, and the audit records.
    pub(super) report: Report,
}

/// Returns the author and the reason of a change.
pub(super) fn by(caller: &Caller, reason: &str) -> Answer<By> {
    By::new(caller.name.as_str(), reason).map_err(|error| {
        // The request calls it `reason`.
        if let Error::InvalidAuthorOrReason { field: "why", found, max } = error {
            return Error::InvalidAuthorOrReason { field: "reason", found, max }.into();
        }
        error.into()
    })
}

/// Returns the author and the reason of a change; `None` for a dry run, which needs no reason.
pub(super) fn by_unless_dry(
    caller: &Caller,
    reason: Option<&str>,
    dry_run: bool,
) -> Answer<Option<By>> {
    if dry_run { Ok(None) } else { Ok(Some(by(caller, reason.unwrap_or_default())?)) }
}

/// Maximum wait of a change. The server's limit on the answers to changes is longer.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(600);

/// Returns the wait that a change asks for.
pub(super) fn wait(wait_seconds: u64) -> Answer<Duration> {
    let wait = Duration::from_secs(wait_seconds);
    if wait > MAX_WAIT {
        let max = MAX_WAIT.as_secs();
        let detail = format!("wait_seconds is {wait_seconds}; valid is 0 to {max}");
        return Err(Problem::invalid(detail));
    }
    Ok(wait)
}

/// Answers with 200, or with 207 if a part of the change has failed.
pub(super) fn answer(has_failed: bool, body: impl Serialize) -> Response {
    let status = if has_failed { StatusCode::MULTI_STATUS } else { StatusCode::OK };
    (status, Json(body)).into_response()
}

/// Answers with a report.
pub(super) fn changed(report: Report) -> Response {
    answer(!report.failed.is_empty(), Changed { report })
}
