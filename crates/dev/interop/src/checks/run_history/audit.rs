//! Faults in a run history: fires of an item that were lost, run twice, or never due.

use std::collections::BTreeSet;

use super::{Ran, RunHistory, SECOND, at, runs_as_text};
use crate::stage::OwnerChange;

/// Results of the audit of some fires.
#[derive(Debug, Default)]
pub(super) struct Audit {
    pub(super) faults: Vec<String>,
    /// Fires with faults.
    pub(super) fires: BTreeSet<i64>,
    /// Known races of Java, which are no faults.
    pub(super) races: Vec<String>,
    /// Number of fires of items that met a running item and were replayed.
    pub(super) n_replayed: usize,
}

/// Time after a fire in which a Java leader may assign items for it, in milliseconds.
///
/// A Java leader assigns items when it handles a fire, and can be late by another fire. It can be
/// later if it completes the fire later.
const LATE: i64 = SECOND + SECOND / 2;

/// Time around a fire in which Java instances can differ on an announced resharding, in
/// milliseconds.
///
/// Before the fire, some instances may not see the announcement in time. After it, some instances
/// may be late for the fire.
const ANNOUNCED_WITHIN: i64 = 250;

/// Explanation of a race in which the Java leader assigned the item at the fire.
const REASSIGNED: &str = "reassigned by the Java leader at this fire";

/// Time from the assignment of an item until a new Java instance fires first, in milliseconds.
const START_UP: i64 = 2 * SECOND;

impl RunHistory {
    /// Audits every item of every fire from `from` to `to`, inclusive.
    pub(super) fn audit(&self, total: u32, from: i64, to: i64) -> Audit {
        let mut audit = Audit::default();
        for item in 0..total {
            self.audit_item(item, from, to, &mut audit);
        }
        for (fire, items) in self.runs.range(from..=to) {
            for (item, runs) in items.range(total..) {
                let what = format!("item {item} of fire {} does not exist", at(*fire));
                audit.fault(*fire, format!("{what} and ran {}", runs_as_text(runs)));
            }
        }
        audit
    }

    fn audit_item(&self, item: u32, from: i64, to: i64, audit: &mut Audit) {
        // Fires without a run. A later replay accounts for them.
        let mut missed = Vec::new();
        // A replay may account for fires before the audited ones.
        let mut is_missed_before = self.of_item(from - self.period, item).is_empty();
        for fire in self.fires(from, to) {
            let runs = self.of_item(fire, item);
            let (replays, usual): (Vec<&Ran>, Vec<&Ran>) =
                runs.iter().partition(|ran| ran.is_replay());
            let has_missed = is_missed_before || !missed.is_empty();
            match (usual.as_slice(), replays.len()) {
                ([], 0) => missed.push(fire),
                ([ran], 0) if ran.is_merged => audit.record_replay(0, &mut missed),
                ([_], 0) => self.record_lost(item, &mut missed, audit),
                ([], 1) => audit.record_replay(1, &mut missed),
                ([_], 1) if has_missed => audit.record_replay(0, &mut missed),
                _ => {
                    let fault =
                        format!("item {item} of fire {} ran {}", at(fire), runs_as_text(runs));
                    let is_java = runs.iter().any(Ran::is_of_java);
                    match is_java && self.reassigned_by_java(item, fire).is_some() {
                        true => {
                            audit.races.push(format!("{fault}, {REASSIGNED}"));
                        }
                        false => audit.fault(fire, fault),
                    }
                }
            }
            // Java replays misfires at the end of its next run.
            is_missed_before &= runs.is_empty();
        }
        self.record_lost(item, &mut missed, audit);
    }

    /// Records fires without a run as faults or as races of Java.
    ///
    /// A race: a Java leader assigns an item to a Java instance at the fire, and the view of the
    /// instance lags. Another race: the owner is a Java instance that has just joined and whose
    /// schedule does not run yet.
    fn record_lost(&self, item: u32, missed: &mut Vec<i64>, audit: &mut Audit) {
        for fire in missed.drain(..) {
            let fault = format!("item {item} of fire {} was lost", at(fire));
            match self.reassigned_by_java(item, fire) {
                Some(true) => audit.races.push(format!("{fault}, {REASSIGNED}")),
                _ if self.is_announced_at(fire) && self.is_assigned_to_java(item, fire) => {
                    audit.races.push(format!(
                        "{fault}, assigned to a Java instance that may have begun this fire before"
                    ));
                }
                _ if self.is_of_newcomer(item, fire) => {
                    audit.races.push(format!(
                        "{fault}, assigned to a Java instance that had joined and did not fire yet"
                    ));
                }
                _ => audit.fault(fire, fault),
            }
        }
    }

