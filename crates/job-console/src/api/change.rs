//! Parts that all changes share: author and reason, the dry run, and the answer.

use std::time::Duration;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use operations::{By, Error, Report};
use serde::{Deserialize, Serialize};

use super::input::pairs;
use crate::access::Caller;
use crate::problem::{Answer, Problem};

/// Body of a change without further fields.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// Reason, recorded with the change: 1 to 512 bytes without control characters. Required unless
    /// it is a dry run.
    #[schema(min_length = 1, max_length = 512, example = "release 12")]
    pub(super) reason: Option<String>,
}

/// Effects of a change.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Changed {
    /// Changed, left and failed targets, and the audit records.
    pub(super) report: Report,
}

/// Query parameter that makes a change a dry run.
pub(crate) const DRY_RUN: &str = "dry_run";

/// Caller of a change, and whether the request is a dry run.
///
/// Each changing route takes it, and none can write without the author that it returns.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) caller: Caller,
    is_dry: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Intent {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let is_dry = is_dry_run(parts).map_err(IntoResponse::into_response)?;
        Ok(Self { caller, is_dry })
    }
}

fn is_dry_run(parts: &Parts) -> Answer<bool> {
    let query = pairs(&parts.uri);
    let mut given = query.iter().filter(|(name, _)| name == DRY_RUN).map(|(_, value)| &**value);
    match (given.next(), given.next()) {
        (None, _) | (Some("false"), None) => Ok(false),
        (Some("true"), None) => Ok(true),
        (Some(value), None) => {
            let detail = format!("query parameter {DRY_RUN} is {value:?}; valid is true or false");
            Err(Problem::invalid(detail))
        }
        (Some(_), Some(_)) => {
            let detail = format!("query parameter {DRY_RUN} is given twice; valid is once");
            Err(Problem::invalid(detail))
        }
    }
}

impl Intent {
    /// Makes the request a dry run if its body asks for one.
    pub(super) fn or_dry(self, is_dry: bool) -> Self {
        Self { is_dry: self.is_dry || is_dry, ..self }
    }

    /// Returns the author and the reason of the change; `None` for a dry run, which needs no reason
    /// and must write nothing.
    pub(super) fn by(&self, reason: Option<&str>) -> Answer<Option<By>> {
        if self.is_dry {
            return Ok(None);
        }
        let by = By::new(self.caller.name.as_str(), reason.unwrap_or_default());
        by.map(Some).map_err(|error| {
            // The request calls it `reason`.
            if let Error::InvalidAuthorOrReason { field: "why", found, max } = error {
                return Error::InvalidAuthorOrReason { field: "reason", found, max }.into();
            }
            error.into()
        })
    }
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
