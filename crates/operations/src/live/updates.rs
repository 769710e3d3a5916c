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
    pub(super) fn add(&self, interval: Duration) -> Updates {
        let mut all = self.0.lock();
        let unseen = Unseen { update: None, is_closed: all.is_closed };
        let subscriber = Subscriber { unseen: Mutex::new(unseen), changed: Notify::new() };
        let subscriber = Arc::new(subscriber);
        all.subscribers.push(Arc::downgrade(&subscriber));
        Updates { subscriber, interval, last: None }
    }

    /// Reports to each subscriber that these jobs, or the freshness, have changed.
    pub(super) fn report(&self, jobs: &BTreeSet<JobName>) {
        self.0.lock().tell(|unseen| {
            unseen.update.get_or_insert_default().jobs.extend(jobs.iter().cloned());
        });
    }

    /// Ends the updates of each subscriber, also of later ones.
    pub(super) fn close(&self) {
        let mut all = self.0.lock();
        all.is_closed = true;
        all.tell(|unseen| unseen.is_closed = true);
    }
}

impl All {
    fn tell(&mut self, change: impl Fn(&mut Unseen)) {
        self.subscribers.retain(|subscriber| {
            let Some(subscriber) = subscriber.upgrade() else { return false };
            change(&mut subscriber.unseen.lock());
            subscriber.changed.notify_one();
            true
        });
    }
}