    /// Returns whether the owner was a Java instance that had just got the item and completed only
    /// later fires.
    ///
    /// A Java instance registers before it starts its schedule. A Rust leader assigns items to it
    /// at once.
    fn is_of_newcomer(&self, item: u32, fire: i64) -> bool {
        let last = self.owner_changes_of(item).rfind(|change| change.at <= fire + LATE);
        last.is_some_and(|change| {
            let first = self.first_fires.get(&change.owner);
            change.to_java
                && fire <= change.at + START_UP
                && first.is_some_and(|first| *first > fire)
        })
    }

    /// Returns whether a resharding was announced at this fire.
    ///
    /// A Java instance that had begun the fire runs it for its former items. One that had not waits
    /// and runs it for its new items.
    fn is_announced_at(&self, fire: i64) -> bool {
        self.announcements
            .iter()
            .any(|at| (fire - ANNOUNCED_WITHIN..fire + ANNOUNCED_WITHIN).contains(at))
    }

    /// Returns whether the item was assigned to a Java instance soon after this fire.
    fn is_assigned_to_java(&self, item: u32, fire: i64) -> bool {
        let then = |change: &&OwnerChange| (fire..=fire + LATE).contains(&change.at);
        self.owner_changes_of(item).rfind(then).is_some_and(|change| change.to_java)
    }

    /// Returns whether the new owner is a Java instance, if a Java leader assigned the item at this
    /// fire.
    fn reassigned_by_java(&self, item: u32, fire: i64) -> Option<bool> {
        let done = self.completions.iter().filter(|done| done.fire == fire).map(|done| done.at);
        let until = done.chain([fire + LATE]).max();
        let then = |at: i64| at >= fire && Some(at) <= until;
        let reassigned =
            self.owner_changes_of(item).filter(|change| change.by_java && then(change.at));
        reassigned.map(|change| change.to_java).next_back()
    }

    fn owner_changes_of(&self, item: u32) -> impl DoubleEndedIterator<Item = &OwnerChange> {
        self.owner_changes.iter().filter(move |change| change.item == item)
    }
}

impl Audit {
    fn fault(&mut self, fire: i64, text: String) {
        self.faults.push(text);
        self.fires.insert(fire);
    }

