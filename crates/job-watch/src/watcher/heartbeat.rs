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
