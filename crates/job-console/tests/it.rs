//! Tests of the router without a browser.

#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

mod pages;

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use job_console::Console;
use reg_center::MemoryRegistry;
use tower::ServiceExt as _;

#[tokio::test]
async fn unknown_namespace_is_a_problem_that_names_the_known_ones() {
    let registry = Arc::new(MemoryRegistry::new().connect());
    let console = Console::new().namespace("orders", registry, None).unwrap();
    let request = Request::get("/api/v1/namespaces/order/jobs").body(Body::empty()).unwrap();
    let response = console.router().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["detail"], r#"namespace is "order"; this console shows orders"#);
}
