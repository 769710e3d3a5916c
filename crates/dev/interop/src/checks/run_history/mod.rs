//! History of the runs of a job: item, fire and worker of each run.

mod audit;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use audit::Audit;

use crate::stage::{Entry, OwnerChange};
use crate::suite::Report;

/// One second, in milliseconds: the period of most jobs.
pub(crate) const SECOND: i64 = 1000;

/// Maximum number of printed faults.
const N_SHOWN: usize = 20;

/// Number of faulty fires for which the events around them are printed.
const N_EXPLAINED: usize = 3;

/// Time before and after a fire in which events can concern it, in milliseconds.
const AROUND: i64 = 3 * SECOND;

/// Percentage of all due runs that may be replays instead of runs in time.
///
/// The items of one fire always may, because an instance that was late once was late for all its
/// items.
const REPLAYED_PERCENT: usize = 5;

/// A run of an item for a fire.
#[derive(Clone, Debug)]
struct Ran {
    who: String,
    source: String,
    /// Time at which the run began.
    began: i64,
    /// The run reports that it also stands for earlier fires.
    is_merged: bool,
}

impl Ran {
    /// Returns whether the run replays misfires.
    ///
    /// A replay stands for all fires of the item that were missed before, and for no other fire.
    /// Java reports the fire during which it replays, which has a run of its own. Rust reports the
    /// last of the missed fires.
    fn is_replay(&self) -> bool {
        is_replay(&self.source)
    }

    /// Returns whether a Java worker ran the item: Java has lower-case words for sources.
    fn is_of_java(&self) -> bool {
        self.source.chars().all(char::is_lowercase)
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) at {}", self.who, self.source, at(self.began))
    }
}

/// Returns whether a run of this source replays misfires.
pub(crate) fn is_replay(source: &str) -> bool {
    matches!(source, "misfire" | "MISFIRE")
}

/// Scheduled runs of one job, by fire and item.
#[derive(Clone, Debug)]
pub(crate) struct RunHistory {
    /// Time between two fires, in milliseconds.
    period: i64,
    runs: BTreeMap<i64, BTreeMap<u32, Vec<Ran>>>,
    /// Assignments of items to instances.
    owner_changes: Vec<OwnerChange>,
    /// Times at which a resharding was announced.
    announcements: Vec<i64>,
    /// The first known completed fire of each Java instance, by its id.
    first_fires: BTreeMap<String, i64>,
    /// Completed fires of Java workers.
    completions: Vec<Completion>,
}

/// Completion of a fire by a Java worker, with or without items.
#[derive(Clone, Debug)]
struct Completion {
    who: String,
    fire: i64,
    at: i64,
}

/// Replays of an item's misfires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replays {
    /// Number of replays.
    pub(crate) n: usize,
    /// Number of replays without a missed fire since the replay before.
    pub(crate) n_needless: usize,
}

impl RunHistory {
    /// Collects the scheduled runs of a job that fires every second, without manual requests.
    pub(crate) fn of(job: &str, entries: &[Entry]) -> Self {
        let mut runs: BTreeMap<i64, BTreeMap<u32, Vec<Ran>>> = BTreeMap::new();
        for entry in entries {
            let scheduled = entry.begun().filter(|run| run.job == job && is_scheduled(&run.source));
            if let Some(run) = scheduled {
                let ran = Ran {
                    who: entry.who.to_string(),
                    source: run.source.clone(),
                    began: entry.fact.at,
                    is_merged: run.merged_from.is_some_and(|first| first < run.fire),
                };
                runs.entry(run.fire).or_default().entry(run.item).or_default().push(ran);
            }
        }
        let completions = entries.iter().filter_map(|entry| {
            let (_, fire) = entry.completed().filter(|(of, _)| *of == job)?;
            Some(Completion { who: entry.who.to_string(), fire, at: entry.fact.at })
        });
        let completions: Vec<_> = completions.collect();
        Self {
            period: SECOND,
            runs,
            owner_changes: Vec::new(),
            announcements: Vec::new(),
            first_fires: first_fires(&completions, entries),
            completions,
        }
    }

    /// Sets the time between two fires, in milliseconds.
    pub(crate) fn every(mut self, period: i64) -> Self {
        self.period = period;
        self
    }

    /// Adds the assignments of items to instances.
    pub(crate) fn with_owner_changes(mut self, owner_changes: Vec<OwnerChange>) -> Self {
        self.owner_changes = owner_changes;
        self
    }

    /// Adds the times at which a resharding was announced.
    pub(crate) fn with_announcements(mut self, announcements: Vec<i64>) -> Self {
        self.announcements = announcements;
        self
    }

    /// Returns the last fire of which every item has begun.
    pub(crate) fn last_complete(&self, total: u32) -> Option<i64> {
        let complete =
            |items: &BTreeMap<u32, Vec<Ran>>| (0..total).all(|item| items.contains_key(&item));
        self.runs.iter().rev().find(|(_, items)| complete(items)).map(|(fire, _)| *fire)
    }

    /// Returns the last fire of which an item has begun.
    pub(crate) fn last(&self) -> Option<i64> {
        self.runs.last_key_value().map(|(fire, _)| *fire)
    }

