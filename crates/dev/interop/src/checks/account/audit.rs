//! What is wrong with an account: fires of an item that were lost, run twice, or never due.

use std::collections::BTreeSet;

use super::{Account, Ran, SECOND, at, worded};
use crate::stage::Dealing;

/// What came of the items of some fires.
#[derive(Debug, Default)]
pub(super) struct Audit {
    pub(super) faults: Vec<String>,
    /// The fires that they are of.
    pub(super) fires: BTreeSet<i64>,
    /// Faults that are Java's own: what a Java leader gives away at a fire.
    pub(super) races: Vec<String>,
    /// How many items of fires met a run that took too long, and were made up for.
    pub(super) n_made_up: usize,
}

/// A Java leader gives items away when it gets to a fire, and may be late for it by another one; or by more, if it was not done
/// with the fire until then.
const LATE: i64 = SECOND + SECOND / 2;

/// How long before a fire it may be announced without every Java instance seeing it in time, and how late one may be for a fire, in
/// milliseconds.
const AT_ONCE: i64 = 250;

/// How long a Java instance may have an item before it fires for the first time.
const NEW: i64 = 2 * SECOND;

impl Account {
    /// Audits every item of every fire between two, both included.
    pub(super) fn audit(&self, total: u32, from: i64, to: i64) -> Audit {
        let mut audit = Audit::default();
        for item in 0..total {
            self.audit_item(item, from, to, &mut audit);
        }
        for (fire, items) in self.runs.range(from..=to) {
            for (item, runs) in items.range(total..) {
                let what = format!("item {item} of fire {} does not exist", at(*fire));
                audit.fault(*fire, format!("{what} and ran {}", worded(runs)));
            }
        }
        audit
    }

    fn audit_item(&self, item: u32, from: i64, to: i64, audit: &mut Audit) {
        // Fires that nobody has run yet; the run that makes up for them settles them.
        let mut missed = Vec::new();
        // A run may make up for fires before those that are audited.
        let mut is_missed_before = self.of_item(from - self.period, item).is_empty();
        for fire in self.fires(from, to) {
            let runs = self.of_item(fire, item);
            let (made_up, usual): (Vec<&Ran>, Vec<&Ran>) =
                runs.iter().partition(|ran| ran.is_replay());
            let is_owed = is_missed_before || !missed.is_empty();
            match (usual.as_slice(), made_up.len()) {
                ([], 0) => missed.push(fire),
                ([ran], 0) if ran.is_merged => audit.make_up(0, &mut missed),
                ([_], 0) => self.lose(item, &mut missed, audit),
                ([], 1) => audit.make_up(1, &mut missed),
                ([_], 1) if is_owed => audit.make_up(0, &mut missed),
                _ => {
                    let fault = format!("item {item} of fire {} ran {}", at(fire), worded(runs));
                    let is_java = runs.iter().any(Ran::is_of_java);
                    match is_java && self.given_by_java(item, fire).is_some() {
                        true => {
                            audit.races.push(format!("{fault}, given away at this very fire"));
                        }
                        false => audit.fault(fire, fault),
                    }
                }
            }
            // Java makes up for fires at the end of its next run.
            is_missed_before &= runs.is_empty();
        }
        self.lose(item, &mut missed, audit);
    }

    /// Nobody has run these fires. An item that a Java leader gave to a Java instance at a fire is not run for it if the
    /// instance's view lags; one that anybody gave to a Java instance that has just joined is not run before its schedule is.
    fn lose(&self, item: u32, missed: &mut Vec<i64>, audit: &mut Audit) {
        for fire in missed.drain(..) {
            let fault = format!("item {item} of fire {} was lost", at(fire));
            match self.given_by_java(item, fire) {
                Some(true) => audit.races.push(format!("{fault}, given away at this very fire")),
                _ if self.is_announced_at(fire) && self.is_given_to_java(item, fire) => {
                    audit.races.push(format!(
                        "{fault}, given to Java, which may have begun this fire when it was told"
                    ));
                }
                _ if self.is_of_newcomer(item, fire) => {
                    audit
                        .races
                        .push(format!("{fault}, given to who had joined and did not fire yet"));
                }
                _ => audit.fault(fire, fault),
            }
        }
    }

    /// Tells whether the item belonged to a Java instance that had it since a short time and was done with later fires only:
    /// Java registers first, and is given items at once if ours lead, and starts its schedule then.
    fn is_of_newcomer(&self, item: u32, fire: i64) -> bool {
        let last = self.dealings_of(item).rfind(|dealing| dealing.at <= fire + LATE);
        last.is_some_and(|dealing| {
            let first = self.first_fires.get(&dealing.owner);
            dealing.to_java && fire <= dealing.at + NEW && first.is_some_and(|first| *first > fire)
        })
    }

