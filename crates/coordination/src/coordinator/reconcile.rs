//! Reconciling: reads the job's nodes again at an interval and compares them with the view.
//!
//! The registry has to deliver every change. If one is missing nevertheless, the view stays wrong
//! until the node changes again. An instance then may not see its own items, for example.

use std::time::Duration;

use reg_center::{Node, Scope};

use super::Coordinator;
use crate::protocol::job_config::DEFAULT_RECONCILE_MINUTES;
use crate::view::difference::Differences;
use crate::{Command, GroupView, JobEvent, Now};

/// Time between two reads that have to show the same difference. A change that the feed delivers
/// later than that is a failure, too.
const SECOND_READ: Duration = Duration::from_secs(10);
/// Maximum number of nodes that a report names.
const MOST_NAMED: usize = 20;

/// State of the comparisons.
#[derive(Debug, Default)]
pub(crate) struct Reconcile {
    /// Time of the next read, by the monotonic clock. `None` if reconciling is off.
    pub(super) next: Option<Duration>,
    /// Time of the last read. The first interval begins with the first event.
    last: Option<Duration>,
    /// Differences that the last read has shown. Most of them are changes on their way.
    suspected: Differences,
}

impl Coordinator {
    /// Asks the driver for a read, if one is due.
    pub(super) fn reconcile(&mut self, now: Now, out: &mut Vec<Command>) {
        let suspects = !self.reconcile.suspected.is_empty();
        // The interval changes with the configuration, also while it lasts.
        let wait = self.reconcile_interval().map(|it| if suspects { SECOND_READ } else { it });
        let last = *self.reconcile.last.get_or_insert(now.mono);
        if wait.is_some_and(|wait| last + wait <= now.mono) {
            self.reconcile.last = Some(now.mono);
            if self.is_comparable() {
                out.push(Command::Read(self.scope_of_view()));
            }
        }
        self.reconcile.next = wait.and_then(|wait| Some(self.reconcile.last? + wait));
    }

    fn reconcile_interval(&self) -> Option<Duration> {
        // The configuration can be what the feed has not delivered.
        let config = self.view.config();
        let minutes = config.map_or(DEFAULT_RECONCILE_MINUTES, |it| it.reconcile_interval_minutes);
        (minutes > 0).then(|| Duration::from_secs(60 * u64::from(minutes)))
    }

    /// Returns true if the view is complete and its scope is not about to change.
    fn is_comparable(&self) -> bool {
        let view = &self.view;
        let is_changing = view.followed() != view.follows_next() || view.is_changing_group();
        self.connected && view.is_synced() && !is_changing
    }

    /// Returns the nodes that the view shows.
    fn scope_of_view(&self) -> Scope {
        let group = self.view.followed_group().map(GroupView::name);
        self.layout.scope(self.view.followed(), group)
    }

    /// Compares nodes that were read with the view. If two reads show the same difference, the feed
    /// has not delivered a change: a new feed replaces the view.
    pub(super) fn compare(&mut self, now: Now, nodes: Vec<Node>, out: &mut Vec<Command>) {
        let earlier = std::mem::take(&mut self.reconcile.suspected);
        // Changes that take seconds to arrive have the whole time, also after a slow read.
        self.reconcile.last = Some(now.mono);
        if !self.is_comparable() {
            return;
        }
        let found = self.view.differences_to(&self.view.read_as(nodes));
        if earlier.is_empty() {
            self.reconcile.suspected = found;
            return;
        }
        let missed = found.common(&earlier);
        if !missed.is_empty() {
            let (count, nodes) = (missed.len(), missed.list(MOST_NAMED));
            out.push(Command::Emit(JobEvent::ChangesMissed { count, nodes }));
            out.push(Command::Follow(self.scope_of_view()));
        }
    }
}