    fn record_replay(&mut self, own: usize, missed: &mut Vec<i64>) {
        self.n_replayed += missed.len() + own;
        missed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Replays;
    use super::*;
    use crate::protocol::{Fact, Run, WorkerEvent};
    use crate::stage::Entry;

    fn begin(who: &str, item: u32, fire: i64, source: &str) -> Entry {
        let run = Run {
            job: "job".to_owned(),
            item,
            run: 1,
            fire,
            source: source.to_owned(),
            total: 2,
            job_parameter: String::new(),
            parameter: None,
            task_id: String::new(),
            interrupted: false,
            merged_from: None,
        };
        Entry { who: who.into(), fact: Fact { at: fire + 5, event: WorkerEvent::Begin(run) } }
    }

    fn merged(who: &str, item: u32, fire: i64, from: i64) -> Entry {
        let mut entry = begin(who, item, fire, "NORMAL");
        if let WorkerEvent::Begin(run) = &mut entry.fact.event {
            run.merged_from = Some(from);
        }
        entry
    }

    fn faults(entries: &[Entry], to: i64) -> Vec<String> {
        RunHistory::of("job", entries).audit(2, 1000, to).faults
    }

    #[test]
    fn lost_repeated_and_invented_runs_are_faults() {
        let rows = [
            ("once", vec![], vec![]),
            ("a request is no fire", vec![begin("J", 0, 1000, "request")], vec![]),
            (
                "twice",
                vec![begin("J", 0, 1000, "schedule")],
                vec![
                    "item 0 of fire 00:01.000 ran 2 times: \
                     R (NORMAL) at 00:01.005 J (schedule) at 00:01.005",
                ],
            ),
            (
                "replayed without a missed fire",
                vec![begin("J", 0, 2000, "misfire")],
                vec![
                    "item 0 of fire 00:02.000 ran 2 times: \
                     R (NORMAL) at 00:02.005 J (misfire) at 00:02.005",
                ],
            ),
            (
                "an item beyond the total",
                vec![begin("J", 2, 2000, "schedule")],
                vec![
                    "item 2 of fire 00:02.000 does not exist and ran 1 times: \
                     J (schedule) at 00:02.005",
                ],
            ),
        ];
        for (case, more, expected) in rows {
            let mut entries: Vec<_> = [1000, 2000]
                .into_iter()
                .flat_map(|fire| [begin("R", 0, fire, "NORMAL"), begin("J", 1, fire, "schedule")])
                .collect();
            entries.extend(more);
            assert_eq!(faults(&entries, 2000), expected, "{case}");
        }
    }

    #[test]
    fn missed_fire_is_lost_unless_the_next_run_replays_it() {
        let other = |fire| begin("R", 1, fire, "NORMAL");
        let around = [other(1000), other(2000), other(3000), begin("R", 0, 1000, "NORMAL")];
        let rows = [
            (
                "no instance runs it later",
                vec![],
                vec!["item 0 of fire 00:02.000 was lost", "item 0 of fire 00:03.000 was lost"],
            ),
            (
                "the next run is an ordinary one",
                vec![begin("J", 0, 3000, "schedule")],
                vec!["item 0 of fire 00:02.000 was lost"],
            ),
            (
                "Java replays within the next fire",
                vec![begin("J", 0, 3000, "schedule"), begin("J", 0, 3000, "misfire")],
                vec![],
            ),
            ("Rust replays for the last missed fire", vec![begin("R", 0, 3000, "MISFIRE")], vec![]),
            ("Rust merges with the next fire", vec![merged("R", 0, 3000, 2000)], vec![]),
        ];
        for (case, more, expected) in rows {
            let entries = [around.to_vec(), more].concat();
            assert_eq!(faults(&entries, 3000), expected, "{case}");
        }
    }

    #[test]
    fn first_run_may_replay_fires_before_the_audited_ones() {
        let run = |fire, source| [begin("J", 0, fire, source), begin("R", 1, fire, source)];
        let both = |fire| [run(fire, "schedule"), run(fire, "misfire")].concat();
        let rows = [
            ("missed before", vec![], vec![]),
            (
                "nothing missed before",
                vec![begin("J", 0, 0, "schedule")],
                vec![
                    "item 0 of fire 00:01.000 ran 2 times: \
                     J (schedule) at 00:01.005 J (misfire) at 00:01.005",
                ],
            ),
        ];
        for (case, more, expected) in rows {
            let entries = [both(1000), more].concat();
            assert_eq!(faults(&entries, 1000), expected, "{case}");
        }
    }

    #[test]
    fn reassignment_by_a_java_leader_at_a_fire_is_a_race() {
        let lost = [begin("R", 1, 1000, "NORMAL")];
        let doubled = |who, source| {
            [&lost[..], &[begin("R", 0, 1000, "NORMAL"), begin(who, 0, 1000, source)]].concat()
        };
        let reassigned = |at, by_java, to_java| OwnerChange {
            at,
            job: "job".to_owned(),
            item: 0,
            by_java,
            to_java,
            owner: "10.0.0.1@-@7".to_owned(),
        };
        let rows = [
            ("lost, to Java", lost.to_vec(), Some(reassigned(1100, true, true)), (0, 1)),
            ("lost, to Rust", lost.to_vec(), Some(reassigned(1100, true, false)), (1, 0)),
            ("lost, assigned by Rust", lost.to_vec(), Some(reassigned(1100, false, true)), (1, 0)),
            ("lost, assigned before", lost.to_vec(), Some(reassigned(900, true, true)), (1, 0)),
            ("lost, not reassigned", lost.to_vec(), None, (1, 0)),
            ("run by both", doubled("J", "schedule"), Some(reassigned(1100, true, false)), (0, 1)),
            (
                "run by Rust twice",
                doubled("R", "NORMAL"),
                Some(reassigned(1100, true, true)),
                (1, 0),
            ),
        ];
        for (case, entries, change, expected) in rows {
            let owner_changes = change.into_iter().collect();
            let history = RunHistory::of("job", &entries).with_owner_changes(owner_changes);
            let Audit { faults, races, .. } = history.audit(2, 1000, 1000);
            assert_eq!((faults.len(), races.len()), expected, "{case}");
        }
    }

    #[test]
    fn assignment_to_java_after_an_announcement_at_the_fire_is_a_race() {
        let reassigned = |at, to_java| OwnerChange {
            at,
            job: "job".to_owned(),
            item: 0,
            by_java: false,
            to_java,
            owner: "10.0.0.1@-@7".to_owned(),
        };
        let rows = [
            ("announced right after the fire", Some(1040), Some(reassigned(1200, true)), (0, 1)),
            ("announced right before it", Some(960), Some(reassigned(1200, true)), (0, 1)),
            ("assigned to a Rust instance", Some(1040), Some(reassigned(1200, false)), (1, 0)),
            ("announced between fires", Some(1300), Some(reassigned(1400, true)), (1, 0)),
            ("not announced", None, Some(reassigned(1200, true)), (1, 0)),
            ("not reassigned", Some(1040), None, (1, 0)),
            ("assigned before", Some(1040), Some(reassigned(900, true)), (1, 0)),
        ];
        for (case, announced, change, expected) in rows {
            let history = RunHistory::of("job", &[begin("R", 1, 1000, "NORMAL")])
                .with_owner_changes(change.into_iter().collect())
                .with_announcements(announced.into_iter().collect());
            let Audit { faults, races, .. } = history.audit(2, 1000, 1000);
            assert_eq!((faults.len(), races.len()), expected, "{case}");
        }
    }

    #[test]
    fn fires_lost_by_a_java_instance_before_its_first_fire_are_a_race() {
        let reported = |event| Entry { who: "java".into(), fact: Fact { at: 0, event } };
        let id = "10.0.0.1@-@7";
        let joined = reported(WorkerEvent::Answer { order: 1, value: id.into(), error: None });
        let rows = [
            ("its first fire comes later", 900, true, Some(2000), (0, 1)),
            ("it has fired already", 900, true, Some(1000), (1, 0)),
            ("it owns the item for long", -1500, true, Some(2000), (1, 0)),
            ("it never fires", 900, true, None, (1, 0)),
            ("it is a Rust instance", 900, false, Some(2000), (1, 0)),
        ];
        for (case, at, to_java, first, expected) in rows {
            let mut entries = vec![begin("R", 1, 1000, "NORMAL"), joined.clone()];
            let complete = |fire| reported(WorkerEvent::Complete { job: "job".to_owned(), fire });
            entries.extend(first.map(complete));
            let (job, owner) = ("job".to_owned(), id.to_owned());
            let change = OwnerChange { at, job, item: 0, by_java: false, to_java, owner };
            let history = RunHistory::of("job", &entries).with_owner_changes(vec![change]);
            let Audit { faults, races, .. } = history.audit(2, 1000, 1000);
            assert_eq!((faults.len(), races.len()), expected, "{case}");
        }
    }

    #[test]
    fn replay_without_a_missed_fire_since_the_last_one_is_needless() {
        let begins = |fires: &[(i64, &str)]| {
            let entries = fires.iter().map(|(fire, source)| begin("J", 0, *fire, source));
            RunHistory::of("job", &entries.collect::<Vec<_>>()).replays(0, 1000)
        };
        let rows = [
            (vec![(1000, "schedule"), (2000, "schedule")], (0, 0)),
            (vec![(1000, "schedule"), (3000, "schedule"), (3000, "misfire")], (1, 0)),
            (vec![(1000, "NORMAL"), (3000, "MISFIRE")], (1, 0)),
            (vec![(1000, "NORMAL"), (3000, "MISFIRE"), (3000, "MISFIRE")], (2, 1)),
            (vec![(1000, "schedule"), (2000, "schedule"), (2000, "misfire")], (1, 1)),
            (vec![(3000, "MISFIRE"), (4000, "NORMAL"), (6000, "MISFIRE")], (2, 0)),
        ];
        for (fires, (n, n_needless)) in rows {
            assert_eq!(begins(&fires), Replays { n, n_needless }, "{fires:?}");
        }
    }
}
