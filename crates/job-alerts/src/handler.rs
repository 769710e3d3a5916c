//! The error handler around a channel: it sends the first failure at once, and then is_collecting.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lite::{ErrorHandler, JobError, Reaction, RunFailure};
use outbound::with_causes;
use parking_lot::Mutex;
use tokio::select;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::alert::Alert;
use crate::channel::{Channel, Content as _};

/// Default of the time that failures are collected after an alert.
const MERGE_WINDOW: Duration = Duration::from_secs(300);
/// Time limit for sending a collected alert.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// An error handler that sends alerts.
///
/// The first failure is sent at once. The failures of the next five minutes are collected and sent
/// in one alert: their number, the first ten, and the last one. While failures continue, there is
/// one alert every five minutes, so twelve in an hour. After five minutes without a failure the
/// next one is sent at once again. [`merge_window`](Self::merge_window) changes the time or
/// disables the collection.
///
/// ```text
/// failures:   x  xx x xxxx                x                      x
/// alerts:     1           7 (of 5 min)         1 (of 5 min)      1
/// ```
///
/// When the job ends on this instance or gets another handler, collected failures are sent at once.
/// A shutdown waits for that within its deadline. An alert that cannot be sent is logged with its
/// failures, and not retried. The handler needs a tokio runtime.
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use job_alerts::HttpAlert;
/// use outbound::SecretText;
///
/// let webhook = SecretText::literal("https://hooks.slack.com/services/T0/B0/x");
/// let handler = HttpAlert::slack(webhook).build()?.merge_window(Duration::from_secs(60));
/// # let _: Box<dyn lite::ErrorHandler> = Box::new(handler);
/// # Ok::<(), lite::InvalidConfig>(())
/// ```
pub struct AlertHandler {
    shared: Arc<Shared>,
    window: Duration,
}

struct Shared {
    channel: Box<dyn Channel>,
    state: Mutex<State>,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// True from the first alert until a window passes without a failure.
    is_collecting: bool,
    collected: Option<Alert>,
    collector: Option<JoinHandle<()>>,
}

impl AlertHandler {
    pub(crate) fn new(channel: impl Channel) -> Self {
        let (state, closing) = (Mutex::default(), CancellationToken::new());
        let shared = Shared { channel: Box::new(channel), state, closing };
        Self { shared: Arc::new(shared), window: MERGE_WINDOW }
    }

    /// Sets how long failures are collected after an alert. Default five minutes. With zero each
    /// failure is an alert of its own.
    #[must_use]
    pub fn merge_window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Returns an alert to send now, or is_collecting the failure and returns `None`.
    fn alert_or_collect(&self, failure: &RunFailure) -> Option<Alert> {
        let alert = Alert::of(failure.clone());
        if self.window.is_zero() {
            return Some(alert);
        }
        let mut state = self.shared.state.lock();
        if state.is_collecting {
            match &mut state.collected {
                Some(collected) => collected.add(failure.clone()),
                None => state.collected = Some(alert),
            }
            return None;
        }
        state.is_collecting = true;
        let collector = Arc::clone(&self.shared).run_collector(self.window);
        state.collector = Some(tokio::spawn(collector));
        Some(alert)
    }
}

impl Shared {
    /// Sends the collected failures at the end of each window, until a window had none.
    async fn run_collector(self: Arc<Self>, window: Duration) {
        loop {
            let is_closing = select! {
                biased;
                () = self.closing.cancelled() => true,
                () = tokio::time::sleep(window) => false,
            };
            let Some(alert) = self.take_collected() else { return };
            self.send_collected(&alert).await;
            if is_closing {
                return;
            }
        }
    }

    fn take_collected(&self) -> Option<Alert> {
        let mut state = self.state.lock();
        let collected = state.collected.take();
        state.is_collecting = collected.is_some();
        collected
    }

    /// Sends a collected alert. No caller waits for the result, so an error is logged with the
    /// alert.
    async fn send_collected(&self, alert: &Alert) {
        let channel = self.channel.name();
        let sent = tokio::time::timeout(SEND_TIMEOUT, self.channel.send(alert)).await;
        let error = match sent {
            Ok(Ok(())) => return tracing::debug!(channel, "alert sent"),
            Ok(Err(error)) => with_causes(&error),
            Err(_) => format!("sending took longer than {SEND_TIMEOUT:?}"),
        };
        tracing::error!(channel, error, alert = alert.text(usize::MAX), "alert was not sent");
    }
}

