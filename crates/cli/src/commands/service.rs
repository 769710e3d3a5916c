//! Notices to the service manager (`sd_notify`): ready, leaving, and pings of its watchdog.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// The service manager of this process, if `NOTIFY_SOCKET` names one. Dropping it ends the pings.
#[derive(Debug)]
pub(in crate::commands) struct ServiceManager {
    pings: Option<JoinHandle<()>>,
}

impl ServiceManager {
    /// Begins to ping the watchdog, if it is on (`WATCHDOG_USEC`).
    ///
    /// A ping proves that the runtime executes tasks. It does not depend on the registry: a restart
    /// would not help while that is away, and would interrupt runs.
    pub(in crate::commands) fn begin() -> Self {
        let limit = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero());
        Self { pings: limit.map(|limit| tokio::spawn(ping(limit / 2))) }
    }

    /// Reports that the process serves, with a text for `systemctl status`.
    pub(in crate::commands) fn ready(&self, status: &str) {
        send(&[NotifyState::Ready, NotifyState::Status(status)]);
    }

    /// Reports that the process is leaving.
    pub(in crate::commands) fn leaving(&self) {
        send(&[NotifyState::Stopping]);
    }
}

impl Drop for ServiceManager {
    fn drop(&mut self) {
        if let Some(pings) = &self.pings {
            pings.abort();
        }
    }
}

async fn ping(interval: Duration) {
    let mut interval = tokio::time::interval(interval);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        send(&[NotifyState::Watchdog]);
    }
}

/// The service manager restarts a service whose notices are missing, so a failure is only logged.
fn send(notices: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(notices) {
        tracing::warn!(%error, "the service manager cannot be notified");
    }
}
