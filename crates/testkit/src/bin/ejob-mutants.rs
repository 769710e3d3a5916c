//! `ejob-mutants`: simulates the product without one of its guards or rules at a time, and prints the table of who
//! notices what.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, panic, thread};

use coordination::{MUTANTS, Mutant, Row, Watcher};
use testkit::sim::{self, Act, Change, Judge, Keep, Script};

const USAGE: &str = "usage: ejob-mutants [--seeds N] [--model FILE] [--all | MUTANT...]
Simulates each mutant with seeds from 0 on until a property breaks that does not break without the mutant: at most as
many as the table allows those that the simulation has to find, and N (2000) others. FILE has what the exhaustive model
has found: a line `name<TAB>property<TAB>where` for each. Without names: all that are not the model's; with --all every one.
The exit code is 1 if what was found is not what the table says, 2 if the command line is wrong.";

fn main() -> ExitCode {
    // What a mutant makes panic is a finding, and told of as such.
    panic::set_hook(Box::new(|_| ()));
    match Task::parse(env::args().skip(1)) {
        Ok(task) if task.run() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Which property breaks, and where.
struct Finding {
    property: String,
    place: String,
}

struct Task {
    seeds: u64,
    rows: Vec<Row>,
    /// What the exhaustive model has looked for, and found.
    model: BTreeMap<String, Option<Finding>>,
    /// Rows of the model are simulated as well.
    all: bool,
}

impl Task {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut seeds, mut all, mut names, mut model) = (2000, false, Vec::new(), BTreeMap::new());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" => all = true,
                "--seeds" => {
                    let number = words.next().and_then(|number| number.parse().ok());
                    seeds = number.filter(|n| *n > 0).ok_or("--seeds takes a number from 1")?;
                }
                "--model" => model = read_model(&words.next().ok_or("--model takes a file")?)?,
                name => names.push(name.to_owned()),
            }
        }
        let known = |name: &String| MUTANTS.iter().any(|row| name_of(row) == **name);
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(format!("there is no mutant {unknown:?}"));
        }
        let chosen = |row: &&Row| names.is_empty() || names.contains(&name_of(row));
        let rows = MUTANTS.iter().filter(chosen).copied().collect();
        Ok(Self { seeds, rows, model, all: all || !names.is_empty() })
    }

    /// Returns true if everything is as the table says.
    fn run(&self) -> bool {
        let mut faults = Vec::new();
        println!("| mutant | what is left out | what breaks | found by |\n|---|---|---|---|");
        for row in &self.rows {
            let simulated = self.simulated(row);
            let modelled = self.model.get(&name_of(row));
            faults.extend(fault(row, simulated.as_ref(), modelled));
            let Row { properties, story, .. } = row;
            let (name, left_out) = (name_of(row), row.mutant.leaves_out());
            let spare = self.without_spare(row);
            faults.extend(spare.as_ref().and_then(|spare| spare.as_ref().err().cloned()));
            let by = found_by(row, simulated.as_ref(), modelled, spare.and_then(Result::ok));
            println!("| {name} | {left_out} | {}: {story} | {by} |", properties.join(" "));
        }
        faults.iter().for_each(|fault| println!("\n{fault}"));
        faults.is_empty()
    }

    /// Looks for a seed, if the row says that there is one or is none: what was tried, and what was found.
    fn simulated(&self, row: &Row) -> Option<(u64, Option<Finding>)> {
        let seeds = match row.watcher {
            Watcher::Simulation(seeds) => seeds,
            Watcher::Model if !self.all => return None,
            Watcher::Script(_) | Watcher::Told(_) if !self.all => return None,
            Watcher::Model
            | Watcher::Script(_)
            | Watcher::Told(_)
            | Watcher::Spare(..)
            | Watcher::SpareStory(..)
            | Watcher::Extra(..)
            | Watcher::Nobody(_) => self.seeds,
        };
        let meant =
            if matches!(row.watcher, Watcher::Simulation(_)) { row.properties } else { &[] };
        let found = hunt((row.mutant, None), meant, seeds);
        let what = found.as_ref().map_or("nothing", |found| &found.property);
        let place = found.as_ref().map_or(String::new(), |found| format!(" at {}", found.place));
        eprintln!("{}: {what} in {seeds} seeds{place}", name_of(row));
        Some((seeds, found))
    }
}

impl Task {
    /// Looks for a seed without the spare of what is left out, if the row names one: what was found, or what is wrong.
    fn without_spare(&self, row: &Row) -> Option<Result<Finding, String>> {
        let Watcher::Spare(spare, seeds, _) = row.watcher else { return None };
        let name = name_of(row);
        let found = hunt((row.mutant, Some(spare)), row.properties, seeds);
        eprintln!("{name} and {spare:?}: {}", found.as_ref().map_or("nothing", |f| &f.place));
        Some(found.ok_or_else(|| format!("{name} is not found without {spare:?} either")))
    }
}

fn name_of(row: &Row) -> String {
    format!("{:?}", row.mutant)
}

