//! `ejob-mutants`: simulates each mutant and prints the table of mutants, with the test that
//! notices each of them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod files;
mod hunt;
mod outcome;

use std::process::ExitCode;
use std::{env, panic};

use coordination::{MUTANTS, Row, Watcher};

use self::files::{Modelled, Stories};
use self::hunt::{hunt, in_corpus};
use self::outcome::Outcome;

const USAGE: &str = "usage: ejob-mutants [--seeds N] [--model FILE] [--stories FILE] [--all | MUTANT...]
Simulates each mutant with seeds from 0 on until a property breaks that does not break without the mutant: at most as
many as the table has for a mutant of the simulation, and N (400) for a redundant mutant.
--model FILE    results of the exhaustive model: a line `name<TAB>property<TAB>where` for each mutant
--stories FILE  results of the stories: a line `name<TAB>failed or passed<TAB>test` for each mutant
--all           also simulates, with N seeds, the mutants of the model, the stories and the scripts;
                mutants that the command line names are simulated in any case
The exit code is 1 if a result differs from the table, 2 if the command line is wrong.";

fn main() -> ExitCode {
    // A panic with a mutant is a finding, and the table reports it.
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

struct Task {
    seeds: u64,
    rows: Vec<Row>,
    model: Modelled,
    stories: Stories,
    /// Set to simulate also the mutants of the model, the stories and the scripts.
    all: bool,
}

impl Task {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut seeds, mut all, mut names) = (400, false, Vec::new());
        let (mut model, mut stories) = (Modelled::new(), Stories::new());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" => all = true,
                "--seeds" => {
                    let number = words.next().and_then(|number| number.parse().ok());
                    seeds = number.filter(|n| *n > 0).ok_or("--seeds takes a number from 1")?;
                }
                "--model" => model = files::model(&words.next().ok_or("--model takes a file")?)?,
                "--stories" => {
                    stories = files::stories(&words.next().ok_or("--stories takes a file")?)?;
                }
                name => names.push(name.to_owned()),
            }
        }
        let known = |name: &String| MUTANTS.iter().any(|row| name_of(row) == **name);
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(format!("unknown mutant {unknown:?}"));
        }
        let chosen = |row: &&Row| names.is_empty() || names.contains(&name_of(row));
        let rows = MUTANTS.iter().filter(chosen).copied().collect();
        Ok(Self { seeds, rows, model, stories, all: all || !names.is_empty() })
    }

    /// Prints the table; returns true if all results match it.
    fn run(&self) -> bool {
        let mut faults = Vec::new();
        println!("| mutant | what is left out | what breaks | found by |\n|---|---|---|---|");
        for row in &self.rows {
            let outcome = self.outcome(row);
            faults.extend(outcome.fault(row));
            let Row { properties, story, .. } = row;
            let (name, left_out) = (name_of(row), row.mutant.leaves_out());
            let by = outcome.found_by(row);
            println!("| {name} | {left_out} | {}: {story} | {by} |", properties.join(" "));
        }
        faults.iter().for_each(|fault| println!("\n{fault}"));
        faults.is_empty()
    }

    fn outcome(&self, row: &Row) -> Outcome {
        let name = name_of(row);
        let scripted = || {
            let Watcher::Script(file) = row.watcher else { return None };
            Some(in_corpus(row.mutant, file))
        };
        let without_spare = || {
            let Watcher::Spare(spare, seeds, _) = row.watcher else { return None };
            Some(hunt((row.mutant, Some(spare)), row.properties, seeds))
        };
        Outcome {
            simulated: self.simulated(row),
            scripted: scripted(),
            modelled: self.model.get(&name).cloned(),
            story_failed: self.stories.get(&name).copied(),
            without_spare: without_spare(),
        }
    }

    /// Simulates a mutant, unless only another test has to notice it. Returns the number of seeds
    /// and the finding.
    fn simulated(&self, row: &Row) -> Option<(u64, Option<hunt::Finding>)> {
        let by_others =
            matches!(row.watcher, Watcher::Model | Watcher::Script(_) | Watcher::ByStory(_));
        if by_others && !self.all {
            return None;
        }
        let (seeds, meant) = match row.watcher {
            Watcher::Simulation(seeds) => (seeds, row.properties),
            Watcher::Model
            | Watcher::Script(_)
            | Watcher::ByStory(_)
            | Watcher::Spare(..)
            | Watcher::SpareStory(..)
            | Watcher::Extra(..)
            | Watcher::Unnoticed(_) => (self.seeds, [].as_slice()),
        };
        let found = hunt((row.mutant, None), meant, seeds);
        let what = found.as_ref().map_or("nothing", |found| &found.property);
        let place = found.as_ref().map_or(String::new(), |found| format!(" at {}", found.place));
        eprintln!("{}: {what} in {seeds} seeds{place}", name_of(row));
        Some((seeds, found))
    }
}

fn name_of(row: &Row) -> String {
    format!("{:?}", row.mutant)
}
