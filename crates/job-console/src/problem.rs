//! Errors as problem documents (RFC 9457).

use std::any::Any;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use operations::{Error, PlanError};
use serde::Serialize;

use crate::access::Refusal;

/// A problem document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub(crate) struct Problem {
    /// Kind of the problem, stable across versions, such as `no-such-job`.
    pub(crate) code: &'static str,
    /// Reason phrase of the status.
    pub(crate) title: &'static str,
    /// HTTP status.
    pub(crate) status: u16,
    /// Description of this problem: the field, the value, and what would be valid.
    pub(crate) detail: String,
    /// True if the change may have happened: read the job before the request is repeated.
    pub(crate) outcome_unknown: bool,
    /// Pause before the client repeats the request, in seconds; sent as `Retry-After`.
    #[serde(skip)]
    pub(crate) retry_after: Option<u16>,
}

impl Problem {
    /// Code of [`loading`](Self::loading).
    pub(crate) const LOADING: &str = "loading";

    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            code,
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            outcome_unknown: false,
            retry_after: None,
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-request", detail)
    }

    /// The jobs of a namespace are not known yet, which is no absence.
    pub(crate) fn loading(namespace: &str) -> Self {
        let detail = format!(
            "the first snapshot of namespace {namespace:?} is still being read; repeat the request"
        );
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, Self::LOADING, detail);
        Self { retry_after: Some(1), ..problem }
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(StatusCode::FORBIDDEN, "not-permitted", refusal.to_string())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, code) = status_of(&error);
        Self { outcome_unknown: error.is_unknown(), ..Self::new(status, code, error.to_string()) }
    }
}

impl From<PlanError> for Problem {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Invalid { .. } => Self::invalid(error.to_string()),
            PlanError::NoSuch { .. } => Self::not_found("no-such-target", error.to_string()),
            PlanError::Unreadable { job, reason } => Error::Unreadable { job, reason }.into(),
            PlanError::Config(_) | PlanError::Strategy(_) | _ => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-plan", error.to_string())
            }
        }
    }
}

fn status_of(error: &Error) -> (StatusCode, &'static str) {
    match error {
        Error::NoSuchJob { .. } => (StatusCode::NOT_FOUND, "no-such-job"),
        Error::NoSuch { .. } => (StatusCode::NOT_FOUND, "no-such-target"),
        Error::StaleConfig { .. } => (StatusCode::PRECONDITION_FAILED, "stale-configuration"),
        Error::JobExists { .. } | Error::AlreadyThere { .. } => {
            (StatusCode::CONFLICT, "job-exists")
        }
        Error::NotConfirmed { .. } => (StatusCode::CONFLICT, "not-confirmed"),
        Error::InstancesAlive { .. } => (StatusCode::CONFLICT, "instances-alive"),
        Error::Contended { .. } => (StatusCode::CONFLICT, "contended"),
        Error::Group { .. } => (StatusCode::CONFLICT, "group"),
        Error::Remains { .. } => (StatusCode::CONFLICT, "nodes-remain"),
        Error::Unreadable { .. } => (StatusCode::CONFLICT, "unreadable-configuration"),
        Error::NewerRecord { .. } => (StatusCode::CONFLICT, "newer-record"),
        Error::Name(_) | Error::NothingNamed => (StatusCode::BAD_REQUEST, "invalid-name"),
        Error::InvalidAuthorOrReason { .. } => (StatusCode::BAD_REQUEST, "invalid-reason"),
        Error::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid-configuration"),
        Error::InvalidBackfill { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "invalid-backfill"),
        Error::BackfillInProgress { .. } => (StatusCode::CONFLICT, "backfill-in-progress"),
        Error::ParameterTooLarge { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "parameter-too-large")
        }
        Error::NotSupported { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "not-supported"),
        Error::TooMuch { .. } => (StatusCode::INSUFFICIENT_STORAGE, "too-much"),
        Error::Unknown { .. } => (StatusCode::GATEWAY_TIMEOUT, "unknown-outcome"),
        Error::Deadline { .. } => (StatusCode::GATEWAY_TIMEOUT, "deadline"),
        Error::Registry { .. } => (StatusCode::BAD_GATEWAY, "registry"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

/// Returns the text of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text")
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(CONTENT_TYPE, kind)], body).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        // A browser gets a page instead.
        response.extensions_mut().insert(self);
        response
    }
}

/// Result of a handler.
pub(crate) type Answer<T> = Result<T, Problem>;
