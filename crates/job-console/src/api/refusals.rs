//! Turns the rejections of the web framework into problem documents.

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;

/// Maximum length of the text of a rejection, in bytes.
const MAX_TEXT: usize = 16 << 10;

/// Replaces error texts of the framework by problem documents. Pages have their own errors.
pub(super) async fn as_problems(request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let response = next.run(request).await;
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_problem = kind.is_some_and(|kind| kind == "application/problem+json");
    if !is_error || is_problem || !super::is_api(uri.path()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = to_bytes(body, MAX_TEXT).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let allow = parts.headers.get(ALLOW);
    let problem = problem(parts.status, &text, &method, &uri, allow);
    let mut problem = problem.into_response();
    if let Some(allow) = allow {
        problem.headers_mut().insert(ALLOW, allow.clone());
    }
    if method == Method::HEAD {
        *problem.body_mut() = Body::empty();
    }
    problem
}

fn problem(
    status: StatusCode,
    text: &str,
    method: &Method,
    uri: &Uri,
    allow: Option<&HeaderValue>,
) -> Problem {
    let code = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            let allowed = allow.and_then(|allow| allow.to_str().ok()).unwrap_or("none");
            let detail =
                format!("method is {method}; valid for {} is one of {allowed}", uri.path());
            return Problem::new(status, "wrong-method", detail);
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "wrong-content-type",
        StatusCode::PAYLOAD_TOO_LARGE => "body-too-large",
        _ if status.is_client_error() => "invalid-request",
        _ => "internal",
    };
    Problem::new(status, code, text)
}
