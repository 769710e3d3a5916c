//! Observing Java instances: what is waited for because of them, and what they have left behind.

use std::time::Duration;

use super::Coordinator;
use crate::java::foreign::near_fire;
use crate::java::latch::{LATCH_PATIENCE, Latch};
use crate::java::resharding::ANNOUNCEMENT_PATIENCE;
use crate::local::Wait;
use crate::wire::NodeKind;
use crate::{Command, JobEvent, Now};

const COUNTED: &str = "a distribute-once listener of Java instances waits for all items, and ours are not counted: take it \
                       out of Java, or give it a timeout";
const SILENT: &str = "once-per-cluster callbacks of ours are not called while a Java instance has items: it writes no \
                      records";

impl Coordinator {
    pub(super) fn observe_java(&mut self, now: Now, out: &mut Vec<Command>) {
        self.local.foreign.observe(&self.view, self.local.last_fire_seen, now);
        self.observe_latches(now, out);
        self.observe_announcement(now);
        self.observe_leftovers(out);
        self.observe_callbacks(out);
        self.observe_overwritten(out);
    }

    fn observe_latches(&mut self, now: Now, out: &mut Vec<Command>) {
        for latch in Latch::ALL {
            let known = self.local.latch_waits.get(&latch).copied();
            if !self.waits_at(latch) {
                self.local.latch_waits.remove(&latch);
                continue;
            }
            let wait = Wait::on(known, now.mono, LATCH_PATIENCE);
            self.local.latch_waits.insert(latch, wait);
            if wait.over && !known.is_some_and(|known| known.over) {
                let path = format!("{}/{}", self.layout.root(), latch.node());
                let purpose = latch.purpose();
                let reason =
                    format!("a Java instance has had the turn {purpose} for {LATCH_PATIENCE:?}");
                out.push(Command::Emit(JobEvent::Anomaly { path, reason }));
            }
        }
    }

    fn waits_at(&self, latch: Latch) -> bool {
        let Some(me) = &self.me else { return false };
        let stands = self.view.latch_node_of(latch, me).is_some();
        stands && self.view.takes_turns() && !self.view.is_first_at(latch, me)
    }

    pub(super) fn stands_in_line(&self) -> bool {
        Latch::ALL.into_iter().any(|latch| self.waits_at(latch))
    }

    fn observe_announcement(&mut self, now: Now) {
        let leads = self.me.as_ref().is_some_and(|me| self.view.term_of(me).is_some());
        let announced = leads && self.view.is_necessary();
        let wait = || Wait::on(self.local.announced, now.mono, ANNOUNCEMENT_PATIENCE);
        self.local.announced = announced.then(wait);
        let concerned = leads && self.view.is_mixed();
        let due = self.local.due.as_ref().filter(|_| concerned);
        let near = due.and_then(|due| near_fire(due, now));
        self.local.near_fire = near.map(|left| now.mono + left);
    }

    /// Returns when something has lasted for longer than patience with Java instances does, or is known of them that is not
    /// known yet, or a fire is over at which nothing moves among them.
    pub(super) fn end_of_patience(&self) -> Option<Duration> {
        let latches = self.local.latch_waits.values().map(|wait| (wait, LATCH_PATIENCE));
        let announced = self.local.announced.iter().map(|wait| (wait, ANNOUNCEMENT_PATIENCE));
        let open = latches.chain(announced).filter(|(wait, _)| !wait.over);
        let ends = open.map(|(wait, patience)| wait.since + patience);
        let ends = ends.min();
        let fire = self.local.near_fire;
        ends.into_iter().chain(self.local.foreign.next_decision()).chain(fire).min()
    }

    /// Tells of runs of this instance whose mark a Java instance has replaced by its own: Java looks at no records, so that both
    /// run the item.
    fn observe_overwritten(&mut self, out: &mut Vec<Command>) {
        let view = &self.view;
        self.told.overwritten.retain(|(item, at)| view.item(*item).marked_at == *at);
        if !view.is_mixed() {
            return;
        }
        for item in self.local.runs.items() {
            let shown = view.item(item);
            let Some(java) = view.marked_by_java(shown) else { continue };
            if self.told.overwritten.insert((item, shown.marked_at)) {
                let path = self.layout.path(&NodeKind::Running(item)).to_string();
                let reason = format!("{java} has begun item {item}, which runs here");
                out.push(Command::Emit(JobEvent::Anomaly { path, reason }));
            }
        }
    }

    /// Callbacks that happen once per cluster do so in one language only: Java instances count nodes that ours do not write, and
    /// ours go by records that Java instances do not write.
    fn observe_callbacks(&mut self, out: &mut Vec<Command>) {
        let view = &self.view;
        let counted = view.is_counted() && view.is_mixed();
        let of_java = || view.items().any(|(_, item)| view.java_owner(item).is_some());
        let silent = self.settings.calls_back && view.is_mixed() && of_java();
        let tell = |node: &str, reason: &str, out: &mut Vec<Command>| {
            let (path, reason) = (format!("{}/{node}", self.layout.root()), reason.to_owned());
            out.push(Command::Emit(JobEvent::Anomaly { path, reason }));
        };
        if counted && !self.told.counted {
            tell("guarantee", COUNTED, out);
        }
        if silent && !self.told.silent {
            tell("coordination/once", SILENT, out);
        }
        // Java takes its nodes away after each fire.
        self.told.counted = counted || (self.told.counted && view.is_mixed());
        self.told.silent = silent;
    }

    /// Tells of marks by which a living Java instance shows runs that it cannot be running any more: it runs those items no
    /// more, and a Java leader waits for them for ever. Nobody can tell for certain, so nobody takes the marks away.
    fn observe_leftovers(&mut self, out: &mut Vec<Command>) {
        let found = self.local.foreign.leftovers(&self.view);
        let view = &self.view;
        self.told.leftovers.retain(|(item, at)| view.item(*item).marked_at == *at);
        for leftover in found {
            if self.told.leftovers.insert((leftover.item, leftover.marked_at)) {
                let path = self.layout.path(&NodeKind::Running(leftover.item)).to_string();
                let reason = leftover.to_string();
                out.push(Command::Emit(JobEvent::Anomaly { path, reason }));
            }
        }
    }
}
