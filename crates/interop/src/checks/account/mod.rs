//! The account of fires: which item ran for which fire, where.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::stage::Entry;
use crate::suite::Report;

/// The length of a fire's second, in milliseconds.
pub(crate) const SECOND: i64 = 1000;

/// How many faults are printed.
const N_SHOWN: usize = 20;

/// Who ran an item for a fire: worker, source, and when it began.
type Runs = Vec<(String, String, i64)>;

/// All scheduled runs of one job, by fire and item.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    runs: BTreeMap<i64, BTreeMap<u32, Runs>>,
}

impl Account {
    /// Collects the runs of a job. Requests are no fires of the schedule.
    pub(crate) fn of(job: &str, entries: &[Entry]) -> Self {
        let mut account = Self::default();
        for entry in entries {
            if let Some(run) =
                entry.begun().filter(|run| run.job == job && is_scheduled(&run.source))
            {
                let items = account.runs.entry(run.fire).or_default();
                let who = (entry.who.to_string(), run.source.clone(), entry.fact.at);
                items.entry(run.item).or_default().push(who);
            }
        }
        account
    }

    /// Returns the last fire of which every item has begun.
    pub(crate) fn last_complete(&self, total: u32) -> Option<i64> {
        let complete =
            |items: &BTreeMap<u32, Runs>| (0..total).all(|item| items.contains_key(&item));
        self.runs.iter().rev().find(|(_, items)| complete(items)).map(|(fire, _)| *fire)
    }

    /// Returns the last fire of which anything has begun.
    pub(crate) fn last(&self) -> Option<i64> {
        self.runs.last_key_value().map(|(fire, _)| *fire)
    }

    /// Returns how many runs a worker had from a fire on.
    pub(crate) fn n_runs_of(&self, who: &str, from: i64) -> usize {
        let runs = self.runs.range(from..).flat_map(|(_, items)| items.values().flatten());
        runs.filter(|(worker, ..)| worker == who).count()
    }

    /// Words the last fires, one per line.
    pub(crate) fn tail(&self, n: usize) -> String {
        let lines = self.runs.iter().rev().take(n).map(|(fire, items)| {
            let items = items.iter().map(|(item, runs)| format!("{item}: {}", who(runs)));
            format!("        {} {}", at(*fire), items.collect::<Vec<_>>().join("; "))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Audits every item of every fire of a one-second job between two fires, both included.
    fn audit(&self, total: u32, from: i64, to: i64) -> Audit {
        let mut audit = Audit::default();
        let step = usize::try_from(SECOND).unwrap_or(1);
        for item in 0..total {
            // Fires that nobody has run yet; a run that makes up for misfires settles them.
            let mut missed = Vec::new();
            for fire in (from..=to).step_by(step) {
                let runs = self.runs.get(&fire).and_then(|items| items.get(&item));
                let runs = runs.map_or(&[][..], Vec::as_slice);
                let n_made_up = runs.iter().filter(|(_, source, _)| makes_up(source)).count();
                match (runs.len() - n_made_up, n_made_up) {
                    (0, 0) => missed.push(fire),
                    (1, 0) => audit.lose(item, &mut missed),
                    (0, 1) => audit.make_up(1, &mut missed),
                    (1, 1) if !missed.is_empty() => audit.make_up(0, &mut missed),
                    _ => {
                        let (fire, who) = (at(fire), who(runs));
                        audit.faults.push(format!("item {item} of fire {fire} ran {who}"));
                    }
                }
            }
            audit.lose(item, &mut missed);
        }
        for (fire, items) in self.runs.range(from..=to) {
            audit.faults.extend(items.range(total..).map(|(item, runs)| {
                format!("item {item} of fire {} does not exist and ran {}", at(*fire), who(runs))
            }));
        }
        audit
    }

    /// Expects that every item of every fire ran exactly once, or was made up for once by a misfire run.
    pub(crate) fn judge(&self, what: &str, total: u32, from: i64, to: i64, report: &mut Report) {
        let Audit { faults, n_made_up } = self.audit(total, from, to);
        let n_fires = (to - from) / SECOND + 1;
        let made_up = match n_made_up {
            0 => String::new(),
            n => format!(" ({n} of them made up for as misfires)"),
        };
        let expected = format!("each of {n_fires} fires of {total} items once");
        let found = match faults.as_slice() {
            [] => format!("{n_fires} fires of {total} items, each once{made_up}"),
            _ => {
                format!("{} are not{made_up}:\n        {}", faults.len(), first(&faults))
            }
        };
        report.holds(what, &expected, &found, faults.is_empty());
    }
}

/// Words the first faults, one per line.
fn first(faults: &[String]) -> String {
    let shown = faults.len().min(N_SHOWN);
    let more = if shown < faults.len() { "\n        and more" } else { "" };
    faults[..shown].join("\n        ") + more
}

/// What came of the items of some fires.
#[derive(Debug, Default)]
struct Audit {
    faults: Vec<String>,
    /// How many items of fires met a run that took too long, and were made up for.
    n_made_up: usize,
}

impl Audit {
    fn lose(&mut self, item: u32, missed: &mut Vec<i64>) {
        let lost =
            missed.drain(..).map(|fire| format!("item {item} of fire {} was lost", at(fire)));
        self.faults.extend(lost);
    }

    fn make_up(&mut self, own: usize, missed: &mut Vec<i64>) {
        self.n_made_up += missed.len() + own;
        missed.clear();
    }
}

/// Java says `schedule` and `misfire`; Rust says `NORMAL`, `MISFIRE` and `FAILOVER`.
fn is_scheduled(source: &str) -> bool {
    matches!(source, "schedule" | "misfire" | "NORMAL" | "MISFIRE" | "FAILOVER")
}

/// One such run stands for all fires of the item that were missed before. Java names it by the fire that it is within,
/// which has a run of its own; Rust by the last of those that it stands for.
fn makes_up(source: &str) -> bool {
    matches!(source, "misfire" | "MISFIRE")
}

/// Writes a time as minute and second.
pub(crate) fn at(ms: i64) -> String {
    format!("{:02}:{:02}.{:03}", ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

fn who(runs: &[(String, String, i64)]) -> String {
    let mut text = format!("{} times:", runs.len());
    for (who, source, began) in runs {
        let written = write!(text, " {who} ({source}) at {}", at(*began));
        written.expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Fact, Run, Said};

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
        };
        Entry { who: who.into(), fact: Fact { at: fire + 5, ev: Said::Begin(run) } }
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
                vec![begin("J", 0, 1000, "misfire")],
                vec![
                    "item 0 of fire 00:01.000 ran 2 times: R (NORMAL) at 00:01.005 J (misfire) at 00:01.005",
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
        ];
        for (case, more, expected) in rows {
            let entries = [around.to_vec(), more].concat();
            assert_eq!(faults(&entries, 3000), expected, "{case}");
        }
    }
}
