//! Changes with an idempotency key happen once, also if the client disconnects.

use axum::body::Body;
use axum::http::{Method, Request};
use futures_util::FutureExt as _;
use tower::ServiceExt as _;

use crate::support::{BASE, Site};

const KEY: (&str, &str) = ("idempotency-key", "k-1");

#[tokio::test]
async fn repeat_gets_the_first_answer_and_changes_nothing() {
    let site = Site::empty().await;
    site.add_idle(&["a"]).await;
    let path = format!("{BASE}/jobs/a/pause");
    let send = async |path: &str, key, body| site.change(Method::POST, path, &[key], body).await;
    let first = send(&path, KEY, r#"{"reason":"one"}"#).await.ok();
    let writes = site.counting.writes();
    let again = send(&path, KEY, r#"{"reason":"one"}"#).await.ok();
    assert_eq!((again.body, site.counting.writes()), (first.body.clone(), writes));
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.headers["content-type"], "application/json");
    assert!(!first.headers.contains_key("idempotency-replayed"));
    let other = send(&path, KEY, r#"{"reason":"two"}"#).await;
    other.problem(422, "idempotency-key-reused");
    let resume = format!("{BASE}/jobs/a/resume");
    let other = send(&resume, KEY, r#"{"reason":"one"}"#).await.ok();
    assert!(!other.headers.contains_key("idempotency-replayed"), "another path is another change");
    for key in ["", "a b", &"x".repeat(129)] {
        let got = send(&path, ("idempotency-key", key), r#"{"reason":"one"}"#).await;
        assert!(got.problem(400, "invalid-request").contains("1 to 128 visible ASCII"));
    }
}

#[tokio::test]
async fn request_that_changed_nothing_runs_again() {
    let site = Site::empty().await;
    let path = format!("{BASE}/jobs/a/pause");
    let send = async || site.change(Method::POST, &path, &[KEY], r#"{"reason":"one"}"#).await;
    send().await.problem(404, "no-such-job");
    site.add_idle(&["a"]).await;
    let got = send().await.ok();
    assert!(!got.headers.contains_key("idempotency-replayed"));
}

#[tokio::test]
async fn change_ends_after_the_client_has_disconnected() {
    let site = Site::populated().await;
    let request = |reason: &str| {
        let path = format!("{BASE}/jobs/long/servers/10.0.0.1/drain");
        let request = Request::post(path).header("content-type", "application/json");
        let body = format!(r#"{{"mode":"pause","wait_seconds":600,"reason":"{reason}"}}"#);
        request.header(KEY.0, KEY.1).body(Body::from(body)).unwrap()
    };
    let mut disconnected = Box::pin(site.router.clone().oneshot(request("one")));
    assert!(disconnected.as_mut().now_or_never().is_none());
    drop(disconnected);
    let paused = format!("{BASE}/jobs/long");
    site.until(&paused, |got| got.body["brief"]["pausedServers"] != 0).await;
    site.send(request("one")).await.problem(409, "still-running");
    site.send(request("two")).await.problem(422, "idempotency-key-reused");
    site.release.notify_waiters();
    site.until(&format!("{BASE}/running"), |got| got.rows().iter().all(|r| r["job"] != "long"))
        .await;
    let repeat = crate::support::within("the end of the drain", async {
        loop {
            let got = site.send(request("one")).await;
            if got.status != 409 {
                return got;
            }
            tokio::task::yield_now().await;
        }
    });
    let repeat = repeat.await.ok();
    assert_eq!(repeat.body["complete"], true);
    assert_eq!(repeat.headers["idempotency-replayed"], "true");
}