    /// Returns the number of runs of a worker from a fire on.
    pub(crate) fn n_runs_of(&self, who: &str, from: i64) -> usize {
        let runs = self.runs.range(from..).flat_map(|(_, items)| items.values().flatten());
        runs.filter(|ran| ran.who == who).count()
    }

    /// Returns the last `n` fires as text, one per line.
    pub(crate) fn tail(&self, n: usize) -> String {
        let lines = self.runs.iter().rev().take(n).map(|(fire, items)| {
            let items = items.iter().map(|(item, runs)| format!("{item}: {}", runs_as_text(runs)));
            format!("        {} {}", at(*fire), items.collect::<Vec<_>>().join("; "))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Returns the replays of an item from a fire on.
    pub(crate) fn replays(&self, item: u32, from: i64) -> Replays {
        let mut replays = Replays::default();
        let mut is_missed = false;
        for fire in self.fires(from, self.last().unwrap_or(from)) {
            let (usual, replayed): (Vec<&Ran>, Vec<&Ran>) =
                self.of_item(fire, item).iter().partition(|ran| !ran.is_replay());
            is_missed |= usual.is_empty();
            for _ in replayed {
                replays.n += 1;
                replays.n_needless += usize::from(!is_missed);
                is_missed = false;
            }
            is_missed &= !usual.iter().any(|ran| ran.is_merged);
        }
        replays
    }

    /// Expects that every item of every fire from `from` to `to`, inclusive, ran exactly once or
    /// was replayed once.
    pub(crate) fn verify(&self, what: &str, total: u32, from: i64, to: i64, report: &mut Report) {
        let Audit { faults, fires, races, n_replayed } = self.audit(total, from, to);
        for race in &races {
            report.note(&format!("race of Java: {race}"));
        }
        let n_fires = self.fires(from, to).count();
        let n_items = usize::try_from(total).unwrap_or(usize::MAX);
        let most = n_items.max(n_fires * n_items * REPLAYED_PERCENT / 100);
        let expected =
            format!("{n_fires} fires of {total} items, each once, at most {most} replayed");
        let found = match faults.as_slice() {
            [] => {
                format!("{n_fires} fires of {total} items, each once, {n_replayed} replayed")
            }
            _ => {
                let n = faults.len();
                let around = fires.iter().take(N_EXPLAINED).map(|fire| self.around(*fire));
                format!(
                    "{n} faults, {n_replayed} replayed:\n        {}{}",
                    first(&faults),
                    around.collect::<String>()
                )
            }
        };
        report.holds(what, &expected, &found, faults.is_empty() && n_replayed <= most);
    }

    /// Returns the events around a fire as text: assignments, announcements, and completed fires of
    /// Java workers.
    fn around(&self, fire: i64) -> String {
        let owner_changes = self.owner_changes.iter().map(|change| {
            let by = if change.by_java { "Java" } else { "Rust" };
            (change.at, format!("item {} is assigned to {} by {by}", change.item, change.owner))
        });
        let done = self
            .completions
            .iter()
            .map(|done| (done.at, format!("{} completes fire {}", done.who, at(done.fire))));
        let announced =
            self.announcements.iter().map(|at| (*at, "a resharding is announced".to_owned()));
        let mut seen: Vec<(i64, String)> = owner_changes.chain(done).chain(announced).collect();
        seen.retain(|(at, _)| (fire - AROUND..=fire + AROUND).contains(at));
        seen.sort();
        let lines = seen.iter().map(|(when, what)| format!("\n          {} {what}", at(*when)));
        format!("\n        around fire {}:{}", at(fire), lines.collect::<String>())
    }

    fn fires(&self, from: i64, to: i64) -> impl Iterator<Item = i64> + use<> {
        (from..=to).step_by(usize::try_from(self.period).unwrap_or(1))
    }

    fn of_item(&self, fire: i64, item: u32) -> &[Ran] {
        let runs = self.runs.get(&fire).and_then(|items| items.get(&item));
        runs.map_or(&[], Vec::as_slice)
    }
}

/// Returns the first known completed fire of each Java instance.
fn first_fires(completions: &[Completion], entries: &[Entry]) -> BTreeMap<String, i64> {
    let first = |who: &str| completions.iter().find(|done| done.who == who);
    let ids = entries.iter().filter_map(|entry| Some((entry.joined_as()?, &*entry.who)));
    ids.filter_map(|(id, who)| Some((id.to_owned(), first(who)?.fire))).collect()
}

/// Returns the first faults as text, one per line.
fn first(faults: &[String]) -> String {
    let shown = faults.len().min(N_SHOWN);
    let more = if shown < faults.len() { "\n        and more" } else { "" };
    faults[..shown].join("\n        ") + more
}

/// Returns whether a run belongs to a scheduled fire.
///
/// The sources are `schedule` and `misfire` of Java, `NORMAL`, `MISFIRE` and `FAILOVER` of Rust.
fn is_scheduled(source: &str) -> bool {
    is_replay(source) || matches!(source, "schedule" | "NORMAL" | "FAILOVER")
}

/// Formats a time as minutes and seconds.
pub(crate) fn at(ms: i64) -> String {
    format!("{:02}:{:02}.{:03}", ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

fn runs_as_text(runs: &[Ran]) -> String {
    let mut text = format!("{} times:", runs.len());
    for ran in runs {
        write!(text, " {ran}").expect("writing to a string cannot fail");
    }
    text
}
