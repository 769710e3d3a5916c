//! Memory of one instance about Java instances beside the view, and its reports about them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use reg_center::Revision;
use sharding::{InstanceId, ShardingItem};

use super::inference::{Inference, near_fire};
use crate::local::fires::Due;
use crate::local::wait::Wait;
use crate::runs::Runs;
use crate::view::JobView;
use crate::wire::NodeKind;

use crate::{Command, FireTime, JobEvent, Latch, Now};

/// Time that an instance waits for its turn. Then it acts without the latch, or joins again.
const LATCH_PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time that the leader waits for runs of Java instances. Then it assigns the idle items.
const ANNOUNCEMENT_PATIENCE: Duration = Duration::from_secs(10);
const COUNTED: &str = "a distribute-once listener of Java instances waits for all items, but does not see items of Rust \
                       instances; remove the listener, or give it a timeout";
const SILENT: &str = "once-per-cluster callbacks of Rust instances are not called while a Java instance has items, because \
                      Java instances write no records";

/// Memory of Java instances, in a struct of its own so that it stays empty in a cluster without
/// them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct JavaMemory {
    /// Fires and runs of Java instances. Written at fires and at each change of the view; read by
    /// all rules of `java`.
    pub(crate) inference: Inference,
    /// Time that this instance has waited at a latch without being the first. Read by turns.
    pub(crate) latch_waits: BTreeMap<Latch, Wait>,
    /// Time since a resharding was announced, if this instance leads. Read by resharding.
    pub(crate) announced: Option<Wait>,
    /// End of the present fire on the monotonic clock: the leader moves no items during a fire.
    /// Read by resharding.
    pub(crate) near_fire: Option<Duration>,
    reported: Reported,
}

/// Facts that were reported already, so that each is reported once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Reported {
    /// Marks that living Java instances left behind, with the revisions at which they were created.
    leftover_marks: BTreeSet<(ShardingItem, Option<Revision>)>,
    /// Marks of Java instances that run an item beside this instance.
    second_runs: BTreeSet<(ShardingItem, Option<Revision>)>,
    /// Java instances count items that this project does not count.
    counted: bool,
    /// Callbacks of this instance wait for items of Java instances.
    silent: bool,
}

/// Input of an observation of Java instances.
pub(crate) struct Surroundings<'a> {
    pub(crate) now: Now,
    pub(crate) me: Option<&'a InstanceId>,
    pub(crate) view: &'a JobView,
    /// The runs of this process.
    pub(crate) runs: &'a Runs,
    pub(crate) due: Option<&'a Due>,
    /// The last scheduled fire that this instance saw.
    pub(crate) last_fire: Option<FireTime>,
    /// This process can call once-per-cluster callbacks.
    pub(crate) calls_back: bool,
}

impl Surroundings<'_> {
    fn leads(&self) -> bool {
        self.me.is_some_and(|me| self.view.term_of(me).is_some())
    }
}

/// Returns true if this instance waits at a latch for its turn.
pub(crate) fn waits_for_turn(view: &JobView, me: Option<&InstanceId>) -> bool {
    me.is_some_and(|me| Latch::ALL.into_iter().any(|latch| waits_at(view, me, latch)))
}

fn waits_at(view: &JobView, me: &InstanceId, latch: Latch) -> bool {
    let joined = view.latch_node_of(latch, me).is_some();
    joined && view.takes_turns() && !view.is_first_at(latch, me)
}

impl JavaMemory {
    /// Returns true if Java instances may have run fires: they write no records, so that records
    /// alone prove no gap.
    pub(crate) fn may_have_run_fires(&self, view: &JobView) -> bool {
        view.is_mixed() || self.inference.is_known()
    }

    /// Returns true if nothing is remembered that a decision depends on.
    pub(crate) fn is_empty(&self) -> bool {
        self.inference.is_empty()
    }

    /// Observes Java instances in the view, and reports anomalies to operators.
    pub(crate) fn observe(&mut self, around: &Surroundings<'_>, out: &mut Vec<Command>) {
        self.inference.observe(around.view, around.last_fire, around.now);
        self.observe_latches(around, out);
        self.observe_announcement(around);
        self.report_leftover_marks(around.view, out);
        self.report_callbacks(around, out);
        self.report_second_runs(around, out);
    }

    /// Clears all waits: the session has ended, and its nodes are gone.
    pub(crate) fn lose_session(&mut self) {
        self.latch_waits.clear();
        self.announced = None;
        self.near_fire = None;
    }

