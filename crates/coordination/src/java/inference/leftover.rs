//! Leftover marks: a registered Java instance cannot be running the items that they name any more.

use std::fmt;

use reg_center::Revision;
use sharding::{InstanceId, ShardingItem};

use super::{Inference, JavaRun};
use crate::view::JobView;

/// Mark of a run that its registered Java instance cannot be running any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leftover {
    pub(crate) item: ShardingItem,
    pub(crate) marked_at: Option<Revision>,
    owner: InstanceId,
    /// An earlier incarnation with the same id created the mark. Otherwise this one did, for an
    /// earlier fire than its other marks.
    of_earlier_incarnation: bool,
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item, owner, .. } = self;
        let why = if self.of_earlier_incarnation {
            "the mark is older than the instance, which has the id of an earlier one or has reconnected"
        } else {
            "it runs a later fire already, and runs one at a time"
        };
        write!(
            f,
            "{owner} is shown as running item {item}, but {why}; remove the node if nothing runs"
        )
    }
}

impl Inference {
    /// Returns the leftover marks of registered Java instances.
    ///
    /// A Java instance runs one fire at a time, marks its items when it begins, and never begins a
    /// marked item. So a mark stays forever if it is older than another mark of its instance, or
    /// than the instance. Marks of one fire may be seen before and after the fire itself, so that
    /// only a distance of two fires is proof.
    pub(crate) fn leftovers(&self, view: &JobView) -> Vec<Leftover> {
        self.marked_runs().filter_map(|(item, run)| self.leftover(view, item, run)).collect()
    }

    /// Returns the runs of Java instances for their own items whose marks exist.
    fn marked_runs(&self) -> impl Iterator<Item = (ShardingItem, &JavaRun)> {
        let runs = self.runs.iter().map(|(item, run)| (*item, run));
        runs.filter(|(_, run)| run.ended.is_none() && !run.taken_over)
    }

    fn leftover(&self, view: &JobView, item: ShardingItem, run: &JavaRun) -> Option<Leftover> {
        let aged = run.fires + 2;
        let is_newer = |other: &JavaRun| other.owner == run.owner && other.fires >= aged;
        let overtaken = self.marked_runs().any(|(_, other)| is_newer(other));
        let named = view.item(item).marks.lasting_holder() == Some(&run.owner);
        let older = run.marked_at < view.registered_at(&run.owner) && self.fires >= aged;
        let of_earlier_incarnation = named && older;
        if !overtaken && !of_earlier_incarnation {
            return None;
        }
        let (marked_at, owner) = (run.marked_at, run.owner.clone());
        Some(Leftover { item, marked_at, owner, of_earlier_incarnation })
    }
}
