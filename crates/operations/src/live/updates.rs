//! Subscribers to the changes of a namespace.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use coordination::{GroupName, JobName};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Changes since the last update of a subscriber.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Update {
    /// Jobs that were created, changed or removed.
    pub jobs: BTreeSet<JobName>,
    /// Groups whose limits, permits, line or last changes have changed.
    ///
    /// Without jobs and groups, only the [freshness](crate::LiveNamespace::freshness) has changed.
    pub groups: BTreeSet<GroupName>,
}

impl Update {
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.groups.is_empty()
    }

    fn extend(&mut self, later: Self) {
        self.jobs.extend(later.jobs);
        self.groups.extend(later.groups);
    }
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

    /// Reports to each subscriber that these jobs and groups, or the freshness, have changed. A
    /// subscriber to one job gets the changes of its group, which `group_of` returns.
    pub(super) fn report(
        &self,
        changed: &Update,
        group_of: impl Fn(&JobName) -> Option<GroupName>,
    ) {
        self.0.lock().notify(|Subscriber { only, .. }, unseen| {
            let Some(only) = only else {
                return unseen.update.get_or_insert_default().extend(changed.clone());
            };
            let is_own = |group: &GroupName| changed.groups.contains(group);
            let group = if changed.groups.is_empty() { None } else { group_of(only) };
            let wanted = Update {
                jobs: changed.jobs.get(only).cloned().into_iter().collect(),
                groups: group.filter(is_own).into_iter().collect(),
            };
            if !wanted.is_empty() || changed.is_empty() {
                unseen.update.get_or_insert_default().extend(wanted);
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

    fn update(jobs: &[&str], groups: &[&str]) -> Update {
        Update {
            jobs: jobs.iter().map(|name| JobName::new(name).unwrap()).collect(),
            groups: groups.iter().map(|name| GroupName::new(name).unwrap()).collect(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn changes_of_other_jobs_neither_cause_nor_delay_updates_of_a_job() {
        let all = Subscribers::default();
        let group_of = |_: &JobName| GroupName::new("db").ok();
        let report = JobName::new("report").unwrap();
        let mut updates = all.add(Some(report), Duration::from_millis(100));
        all.report(&update(&["other"], &["api"]), group_of);
        assert_eq!(updates.next().now_or_never(), None);
        all.report(&update(&["other", "report"], &[]), group_of);
        let began = Instant::now();
        assert_eq!(updates.next().await, Some(update(&["report"], &[])));
        assert_eq!(began.elapsed(), Duration::ZERO, "the other job's change began no interval");
        all.report(&update(&["other"], &["api", "db"]), group_of);
        assert_eq!(updates.next().await, Some(update(&[], &["db"])), "the group of the job");
        all.report(&Update::default(), group_of);
        assert_eq!(updates.next().await, Some(Update::default()), "the freshness has changed");
        all.close();
        assert_eq!(updates.next().await, None);
    }
}
