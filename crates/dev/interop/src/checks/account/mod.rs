//! The account of fires: which item ran for which fire, where.

mod audit;

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use audit::Audit;

use crate::stage::{Dealing, Entry};
use crate::suite::Report;

/// The length of a fire's second, in milliseconds.
pub(crate) const SECOND: i64 = 1000;

/// How many faults are printed.
const N_SHOWN: usize = 20;

/// Of how many fires with faults it is printed what was seen around them.
const N_EXPLAINED: usize = 3;

/// How long before and after a fire something can have to do with what became of it, in milliseconds.
const AROUND: i64 = 3 * SECOND;

/// How much of all that is due may be made up for instead of being run in its time, in percent. The items of one fire may
/// always be: an instance that was late once was late for all its items.
const MADE_UP_PERCENT: usize = 5;

/// A run of an item for a fire.
#[derive(Clone, Debug)]
struct Ran {
    who: String,
    source: String,
    /// When it began.
    began: i64,
    /// Whether it says that it stands for earlier fires as well.
    is_merged: bool,
}

impl Ran {
    /// One such run stands for all fires of the item that were missed before, and for nothing else. Java names it by the
    /// fire that it is within, which has a run of its own; Rust by the last of those that it stands for.
    fn is_replay(&self) -> bool {
        is_replay(&self.source)
    }

    /// Java has lower-case words for sources.
    fn is_of_java(&self) -> bool {
        self.source.chars().all(char::is_lowercase)
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) at {}", self.who, self.source, at(self.began))
    }
}

/// Tells whether a run of this source makes up for misfires.
pub(crate) fn is_replay(source: &str) -> bool {
    matches!(source, "misfire" | "MISFIRE")
}

/// All scheduled runs of one job, by fire and item.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// How many milliseconds are between two fires.
    period: i64,
    runs: BTreeMap<i64, BTreeMap<u32, Vec<Ran>>>,
    /// When items were given to instances.
    dealings: Vec<Dealing>,
    /// When it was announced that items will be assigned anew.
    announcements: Vec<i64>,
    /// The first fire that each Java instance is known to have been done with, by its id.
    first_fires: BTreeMap<String, i64>,
    /// When Java workers were done with fires.
    completions: Vec<Completion>,
}

/// That a Java worker was done with a fire, with or without items.
#[derive(Clone, Debug)]
struct Completion {
    who: String,
    fire: i64,
    at: i64,
}

/// How a worker has made up for misfires of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replays {
    /// How many runs made up for misfires.
    pub(crate) n: usize,
    /// How many of them although nothing had been missed since the one before.
    pub(crate) n_needless: usize,
}