fn read_model(path: &str) -> Result<BTreeMap<String, Option<Finding>>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let row = |line: &str| {
        let fields: Vec<_> = line.split('\t').collect();
        let [name, property, place] = fields[..] else {
            return Err(format!("{path}: a line has three fields, not {line:?}"));
        };
        let finding = || Finding { property: property.to_owned(), place: place.to_owned() };
        Ok((name.to_owned(), (property != "-").then(finding)))
    };
    text.lines().map(row).collect()
}

type Simulated<'a> = Option<&'a (u64, Option<Finding>)>;
type Modelled<'a> = Option<&'a Option<Finding>>;

/// Returns in what reality differs from the table, if it does.
fn fault(row: &Row, simulated: Simulated<'_>, modelled: Modelled<'_>) -> Option<String> {
    let name = name_of(row);
    let by_simulation = simulated.and_then(|(_, found)| found.as_ref());
    let by_model = modelled.and_then(Option::as_ref);
    let found = match row.watcher {
        Watcher::Simulation(_) => by_simulation,
        Watcher::Model => by_model,
        Watcher::Script(_) | Watcher::Told(_) => return None,
        Watcher::Spare(..) | Watcher::SpareStory(..) | Watcher::Extra(..) | Watcher::Nobody(_) => {
            let found = by_simulation.or(by_model)?;
            return Some(format!("{name} is not redundant: {} at {}", found.property, found.place));
        }
    };
    let looked = if matches!(row.watcher, Watcher::Simulation(_)) {
        simulated.is_some()
    } else {
        modelled.is_some()
    };
    match found {
        Some(found) if row.properties.contains(&found.property.as_str()) => None,
        Some(found) => Some(format!("{name} breaks {} at {}", found.property, found.place)),
        None if looked => Some(format!("{name} is not found by {:?}", row.watcher)),
        None => None,
    }
}

fn found_by(
    row: &Row,
    simulated: Simulated<'_>,
    modelled: Modelled<'_>,
    without_spare: Option<Finding>,
) -> String {
    let simulation = simulated.map(|(seeds, found)| match found {
        Some(found) => format!("simulation: {} at {}", found.property, found.place),
        None => format!("not by the simulation in {seeds} seeds"),
    });
    let model = modelled.map(|found| match found {
        Some(found) => format!("model: {} in {}", found.property, found.place),
        None => "not by the model".to_owned(),
    });
    let why = match row.watcher {
        Watcher::Spare(spare, _, why) => {
            let place = without_spare.map_or("nowhere".to_owned(), |found| {
                format!("{} at {}", found.property, found.place)
            });
            Some(format!("redundant: {why}; with {spare:?} as well, simulation: {place}"))
        }
        watcher => watcher.reason().map(|why| format!("redundant: {why}")),
    };
    simulation.into_iter().chain(model).chain(why).collect::<Vec<_>>().join("; ")
}

/// What is left out: a guard or rule, and perhaps its spare.
type LeftOut = (Mutant, Option<Mutant>);

/// Looks for the first seed at which one of these properties breaks that does not break it with everything in place; any
/// property if there are none. The checks after every write come first, then the checker.
fn hunt(left_out: LeftOut, properties: &[&str], seeds: u64) -> Option<Finding> {
    let judges = [Judge::Online, Judge::Full];
    judges.into_iter().find_map(|judge| {
        let breaks = |seed| {
            let script = Script::draw(seed);
            if judge == Judge::Full && !is_judged(&script) {
                return None;
            }
            let property = breach_of(Some(left_out), &script, judge)?;
            let meant = properties.is_empty() || properties.contains(&property.as_str());
            (meant && breach_of(None, &script, judge).is_none()).then_some(property)
        };
        let (seed, property) = first_of(seeds, breaks)?;
        Some(Finding { property, place: format!("seed {seed}") })
    })
}

/// Returns false for scripts that the checker does not judge as it should: it takes those who are away with static
/// sharding for strangers, and cannot know which configuration is in force while the stored one is unreadable.
fn is_judged(script: &Script) -> bool {
    let spoils = |act: &Act| {
        matches!(act, Act::Poison { .. } | Act::Configure { change: Change::Static(true) })
    };
    !script.profile.job.static_sharding && !script.acts.iter().any(|timed| spoils(&timed.act))
}

/// Tries seeds in ascending order on two threads and returns the first hit.
fn first_of<T: Send>(seeds: u64, hit: impl Fn(u64) -> Option<T> + Sync) -> Option<(u64, T)> {
    let (next, first) = (AtomicU64::new(0), AtomicU64::new(seeds));
    let hits = Mutex::new(BTreeMap::new());
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first.load(Ordering::Relaxed) {
            break;
        }
        if let Some(found) = hit(seed) {
            first.fetch_min(seed, Ordering::Relaxed);
            hits.lock().expect("no thread panics while it notes").insert(seed, found);
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    hits.into_inner().expect("all threads have ended").into_iter().next()
}

fn breach_of(left_out: Option<LeftOut>, script: &Script, judge: Judge) -> Option<String> {
    let _active = left_out.map(|(mutant, spare)| match spare {
        Some(spare) => mutant.activate_with(spare),
        None => mutant.activate(),
    });
    let violation = sim::run(script, judge, Keep::default()).violation?;
    if env::var_os("VERBOSE").is_some() {
        eprintln!("{left_out:?} {} {:.200}", violation.property, violation.text);
    }
    Some(violation.property.to_string())
}
