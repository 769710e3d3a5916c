//! Messages of the watcher about itself, while the registry does not answer.
//!
//! They cannot be stored, so they have no sender election: the watcher that was the last sender
//! sends them.

use std::sync::Arc;

use operations::Freshness;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::compose;
use super::delivery::Delivery;
use crate::WatchFile;

/// Maximum number of messages that are being sent at once.
const MAX_SENDING: usize = 64;

pub(crate) struct Outage {
    file: Arc<WatchFile>,
    /// Time since which the registry does not answer.
    since: Option<Instant>,
    is_reported: bool,
    sending: JoinSet<()>,
}

impl Outage {
    pub(crate) fn new(file: Arc<WatchFile>) -> Self {
        Self { file, since: None, is_reported: false, sending: JoinSet::new() }
    }

    /// Reports the begin and the end of an outage, if `is_sender` and it lasts long enough.
    pub(crate) fn update(&mut self, freshness: Freshness, is_settled: bool, is_sender: bool) {
        match freshness {
            Freshness::Loading => {}
            Freshness::Current if !is_settled => {}
            Freshness::Stale { since } => {
                self.since = Some(since);
                let is_long = since.elapsed() >= self.file.stale_after;
                if is_long && is_sender && !self.is_reported {
                    self.is_reported = true;
                    let age = since.elapsed().as_secs();
                    self.send(&format!(
                        "the registry does not answer for {age} s; expectations are not judged"
                    ));
                }
            }
            Freshness::Current => {
                self.since = None;
                if std::mem::take(&mut self.is_reported) {
                    self.send("the registry answers again; expectations are judged");
                }
            }
        }
    }

    /// Returns the time at which an outage is to be reported.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let due = self.since.map(|since| since + self.file.stale_after);
        due.filter(|due| *due > Instant::now())
    }

    /// Waits until a message was sent; pending while none is being sent.
    pub(crate) async fn next_done(&mut self) {
        if self.sending.join_next().await.is_none() {
            std::future::pending().await
        }
    }

    fn send(&mut self, text: &str) {
        tracing::warn!(text, "the watcher reports its own condition");
        for (name, channel) in self.file.channels() {
            if self.sending.len() >= MAX_SENDING {
                tracing::error!(channel = name, text, "message dropped: too many are being sent");
                continue;
            }
            let delivery = Delivery {
                name: name.clone(),
                channel: Arc::clone(channel),
                n: 0,
                message: compose::own(&self.file, text),
                is_repeat: false,
                // The end of the watcher aborts the task.
                leaving: CancellationToken::new(),
            };
            self.sending.spawn(async move {
                // The outcome is logged there, and the message is not repeated.
                let _ = delivery.send().await;
            });
        }
    }
}