impl Account {
    /// Collects the runs of a job that fires every second. Requests are no fires of the schedule.
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
            dealings: Vec::new(),
            announcements: Vec::new(),
            first_fires: first_fires(&completions, entries),
            completions,
        }
    }

    /// The job fires that often, in milliseconds.
    pub(crate) fn every(mut self, period: i64) -> Self {
        self.period = period;
        self
    }

    /// What is known of how items were given to instances.
    pub(crate) fn with_dealings(mut self, dealings: Vec<Dealing>) -> Self {
        self.dealings = dealings;
        self
    }

    /// What is known of when it was announced that items will be assigned anew.
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

    /// Returns the last fire of which anything has begun.
    pub(crate) fn last(&self) -> Option<i64> {
        self.runs.last_key_value().map(|(fire, _)| *fire)
    }

    /// Returns how many runs a worker had from a fire on.
    pub(crate) fn n_runs_of(&self, who: &str, from: i64) -> usize {
        let runs = self.runs.range(from..).flat_map(|(_, items)| items.values().flatten());
        runs.filter(|ran| ran.who == who).count()
    }

    /// Words the last fires, one per line.
    pub(crate) fn tail(&self, n: usize) -> String {
        let lines = self.runs.iter().rev().take(n).map(|(fire, items)| {
            let items = items.iter().map(|(item, runs)| format!("{item}: {}", worded(runs)));
            format!("        {} {}", at(*fire), items.collect::<Vec<_>>().join("; "))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Returns how misfires of an item were made up for from a fire on.
    pub(crate) fn replays(&self, item: u32, from: i64) -> Replays {
        let mut replays = Replays::default();
        let mut is_missed = false;
        for fire in self.fires(from, self.last().unwrap_or(from)) {
            let (usual, made_up): (Vec<&Ran>, Vec<&Ran>) =
                self.of_item(fire, item).iter().partition(|ran| !ran.is_replay());
            is_missed |= usual.is_empty();
            for _ in made_up {
                replays.n += 1;
                replays.n_needless += usize::from(!is_missed);
                is_missed = false;
            }
            is_missed &= !usual.iter().any(|ran| ran.is_merged);
        }
        replays
    }

    /// Expects that every item of every fire between two, both included, ran exactly once, or was made up for once.
    pub(crate) fn judge(&self, what: &str, total: u32, from: i64, to: i64, report: &mut Report) {
        let Audit { faults, fires, races, n_made_up } = self.audit(total, from, to);
        for race in &races {
            report.note(&format!("Java's own: {race}"));
        }
        let n_fires = self.fires(from, to).count();
        let n_items = usize::try_from(total).unwrap_or(usize::MAX);
        let most = n_items.max(n_fires * n_items * MADE_UP_PERCENT / 100);
        let expected =
            format!("each of {n_fires} fires of {total} items once, at most {most} made up for");
        let found = match faults.as_slice() {
            [] => {
                format!("{n_fires} fires of {total} items, each once, {n_made_up} made up for")
            }
            _ => {
                let n = faults.len();
                let around = fires.iter().take(N_EXPLAINED).map(|fire| self.around(*fire));
                format!(
                    "{n} are not, {n_made_up} made up for:\n        {}{}",
                    first(&faults),
                    around.collect::<String>()
                )
            }
        };
        report.holds(what, &expected, &found, faults.is_empty() && n_made_up <= most);
    }

    /// Words what was seen around a fire: who was given which item, and when Java was done with fires.
    fn around(&self, fire: i64) -> String {
        let dealings = self.dealings.iter().map(|dealing| {
            let by = if dealing.by_java { "Java" } else { "Rust" };
            (dealing.at, format!("item {} is given to {} by {by}", dealing.item, dealing.owner))
        });
        let done = self
            .completions
            .iter()
            .map(|done| (done.at, format!("{} is done with fire {}", done.who, at(done.fire))));
        let announced =
            self.announcements.iter().map(|at| (*at, "items are announced to move".to_owned()));
        let mut seen: Vec<(i64, String)> = dealings.chain(done).chain(announced).collect();
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

/// Returns the first fire that each Java instance is known to have been done with.
fn first_fires(completions: &[Completion], entries: &[Entry]) -> BTreeMap<String, i64> {
    let first = |who: &str| completions.iter().find(|done| done.who == who);
    let ids = entries.iter().filter_map(|entry| Some((entry.joined_as()?, &*entry.who)));
    ids.filter_map(|(id, who)| Some((id.to_owned(), first(who)?.fire))).collect()
}

/// Words the first faults, one per line.
fn first(faults: &[String]) -> String {
    let shown = faults.len().min(N_SHOWN);
    let more = if shown < faults.len() { "\n        and more" } else { "" };
    faults[..shown].join("\n        ") + more
}

/// Java says `schedule` and `misfire`; Rust says `NORMAL`, `MISFIRE` and `FAILOVER`.
fn is_scheduled(source: &str) -> bool {
    is_replay(source) || matches!(source, "schedule" | "NORMAL" | "FAILOVER")
}

/// Writes a time as minute and second.
pub(crate) fn at(ms: i64) -> String {
    format!("{:02}:{:02}.{:03}", ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

fn worded(runs: &[Ran]) -> String {
    let mut text = format!("{} times:", runs.len());
    for ran in runs {
        write!(text, " {ran}").expect("writing to a string cannot fail");
    }
    text
}