    /// Returns the next time on the monotonic clock at which a wait ends or a run is decided.
    pub(crate) fn next_wake(&self) -> Option<Duration> {
        let latches = self.latch_waits.values().map(|wait| (wait, LATCH_PATIENCE));
        let announced = self.announced.iter().map(|wait| (wait, ANNOUNCEMENT_PATIENCE));
        let open = latches.chain(announced).filter(|(wait, _)| !wait.over);
        let ends = open.map(|(wait, patience)| wait.since + patience);
        ends.chain(self.inference.next_decision()).chain(self.near_fire).min()
    }

    fn observe_latches(&mut self, around: &Surroundings<'_>, out: &mut Vec<Command>) {
        for latch in Latch::ALL {
            let known = self.latch_waits.get(&latch).copied();
            if !around.me.is_some_and(|me| waits_at(around.view, me, latch)) {
                self.latch_waits.remove(&latch);
                continue;
            }
            let wait = Wait::on(known, around.now.mono, LATCH_PATIENCE);
            self.latch_waits.insert(latch, wait);
            if wait.over && !known.is_some_and(|known| known.over) {
                let purpose = latch.purpose();
                let reason =
                    format!("a Java instance has had the turn {purpose} for {LATCH_PATIENCE:?}");
                report(around.view, latch.node(), reason, out);
            }
        }
    }

    fn observe_announcement(&mut self, around: &Surroundings<'_>) {
        let announced = around.leads() && around.view.is_necessary();
        let wait = || Wait::on(self.announced, around.now.mono, ANNOUNCEMENT_PATIENCE);
        self.announced = announced.then(wait);
        let concerned = around.leads() && around.view.is_mixed();
        let due = if concerned { around.due } else { None };
        let near = due.and_then(|due| near_fire(due, around.now));
        self.near_fire = near.map(|left| around.now.mono + left);
    }

    /// Reports marks by which a living Java instance shows runs that it cannot be running any more.
    /// It does not run those items again, and a Java leader waits for them for ever. As they may be
    /// live all the same, an operator has to remove them.
    fn report_leftover_marks(&mut self, view: &JobView, out: &mut Vec<Command>) {
        let reported = &mut self.reported.leftover_marks;
        reported.retain(|(item, at)| view.item(*item).marks.marked_at() == *at);
        for leftover in self.inference.leftovers(view) {
            if reported.insert((leftover.item, leftover.marked_at)) {
                let node = NodeKind::Running(leftover.item).to_string();
                report(view, &node, leftover.to_string(), out);
            }
        }
    }

    /// Reports once-per-cluster callbacks that do not work across languages: Java instances count
    /// nodes that this project does not write, and this project reads records that Java instances
    /// do not write.
    fn report_callbacks(&mut self, around: &Surroundings<'_>, out: &mut Vec<Command>) {
        let view = around.view;
        let mixed = view.is_mixed();
        let counted = view.is_counted() && mixed;
        let of_java = || view.items().any(|(_, item)| view.java_owner(item).is_some());
        let silent = around.calls_back && mixed && of_java();
        if counted && !self.reported.counted {
            report(view, "guarantee", COUNTED.to_owned(), out);
        }
        if silent && !self.reported.silent {
            report(view, "coordination/once", SILENT.to_owned(), out);
        }
        // Java instances remove their nodes after each fire.
        self.reported.counted = counted || (self.reported.counted && mixed);
        self.reported.silent = silent;
    }

    /// Reports runs of this process whose mark a Java instance has replaced by its own: Java
    /// instances read no records, so that both run the item.
    fn report_second_runs(&mut self, around: &Surroundings<'_>, out: &mut Vec<Command>) {
        let view = around.view;
        let reported = &mut self.reported.second_runs;
        reported.retain(|(item, at)| view.item(*item).marks.marked_at() == *at);
        if !view.is_mixed() {
            return;
        }
        for item in around.runs.items() {
            let shown = view.item(item);
            let Some(java) = view.marked_by_java(shown) else { continue };
            if reported.insert((item, shown.marks.marked_at())) {
                let reason =
                    format!("{java} has started item {item}, which already runs in this process");
                report(view, &NodeKind::Running(item).to_string(), reason, out);
            }
        }
    }
}

fn report(view: &JobView, node: &str, reason: String, out: &mut Vec<Command>) {
    let path = format!("{}/{node}", view.layout().root());
    out.push(Command::Emit(JobEvent::Anomaly { path, reason }));
}