#[async_trait]
impl ErrorHandler for AlertHandler {
    fn name(&self) -> &str {
        self.shared.channel.name()
    }

    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError> {
        if let Some(alert) = self.alert_or_collect(failure) {
            self.shared.channel.send(&alert).await?;
            tracing::debug!(channel = self.shared.channel.name(), "alert sent");
        }
        Ok(Reaction::GoOn)
    }

    async fn close(&self) {
        self.shared.closing.cancel();
        let collector = self.shared.state.lock().collector.take();
        if let Some(collector) = collector {
            // An error means that the runtime is shutting down and has cancelled the collector.
            let _ = collector.await;
        }
    }
}

/// Also sends the collected failures if `close` was not called, for example after an abort of the
/// job.
impl Drop for AlertHandler {
    fn drop(&mut self) {
        self.shared.closing.cancel();
    }
}

impl fmt::Debug for AlertHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (channel, window) = (self.shared.channel.name(), self.window);
        f.debug_struct("AlertHandler").field("channel", &channel).field("window", &window).finish()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::AlertError;
    use crate::alert::tests::failure;
    use crate::channel::Content;

    /// Channel that forwards the subject of each alert with its time in seconds.
    struct RecordingChannel(mpsc::UnboundedSender<(u64, String)>, tokio::time::Instant);

    #[async_trait]
    impl Channel for RecordingChannel {
        fn name(&self) -> &'static str {
            "RECORDING"
        }

        async fn send(&self, alert: &dyn Content) -> Result<(), AlertError> {
            let at = self.1.elapsed().as_secs();
            self.0.send((at, alert.subject().replace("job report: ", ""))).unwrap();
            Ok(())
        }
    }

    /// Reports failures at these seconds, and returns the alerts with their times in seconds.
    async fn alerts_of(
        failing_at: impl IntoIterator<Item = u64>,
        window: Option<Duration>,
        until: u64,
    ) -> Vec<(u64, String)> {
        let (sender, mut alerts) = mpsc::unbounded_channel();
        let began = tokio::time::Instant::now();
        let handler = AlertHandler::new(RecordingChannel(sender, began));
        let handler = match window {
            Some(window) => handler.merge_window(window),
            None => handler,
        };
        for at in failing_at {
            tokio::time::sleep_until(began + Duration::from_secs(at)).await;
            handler.handle(&failure(0, "x")).await.unwrap();
        }
        tokio::time::sleep_until(began + Duration::from_secs(until)).await;
        handler.close().await;
        drop(handler);
        let mut all = Vec::new();
        while let Some(alert) = alerts.recv().await {
            all.push(alert);
        }
        all
    }

    const ONE: &str = "item 0 failed for the fire of 2024-02-29T12:00:00Z";

    fn expected(rows: &[(u64, &str)]) -> Vec<(u64, String)> {
        rows.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn many_failures_are_merged_into_one_alert_every_five_minutes() {
        let hour = alerts_of(0..3_600, None, 3_600).await;
        // At 0, every five minutes, and on close.
        assert_eq!(hour.len(), 13, "{hour:?}");
        assert_eq!(hour[0], (0, ONE.to_owned()));
        let total: u64 = hour[1..]
            .iter()
            .map(|(_, text)| text.split(' ').next().unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(total, 3_599, "each failure must be counted once");
        assert!(hour.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 299), "{hour:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn failure_after_an_empty_window_is_sent_at_once() {
        let found = alerts_of([0, 10, 20, 700, 701], None, 2_000).await;
        let rows = [(0, ONE), (300, "2 failures"), (700, ONE), (1_000, ONE)];
        assert_eq!(found, expected(&rows));
    }

    #[tokio::test(start_paused = true)]
    async fn collected_failures_are_sent_on_close() {
        let found = alerts_of([0, 10, 20], None, 30).await;
        assert_eq!(found, expected(&[(0, ONE), (30, "2 failures")]));
    }

    #[tokio::test(start_paused = true)]
    async fn merge_window_can_be_disabled_and_changed() {
        let found = alerts_of([0, 1, 2], Some(Duration::ZERO), 3).await;
        assert_eq!(found, expected(&[(0, ONE), (1, ONE), (2, ONE)]));
        let found = alerts_of([0, 1, 2], Some(Duration::from_secs(10)), 60).await;
        assert_eq!(found, expected(&[(0, ONE), (10, "2 failures")]));
    }
}
