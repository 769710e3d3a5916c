//! Turns the rejections of the web framework into problem documents.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::input;
use crate::problem::Problem;

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
    let allow = response.headers().get(ALLOW);
    let problem = problem(response.status(), &method, &uri, allow);
    let mut problem = problem.into_response();
    if let Some(allow) = allow {
        problem.headers_mut().insert(ALLOW, allow.clone());
    }
    if method == Method::HEAD {
        *problem.body_mut() = Body::empty();
    }
    problem
}

fn problem(status: StatusCode, method: &Method, uri: &Uri, allow: Option<&HeaderValue>) -> Problem {
    match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            let allowed = allow.and_then(|allow| allow.to_str().ok()).unwrap_or("none");
            let detail =
                format!("method is {method}; valid for {} is one of {allowed}", uri.path());
            Problem::new(status, "wrong-method", detail)
        }
        StatusCode::PAYLOAD_TOO_LARGE => input::too_large(),
        // The texts of the framework name types of the code.
        _ if status.is_client_error() => {
            let detail = "the request is not valid; valid is the form in /api/v1/openapi.json";
            Problem::new(status, "invalid-request", detail)
        }
        _ => Problem::new(status, "internal", "a fault of this program has ended the request"),
    }
}