    /// Tells whether it was announced at this fire that items move: a Java instance that had begun it runs it for the items that it
    /// had, and one that had not holds it back and runs it for those that it gets.
    fn is_announced_at(&self, fire: i64) -> bool {
        self.announcements.iter().any(|at| (fire - AT_ONCE..fire + AT_ONCE).contains(at))
    }

    /// Tells whether a Java instance was given the item soon after this fire.
    fn is_given_to_java(&self, item: u32, fire: i64) -> bool {
        let then = |dealing: &&Dealing| (fire..=fire + LATE).contains(&dealing.at);
        self.dealings_of(item).rfind(then).is_some_and(|dealing| dealing.to_java)
    }

    /// Tells whether the item was given to a Java instance, if a Java leader gave it to anybody at this fire.
    fn given_by_java(&self, item: u32, fire: i64) -> Option<bool> {
        let done = self.completions.iter().filter(|done| done.fire == fire).map(|done| done.at);
        let until = done.chain([fire + LATE]).max();
        let then = |at: i64| at >= fire && Some(at) <= until;
        let given = self.dealings_of(item).filter(|dealing| dealing.by_java && then(dealing.at));
        given.map(|dealing| dealing.to_java).next_back()
    }

    fn dealings_of(&self, item: u32) -> impl DoubleEndedIterator<Item = &Dealing> {
        self.dealings.iter().filter(move |dealing| dealing.item == item)
    }
}

impl Audit {
    fn fault(&mut self, fire: i64, text: String) {
        self.faults.push(text);
        self.fires.insert(fire);
    }

    fn make_up(&mut self, own: usize, missed: &mut Vec<i64>) {
        self.n_made_up += missed.len() + own;
        missed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Replays;
    use super::*;
    use crate::protocol::{Fact, Run, Said};
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
        Entry { who: who.into(), fact: Fact { at: fire + 5, ev: Said::Begin(run) } }
    }

    fn merged(who: &str, item: u32, fire: i64, from: i64) -> Entry {
        let mut entry = begin(who, item, fire, "NORMAL");
        if let Said::Begin(run) = &mut entry.fact.ev {
            run.merged_from = Some(from);
        }
        entry
    }

    fn faults(entries: &[Entry], to: i64) -> Vec<String> {
        Account::of("job", entries).audit(2, 1000, to).faults
    }

