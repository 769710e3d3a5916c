//! The error handler around a channel: one alert at once, and then one for all failures of a while.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lite::{ErrorHandler, JobError, Reaction, RunFailure};
use parking_lot::Mutex;
use tokio::select;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::alert::Alert;
use crate::channel::Channel;

/// How long failures are collected after an alert, unless it is said otherwise.
const MERGE_WINDOW: Duration = Duration::from_secs(300);
/// How long the sending of a collected alert may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// An error handler that sends alerts.
///
/// A failure after a quiet time is told at once. Those of the next five minutes are collected, and told together: how many there were,
/// the first ten, and the last one. As long as there are any, one alert comes each five minutes, twelve an hour; the first five minutes
/// without any end that. [`merge_window`](Self::merge_window) sets another time, or none.
///
/// ```text
/// failures:   x  xx x xxxx                x                      x
/// alerts:     1           7 (of 5 min)         1 (of 5 min)      1
/// ```
///
/// What is collected is told at once when the job ends here or gets another handler; a shutdown waits for that within its deadline.
/// An alert that cannot be sent is logged with the failures, and not tried again. It needs a tokio runtime.
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
    desk: Arc<Desk>,
    window: Duration,
}

struct Desk {
    channel: Box<dyn Channel>,
    state: Mutex<State>,
    closing: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// An alert was sent a while ago: failures are collected.
    collects: bool,
    collected: Option<Alert>,
    collector: Option<JoinHandle<()>>,
}

impl AlertHandler {
    pub(crate) fn new(channel: impl Channel) -> Self {
        let (state, closing) = (Mutex::default(), CancellationToken::new());
        let desk = Desk { channel: Box::new(channel), state, closing };
        Self { desk: Arc::new(desk), window: MERGE_WINDOW }
    }

    /// Sets for how long failures are collected after an alert. Default five minutes. Zero is never: then each failure is an
    /// alert of its own.
    #[must_use]
    pub fn merge_window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Returns the failure as an alert to be sent now, unless it is collected.
    fn first(&self, failure: &RunFailure) -> Option<Alert> {
        let alert = Alert::of(failure.clone());
        if self.window.is_zero() {
            return Some(alert);
        }
        let mut state = self.desk.state.lock();
        if state.collects {
            match &mut state.collected {
                Some(collected) => collected.add(failure.clone()),
                None => state.collected = Some(alert),
            }
            return None;
        }
        state.collects = true;
        let collector = Arc::clone(&self.desk).collect(self.window);
        state.collector = Some(tokio::spawn(collector));
        Some(alert)
    }
}

impl Desk {
    /// Tells what was collected, each time that the window is over, until it was empty.
    async fn collect(self: Arc<Self>, window: Duration) {
        loop {
            let is_over = select! {
                biased;
                () = self.closing.cancelled() => true,
                () = tokio::time::sleep(window) => false,
            };
            let Some(alert) = self.take() else { return };
            self.send_collected(&alert).await;
            if is_over {
                return;
            }
        }
    }

    fn take(&self) -> Option<Alert> {
        let mut state = self.state.lock();
        let collected = state.collected.take();
        state.collects = collected.is_some();
        collected
    }

    /// Nobody hears of an error here, so that it is logged, with what was to be told.
    async fn send_collected(&self, alert: &Alert) {
        let channel = self.channel.name();
        let sent = tokio::time::timeout(SEND_TIMEOUT, self.channel.send(alert)).await;
        let error = match sent {
            Ok(Ok(())) => return tracing::debug!(channel, "alert sent"),
            Ok(Err(error)) => with_causes(&error),
            Err(_) => format!("not sent after {SEND_TIMEOUT:?}"),
        };
        tracing::error!(channel, error, alert = alert.text(usize::MAX), "alert was not sent");
    }
}

#[async_trait]
impl ErrorHandler for AlertHandler {
    fn name(&self) -> &str {
        self.desk.channel.name()
    }

    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError> {
        if let Some(alert) = self.first(failure) {
            self.desk.channel.send(&alert).await?;
            tracing::debug!(channel = self.desk.channel.name(), "alert sent");
        }
        Ok(Reaction::GoOn)
    }

    async fn close(&self) {
        self.desk.closing.cancel();
        let collector = self.desk.state.lock().collector.take();
        if let Some(collector) = collector {
            // It has ended, or the runtime takes it down.
            let _ = collector.await;
        }
    }
}

/// What was collected is told although nobody closes the handler: when the job was aborted, say.
impl Drop for AlertHandler {
    fn drop(&mut self) {
        self.desk.closing.cancel();
    }
}

impl fmt::Debug for AlertHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (channel, window) = (self.desk.channel.name(), self.window);
        f.debug_struct("AlertHandler").field("channel", &channel).field("window", &window).finish()
    }
}

/// Returns what an error says, with its causes.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::AlertError;
    use crate::alert::tests::failure;

    /// Hands on the subjects of alerts, with the time since it was made.
    struct Told(mpsc::UnboundedSender<(u64, String)>, tokio::time::Instant);

    #[async_trait]
    impl Channel for Told {
        fn name(&self) -> &'static str {
            "TOLD"
        }

        async fn send(&self, alert: &Alert) -> Result<(), AlertError> {
            let at = self.1.elapsed().as_secs();
            self.0.send((at, alert.subject().replace("job report: ", ""))).unwrap();
            Ok(())
        }
    }

    /// Fails at these seconds and returns when which alerts came.
    async fn alerts_of(
        failing_at: impl IntoIterator<Item = u64>,
        window: Option<Duration>,
        until: u64,
    ) -> Vec<(u64, String)> {
        let (sender, mut told) = mpsc::unbounded_channel();
        let began = tokio::time::Instant::now();
        let handler = AlertHandler::new(Told(sender, began));
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
        while let Some(alert) = told.recv().await {
            all.push(alert);
        }
        all
    }

    const ONE: &str = "item 0 failed for the fire of 2024-02-29T12:00:00Z";

    fn expected(rows: &[(u64, &str)]) -> Vec<(u64, String)> {
        rows.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_becomes_an_alert_in_five_minutes() {
        let hour = alerts_of(0..3_600, None, 3_600).await;
        // At 0, each five minutes, and at the end.
        assert_eq!(hour.len(), 13, "{hour:?}");
        assert_eq!(hour[0], (0, ONE.to_owned()));
        let total: u64 = hour[1..]
            .iter()
            .map(|(_, text)| text.split(' ').next().unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(total, 3_599, "no failure is left out of the account");
        assert!(hour.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 299), "{hour:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_quiet_time_a_failure_is_told_at_once() {
        let found = alerts_of([0, 10, 20, 700, 701], None, 2_000).await;
        let rows = [(0, ONE), (300, "2 failures"), (700, ONE), (1_000, ONE)];
        assert_eq!(found, expected(&rows));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_collected_is_told_at_the_end() {
        let found = alerts_of([0, 10, 20], None, 30).await;
        assert_eq!(found, expected(&[(0, ONE), (30, "2 failures")]));
    }

    #[tokio::test(start_paused = true)]
    async fn merging_can_be_switched_off_and_its_time_be_set() {
        let found = alerts_of([0, 1, 2], Some(Duration::ZERO), 3).await;
        assert_eq!(found, expected(&[(0, ONE), (1, ONE), (2, ONE)]));
        let found = alerts_of([0, 1, 2], Some(Duration::from_secs(10)), 60).await;
        assert_eq!(found, expected(&[(0, ONE), (10, "2 failures")]));
    }
}
