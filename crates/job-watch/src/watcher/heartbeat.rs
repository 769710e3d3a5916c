//! The sign of life: an HTTP request at intervals, while the watcher is the sender and works.

use std::time::Duration;

use outbound::{Limits, http_client};
use reqwest::{Client, Url};
use secrecy::ExposeSecret as _;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::Heartbeat;

const LIMITS: Limits = Limits {
    connect_timeout: Duration::from_secs(5),
    read_timeout: Duration::from_secs(5),
    max_redirects: 3,
};
/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Requests the URL at each interval in which `is_working` is true. Never returns.
pub(crate) async fn run(heartbeat: Heartbeat, is_working: watch::Receiver<bool>) {
    let mut interval = tokio::time::interval(heartbeat.every);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut has_failed = false;
    loop {
        interval.tick().await;
        if !*is_working.borrow() {
            continue;
        }
        let result = request(&heartbeat).await;
        match (&result, has_failed) {
            (Err(error), false) => tracing::warn!(error, "heartbeat failed"),
            (Ok(()), true) => tracing::info!("heartbeat succeeded again"),
            (Err(_), true) | (Ok(()), false) => {}
        }
        has_failed = result.is_err();
    }
}

/// Requests the URL once. The error shows only its origin.
async fn request(heartbeat: &Heartbeat) -> Result<(), String> {
    let url = heartbeat.url.resolve().map_err(|error| error.to_string())?;
    let url = Url::parse(url.expose_secret().trim()).map_err(|error| error.to_string())?;
    let origin = url.origin().ascii_serialization();
    let client: Client = http_client(&url, LIMITS).map_err(|error| error.to_string())?;
    let answer = client.get(url).timeout(TIMEOUT).send().await;
    let answer = answer.map_err(|error| format!("{origin}: {}", error.without_url()))?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("{origin} answered {status}")),
    }
}

#[cfg(test)]
mod tests {
    use outbound::SecretText;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request with a status, and returns its first line.
    async fn answer(listener: &TcpListener, status: &str) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 1_024];
        let n = stream.read(&mut request).await.unwrap();
        let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        let text = String::from_utf8_lossy(&request[..n]).into_owned();
        text.lines().next().unwrap_or_default().to_owned()
    }

    async fn listening() -> (TcpListener, Heartbeat) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/t0ps3cret", listener.local_addr().unwrap());
        let every = Duration::from_millis(10);
        (listener, Heartbeat { url: SecretText::literal(url), every })
    }

    #[tokio::test]
    async fn url_is_requested_at_intervals_while_the_watcher_works() {
        let (listener, heartbeat) = listening().await;
        let (working, is_working) = watch::channel(true);
        let beating = tokio::spawn(run(heartbeat, is_working));
        for _ in 0..3 {
            assert_eq!(answer(&listener, "200 OK").await, "GET /t0ps3cret HTTP/1.1");
        }
        drop(working);
        beating.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn url_is_not_requested_while_the_watcher_does_not_work() {
        let (listener, heartbeat) = listening().await;
        let (_working, is_working) = watch::channel(false);
        let beating = run(heartbeat, is_working);
        tokio::select! {
            () = beating => unreachable!("it never returns"),
            _ = listener.accept() => panic!("a request was sent"),
            () = tokio::time::sleep(Duration::from_secs(60)) => {}
        }
    }

    #[tokio::test]
    async fn error_shows_the_origin_alone() {
        let (listener, heartbeat) = listening().await;
        let (result, _) = tokio::join!(request(&heartbeat), answer(&listener, "404 Not Found"));
        let error = result.unwrap_err();
        assert!(error.ends_with("answered 404 Not Found"), "{error}");
        drop(listener);
        let unreachable = request(&heartbeat).await.unwrap_err();
        for error in [error, unreachable] {
            assert!(error.starts_with("http://127.0.0.1:"), "{error}");
            assert!(!error.contains("t0ps3cret"), "{error}");
        }
    }
}