    #[test]
    fn what_was_lost_doubled_or_invented_is_a_fault() {
        let rows = [
            ("once", vec![], vec![]),
            ("a request is no fire", vec![begin("J", 0, 1000, "request")], vec![]),
            (
                "twice",
                vec![begin("J", 0, 1000, "schedule")],
                vec![
                    "item 0 of fire 00:01.000 ran 2 times: R (NORMAL) at 00:01.005 J (schedule) at 00:01.005",
                ],
            ),
            (
                "made up for although nothing was missed",
                vec![begin("J", 0, 2000, "misfire")],
                vec![
                    "item 0 of fire 00:02.000 ran 2 times: R (NORMAL) at 00:02.005 J (misfire) at 00:02.005",
                ],
            ),
            (
                "an item too many",
                vec![begin("J", 2, 2000, "schedule")],
                vec![
                    "item 2 of fire 00:02.000 does not exist and ran 1 times: J (schedule) at 00:02.005",
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
    fn a_missed_fire_is_lost_unless_the_next_run_makes_up_for_it() {
        let other = |fire| begin("R", 1, fire, "NORMAL");
        let around = [other(1000), other(2000), other(3000), begin("R", 0, 1000, "NORMAL")];
        let rows = [
            (
                "nobody ran it again",
                vec![],
                vec!["item 0 of fire 00:02.000 was lost", "item 0 of fire 00:03.000 was lost"],
            ),
            (
                "the next is ordinary",
                vec![begin("J", 0, 3000, "schedule")],
                vec!["item 0 of fire 00:02.000 was lost"],
            ),
            (
                "Java, within the next",
                vec![begin("J", 0, 3000, "schedule"), begin("J", 0, 3000, "misfire")],
                vec![],
            ),
            ("Rust, for the last", vec![begin("R", 0, 3000, "MISFIRE")], vec![]),
            ("Rust, together with the next", vec![merged("R", 0, 3000, 2000)], vec![]),
        ];
        for (case, more, expected) in rows {
            let entries = [around.to_vec(), more].concat();
            assert_eq!(faults(&entries, 3000), expected, "{case}");
        }
    }

    #[test]
    fn the_first_run_may_make_up_for_what_was_missed_before() {
        let run = |fire, source| [begin("J", 0, fire, source), begin("R", 1, fire, source)];
        let both = |fire| [run(fire, "schedule"), run(fire, "misfire")].concat();
        let rows = [
            ("missed before", vec![], vec![]),
            (
                "nothing missed before",
                vec![begin("J", 0, 0, "schedule")],
                vec![
                    "item 0 of fire 00:01.000 ran 2 times: J (schedule) at 00:01.005 J (misfire) at 00:01.005",
                ],
            ),
        ];
        for (case, more, expected) in rows {
            let entries = [both(1000), more].concat();
            assert_eq!(faults(&entries, 1000), expected, "{case}");
        }
    }

    #[test]
    fn only_what_a_java_leader_gives_away_at_a_fire_is_javas_own_fault() {
        let lost = [begin("R", 1, 1000, "NORMAL")];
        let doubled = |who, source| {
            [&lost[..], &[begin("R", 0, 1000, "NORMAL"), begin(who, 0, 1000, source)]].concat()
        };
        let given = |at, by_java, to_java| Dealing {
            at,
            job: "job".to_owned(),
            item: 0,
            by_java,
            to_java,
            owner: "10.0.0.1@-@7".to_owned(),
        };
        let rows = [
            ("lost, to Java", lost.to_vec(), Some(given(1100, true, true)), (0, 1)),
            ("lost, to Rust", lost.to_vec(), Some(given(1100, true, false)), (1, 0)),
            ("lost, given by Rust", lost.to_vec(), Some(given(1100, false, true)), (1, 0)),
            ("lost, given before", lost.to_vec(), Some(given(900, true, true)), (1, 0)),
            ("lost, not given away", lost.to_vec(), None, (1, 0)),
            ("run by both", doubled("J", "schedule"), Some(given(1100, true, false)), (0, 1)),
            ("run by Rust twice", doubled("R", "NORMAL"), Some(given(1100, true, true)), (1, 0)),
        ];
        for (case, entries, dealing, expected) in rows {
            let dealings = dealing.into_iter().collect();
            let account = Account::of("job", &entries).with_dealings(dealings);
            let Audit { faults, races, .. } = account.audit(2, 1000, 1000);
            assert_eq!((faults.len(), races.len()), expected, "{case}");
        }
    }

    #[test]
    fn what_java_is_given_after_a_fire_at_which_that_was_announced_is_lost_by_its_own_fault() {
        let given = |at, to_java| Dealing {
            at,
            job: "job".to_owned(),
            item: 0,
            by_java: false,
            to_java,
            owner: "10.0.0.1@-@7".to_owned(),
        };
        let rows = [
            ("announced right after the fire", Some(1040), Some(given(1200, true)), (0, 1)),
            ("announced right before it", Some(960), Some(given(1200, true)), (0, 1)),
            ("given to one of ours", Some(1040), Some(given(1200, false)), (1, 0)),
            ("announced between fires", Some(1300), Some(given(1400, true)), (1, 0)),
            ("not announced", None, Some(given(1200, true)), (1, 0)),
            ("not given away", Some(1040), None, (1, 0)),
            ("given away before", Some(1040), Some(given(900, true)), (1, 0)),
        ];
        for (case, announced, dealing, expected) in rows {
            let account = Account::of("job", &[begin("R", 1, 1000, "NORMAL")])
                .with_dealings(dealing.into_iter().collect())
                .with_announcements(announced.into_iter().collect());
            let Audit { faults, races, .. } = account.audit(2, 1000, 1000);
            assert_eq!((faults.len(), races.len()), expected, "{case}");
        }
    }

    #[test]
    fn a_java_instance_that_has_joined_and_does_not_fire_yet_loses_fires_by_its_own_fault() {
        let said = |ev| Entry { who: "java".into(), fact: Fact { at: 0, ev } };
        let id = "10.0.0.1@-@7";
        let joined = said(Said::Answer { order: 1, value: id.into(), error: None });
        let rows = [
            ("its first fire comes later", 900, true, Some(2000), (0, 1)),
            ("it has fired already", 900, true, Some(1000), (1, 0)),
            ("it has the item since long", -1500, true, Some(2000), (1, 0)),
            ("it never fires", 900, true, None, (1, 0)),
            ("it is one of ours", 900, false, Some(2000), (1, 0)),
        ];
        for (case, at, to_java, first, expected) in rows {
            let mut entries = vec![begin("R", 1, 1000, "NORMAL"), joined.clone()];
            let complete = |fire| said(Said::Complete { job: "job".to_owned(), fire });
            entries.extend(first.map(complete));
            let (job, owner) = ("job".to_owned(), id.to_owned());
            let dealing = Dealing { at, job, item: 0, by_java: false, to_java, owner };
            let account = Account::of("job", &entries).with_dealings(vec![dealing]);
            let Audit { faults, races, .. } = account.audit(2, 1000, 1000);
            assert_eq!((faults.len(), races.len()), expected, "{case}");
        }
    }

    #[test]
    fn a_replay_is_needed_if_something_was_missed_since_the_last_one() {
        let begins = |fires: &[(i64, &str)]| {
            let entries = fires.iter().map(|(fire, source)| begin("J", 0, *fire, source));
            Account::of("job", &entries.collect::<Vec<_>>()).replays(0, 1000)
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
