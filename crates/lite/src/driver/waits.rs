//! Runs of the job that wait for a place in this process: stored for operators, and reported.

use std::time::Duration;

use coordination::{Event, WaitingRuns};
use jiff::Timestamp;

use super::Driver;

/// Time after which a wait is stored and reported, and between two looks at the runs of a limited
/// process. Shorter waits cost no write.
const NOTED_AFTER: Duration = Duration::from_secs(1);

/// Minimum time between two writes of the same waits, whose items change all the time.
const UPDATED_EVERY: Duration = Duration::from_secs(5);

/// Waits as they are stored, and the next time to look at them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    stored: Option<WaitingRuns>,
    /// Time of the next look, by the monotonic clock; `None` while no run can wait.
    pub(super) next_look: Option<Duration>,
}

impl Driver {
    /// Stores the runs that wait for a place, after every signal.
    ///
    /// A run joins the queue in its own task, and may get the place of a run of another job.
    /// Neither is a signal to this driver, so it also looks from time to time while items run.
    pub(super) fn note_waits(&mut self) {
        let now = self.seams.clock.monotonic();
        let waits = self.executor.waits(&self.job);
        let stored = self.state.waits.stored.is_some();
        let is_due = self.state.waits.next_look.is_some_and(|at| at <= now);
        match waits {
            None if stored => self.store_waits(None),
            None if !self.executor.may_wait() => self.state.waits.next_look = None,
            None if is_due || self.state.waits.next_look.is_none() => {
                self.state.waits.next_look = Some(now.saturating_add(NOTED_AFTER));
            }
            None => {}
            Some(_) if stored && !is_due => {}
            Some((limit, waits)) => {
                let waited = age(self.seams.clock.wall(), waits.since);
                if !stored && waited < NOTED_AFTER {
                    self.state.waits.next_look = Some(now.saturating_add(NOTED_AFTER - waited));
                    return;
                }
                let limit = u32::try_from(limit).unwrap_or(u32::MAX);
                let since = waits.since.as_millisecond();
                self.store_waits(WaitingRuns::of_items(limit, since, waits.items));
                self.state.waits.next_look = Some(now.saturating_add(UPDATED_EVERY));
            }
        }
    }

    fn store_waits(&mut self, waiting: Option<WaitingRuns>) {
        if self.state.waits.stored == waiting {
            return;
        }
        let count = waiting.as_ref().map_or(0, |waiting| waiting.count);
        self.subscribers.publish_waiting(&self.job, count as usize);
        self.state.waits = Waits { stored: waiting.clone(), next_look: None };
        self.feed(Event::Waits(waiting));
    }
}

/// Returns the time since `since`, or zero if a clock was set back.
fn age(now: Timestamp, since: Timestamp) -> Duration {
    now.duration_since(since).try_into().unwrap_or_default()
}
