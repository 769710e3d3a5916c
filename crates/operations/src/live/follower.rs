//! The task that follows the registry.

use std::sync::Arc;

use reg_center::{Change, Feed, NodePath, RegistryCenter, SessionChange, SessionFeed};

use super::jobs::Incoming;
use super::updates::Update;
use super::{Shared, Shown};
use crate::JobSnapshot;

/// Maximum number of changes that are applied without a pause in which readers get the jobs.
const CHANGES_AT_ONCE: usize = 1_000;

/// The task that follows the registry.
pub(super) struct Follower {
    feed: Feed,
    sessions: SessionFeed,
    shared: Arc<Shared>,
    /// The nodes of the incomplete snapshot, if one is being read.
    incoming: Option<Incoming>,
    /// The registry answers.
    is_connected: bool,
    /// No snapshot is being read.
    is_complete: bool,
    /// A center without an owner is closed.
    _registry: Arc<dyn RegistryCenter>,
}

impl Follower {
    pub(super) fn new(registry: Arc<dyn RegistryCenter>, shared: Arc<Shared>) -> Self {
        Self {
            feed: registry.watch(&NodePath::root()),
            sessions: registry.session_feed(),
            shared,
            incoming: None,
            is_connected: false,
            is_complete: false,
            _registry: registry,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                // A registry that answers again begins a snapshot, which comes before what was
                // known is shown as current.
                biased;
                change = self.feed.next() => match change {
                    Some(change) => self.follow(change).await,
                    None => break,
                },
                session = self.sessions.next() => match session {
                    Some(SessionChange::Connected { .. }) => self.is_connected = true,
                    Some(SessionChange::Suspended { .. } | SessionChange::Lost { .. }) => {
                        self.is_connected = false;
                    }
                    Some(SessionChange::Closed) | None => break,
                },
            }
            self.report_freshness();
            // The feed is always ready while a large snapshot arrives.
            tokio::task::yield_now().await;
        }
        self.is_connected = false;
        self.report_freshness();
        self.shared.subscribers.close();
    }

    /// Applies a change, and those that are pending, as one update.
    async fn follow(&mut self, first: Change) {
        let mut changed = Update::default();
        let mut next = Some(first);
        let mut is_ready = false;
        {
            let mut shown = self.shared.shown.lock();
            for _ in 0..CHANGES_AT_ONCE {
                let Some(change) = next.take().or_else(|| self.feed.try_next()) else { break };
                match (change, &mut self.incoming) {
                    (Change::Init, _) => {
                        (self.incoming, self.is_complete) = (Some(Incoming::default()), false);
                    }
                    (Change::Ready, _) => {
                        is_ready = true;
                        break;
                    }
                    (Change::Entry(node) | Change::Put(node), Some(incoming)) => {
                        incoming.insert(node);
                    }
                    (change, _) => shown.apply(change, &mut changed),
                }
            }
            shown.jobs.summarize(&changed.jobs);
        }
        self.report(&changed);
        if is_ready {
            // Readers may see jobs of the former and of the new snapshot until all are replaced.
            self.report_freshness();
            self.replace().await;
            self.is_complete = true;
        }
    }

    /// Replaces the groups and the jobs by those of the snapshot, which is complete. Equal ones
    /// stay, so that no reader renders them again.
    ///
    /// Decoding a large namespace takes seconds. Readers get the jobs meanwhile, and no second copy
    /// of the namespace is needed.
    async fn replace(&mut self) {
        let mut incoming = self.incoming.take().unwrap_or_default();
        let replaced = {
            let mut shown = self.shared.shown.lock();
            let Shown { jobs, groups, .. } = &mut *shown;
            let groups = groups.replace(incoming.take_groups());
            Update { jobs: jobs.retain(|job| incoming.has(job)), groups }
        };
        self.report(&replaced);
        while let Some((job, nodes)) = incoming.next() {
            let is_known = {
                let shown = self.shared.shown.lock();
                shown.jobs.get(&job).is_some_and(|known| known.has_nodes(&nodes))
            };
            if !is_known {
                let snapshot = JobSnapshot::of_stored(&job, nodes);
                self.shared.shown.lock().jobs.insert(snapshot);
                self.report(&Update { jobs: [job].into(), ..Update::default() });
            }
            tokio::task::yield_now().await;
        }
    }

    /// Reports changes of jobs and groups, if there are any.
    fn report(&self, changed: &Update) {
        if !changed.is_empty() {
            self.notify(changed);
        }
    }

    fn notify(&self, changed: &Update) {
        let Shared { shown, subscribers } = &*self.shared;
        subscribers.report(changed, |job| shown.lock().jobs.group_of(job).cloned());
    }

    fn report_freshness(&self) {
        let mut shown = self.shared.shown.lock();
        let freshness = shown.freshness.after(self.is_connected && self.is_complete);
        if shown.freshness != freshness {
            shown.freshness = freshness;
            drop(shown);
            self.notify(&Update::default());
        }
    }
}
