//! Sends one message by one channel, with retries, as long as the session lives.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use job_alerts::{AlertChannel, Message};
use outbound::with_causes;
use reg_center::{RegistryCenter, SessionChange, SessionId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::compose::repeated;
use crate::store::MessageDoc;

/// Time limit of one attempt.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of attempts that certainly did not arrive.
const MAX_ATTEMPTS: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Pause before a message whose outcome is unknown is sent once more, in milliseconds. It is
/// random, so that many watchers do not meet a service that recovers at the same time.
const REPEAT_PAUSE_MS: RangeInclusive<u64> = 15_000..=30_000;

/// A message to send.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// Name of the channel in the file.
    pub(crate) name: String,
    pub(crate) channel: Arc<AlertChannel>,
    pub(crate) n: u64,
    pub(crate) message: MessageDoc,
    /// The message is sent once more, because the outcome of the first time is unknown.
    pub(crate) is_repeat: bool,
    /// Cancelled when the watcher stops. It ends the pause before a repeat, not an attempt.
    pub(crate) leaving: CancellationToken,
}

/// Result of sending a message.
#[derive(Debug)]
pub(crate) struct Delivered {
    pub(crate) delivery: Delivery,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Sent,
    /// The service may have got the message.
    Unknown,
    /// The service did not accept the message in any attempt.
    Dropped,
    /// The session ended, so that another watcher may send now.
    Interrupted,
}

/// Numbers of messages since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageCounts {
    /// Messages that the service accepted.
    pub sent: u64,
    /// Messages without an answer of the service.
    pub unknown: u64,
    /// Messages that the service refused in every attempt.
    pub dropped: u64,
}

impl MessageCounts {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Sent => self.sent += 1,
            Outcome::Unknown => self.unknown += 1,
            Outcome::Dropped => self.dropped += 1,
            Outcome::Interrupted => {}
        }
    }
}

impl Delivery {
    /// Sends the message. The end of the session stops it at once.
    pub(crate) async fn run(
        self,
        registry: Arc<dyn RegistryCenter>,
        session: SessionId,
    ) -> Delivered {
        let outcome = tokio::select! {
            biased;
            () = session_end(&*registry, session) => Outcome::Interrupted,
            outcome = self.send() => outcome,
        };
        Delivered { delivery: self, outcome }
    }

    /// Sends the message regardless of any session.
    pub(crate) async fn send(&self) -> Outcome {
        let Self { name, channel, n, message, is_repeat, leaving } = self;
        let message = if *is_repeat { repeated(message.clone()) } else { message.clone() };
        let MessageDoc { subject, text, body } = message;
        let message = Message::new(subject, text, body);
        let mut pause = FIRST_PAUSE;
        for attempt in 1..=MAX_ATTEMPTS {
            let sent = tokio::time::timeout(SEND_TIMEOUT, channel.send(&message)).await;
            let error = match sent {
                Ok(Ok(())) => {
                    tracing::info!(channel = name, n, attempt, "message sent");
                    return Outcome::Sent;
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    tracing::warn!(channel = name, n, "sending took longer than {SEND_TIMEOUT:?}");
                    return Outcome::Unknown;
                }
            };
            tracing::warn!(
                channel = name,
                n,
                attempt,
                error = with_causes(&error),
                "message not sent"
            );
            if error.may_have_arrived() {
                // The outcome is noted after the pause: if the sender is lost meanwhile, the next
                // one repeats the message. A message that took too long has waited already.
                if !is_repeat {
                    let pause = Duration::from_millis(fastrand::u64(REPEAT_PAUSE_MS));
                    leaving.run_until_cancelled(tokio::time::sleep(pause)).await;
                }
                return Outcome::Unknown;
            }
            if attempt < MAX_ATTEMPTS {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        tracing::error!(channel = name, n, text = message.text, "message dropped");
        Outcome::Dropped
    }
}

/// Waits for the end of a session: its loss, or the end of its lease while it is suspended.
async fn session_end(registry: &dyn RegistryCenter, session: SessionId) {
    let mut feed = registry.session_feed();
    let mut end: Option<Instant> = None;
    loop {
        let lease = async {
            match end {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            change = feed.next() => match change {
                Some(SessionChange::Connected { session: now, .. }) if now == session => end = None,
                Some(SessionChange::Suspended { session: now }) if now == session => {
                    let lease = registry.lease_remaining(session).unwrap_or_default();
                    // The lease has no end if the connection was restored meanwhile.
                    end = Instant::now().checked_add(lease);
                }
                Some(
                    SessionChange::Connected { .. }
                    | SessionChange::Suspended { .. }
                    | SessionChange::Lost { .. }
                    | SessionChange::Closed,
                )
                | None => return,
            },
            () = lease => return,
        }
    }
}
