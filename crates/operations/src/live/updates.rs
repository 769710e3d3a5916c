//! Subscribers to the changes of a namespace.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use coordination::JobName;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Changes since the last update of a subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// Jobs that were created, changed or removed. It is empty if only the
    /// [freshness](crate::LiveNamespace::freshness) has changed.
    pub jobs: BTreeSet<JobName>,
}

/// The updates of one subscriber.
#[derive(Debug)]
pub struct Updates {
    subscriber: Arc<Subscriber>,
    interval: Duration,
    last: Option<Instant>,
}

impl Updates {
    /// Waits for a change, and returns everything that has changed since the last call.
    ///
    /// Returns `None` after the registry was closed or the
    /// [`LiveNamespace`](crate::LiveNamespace) was dropped.
    ///
    /// # Cancel safety
    /// No change is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Update> {
        // A timer would cost up to a millisecond even if the time has passed.
        if let Some(next) = self.last.map(|last| last + self.interval)
            && next > Instant::now()
        {
            tokio::time::sleep_until(next).await;
        }
        loop {
            let changed = self.subscriber.changed.notified();
            {
                let mut unseen = self.subscriber.unseen.lock();
                if let Some(update) = unseen.update.take() {
                    self.last = Some(Instant::now());
                    return Some(update);
                }
                if unseen.is_closed {
                    return None;
                }
            }
            changed.await;
        }
    }
}

#[derive(Debug)]
struct Subscriber {
    /// The only job whose changes the subscriber gets; `None` for all.
    only: Option<JobName>,
    unseen: Mutex<Unseen>,
    changed: Notify,
}

/// Changes that a subscriber has not seen yet.
#[derive(Debug)]
struct Unseen {
    update: Option<Update>,
    is_closed: bool,
}

/// All subscribers of a namespace. Dropped ones are forgotten at the next change.
#[derive(Debug, Default)]
pub(super) struct Subscribers(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    subscribers: Vec<Weak<Subscriber>>,
    is_closed: bool,
}

impl Subscribers {
    /// Adds a subscriber to the changes of one job, or of all.
    pub(super) fn add(&self, only: Option<JobName>, interval: Duration) -> Updates {
        let mut all = self.0.lock();
        let unseen = Unseen { update: None, is_closed: all.is_closed };
        let unseen = Mutex::new(unseen);
        let subscriber = Arc::new(Subscriber { only, unseen, changed: Notify::new() });
        all.subscribers.push(Arc::downgrade(&subscriber));
        Updates { subscriber, interval, last: None }
    }

    /// Reports to each subscriber that these jobs, or the freshness, have changed.
    pub(super) fn report(&self, jobs: &BTreeSet<JobName>) {
        self.0.lock().notify(|Subscriber { only, .. }, unseen| {
            let is_wanted = |job: &&JobName| only.as_ref().is_none_or(|only| only == *job);
            let mut wanted = jobs.iter().filter(is_wanted).peekable();
            if wanted.peek().is_some() || jobs.is_empty() {
                unseen.update.get_or_insert_default().jobs.extend(wanted.cloned());
            }
        });
    }

    /// Ends the updates of each subscriber, also of later ones.
    pub(super) fn close(&self) {
        let mut all = self.0.lock();
        all.is_closed = true;
        all.notify(|_, unseen| unseen.is_closed = true);
    }
}

impl All {
    fn notify(&mut self, change: impl Fn(&Subscriber, &mut Unseen)) {
        self.subscribers.retain(|subscriber| {
            let Some(subscriber) = subscriber.upgrade() else { return false };
            let mut unseen = subscriber.unseen.lock();
            change(&subscriber, &mut unseen);
            if unseen.update.is_some() || unseen.is_closed {
                subscriber.changed.notify_one();
            }
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn jobs<const N: usize>(names: [&str; N]) -> BTreeSet<JobName> {
        names.map(|name| JobName::new(name).unwrap()).into()
    }

    #[tokio::test(start_paused = true)]
    async fn changes_of_other_jobs_neither_cause_nor_delay_updates_of_a_job() {
        let all = Subscribers::default();
        let report = JobName::new("report").unwrap();
        let mut updates = all.add(Some(report), Duration::from_millis(100));
        all.report(&jobs(["other"]));
        assert_eq!(updates.next().now_or_never(), None);
        all.report(&jobs(["other", "report"]));
        let began = Instant::now();
        assert_eq!(updates.next().await, Some(Update { jobs: jobs(["report"]) }));
        assert_eq!(began.elapsed(), Duration::ZERO, "the other job's change began no interval");
        all.report(&jobs([]));
        assert_eq!(updates.next().await, Some(Update::default()), "the freshness has changed");
        all.close();
        assert_eq!(updates.next().await, None);
    }
}
