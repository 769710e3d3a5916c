//! `ejob-mutants`: simulates the product without one of its guards or rules at a time, and says which the simulation
//! notices.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use std::{env, thread};

use coordination::{MUTANTS, Mutant, Watcher};
use testkit::sim::{self, Judge, Keep, Script, Violation};

const USAGE: &str = "usage: ejob-mutants [--seeds N] [--all | MUTANT...]
Simulates each mutant with seeds 0 to N-1 (1000) until a property breaks. Without names: those that the simulation has to
find, and those that nobody can; with --all every one.
The exit code is 1 if one of the first is not found or one of the second is, 2 if the command line is wrong.";

fn main() -> ExitCode {
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
    mutants: Vec<(Mutant, Watcher)>,
}

impl Task {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut seeds, mut all, mut names) = (1000, false, Vec::new());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--all" => all = true,
                "--seeds" => {
                    let number = words.next().and_then(|number| number.parse().ok());
                    seeds = number.filter(|n| *n > 0).ok_or("--seeds takes a number from 1")?;
                }
                name => names.push(name.to_owned()),
            }
        }
        let known = |name: &String| MUTANTS.iter().any(|row| format!("{:?}", row.0) == **name);
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(format!("there is no mutant {unknown:?}"));
        }
        let chosen = |mutant: Mutant, watcher: Watcher| match names.is_empty() {
            true => all || watcher != Watcher::Model,
            false => names.contains(&format!("{mutant:?}")),
        };
        let rows = MUTANTS.iter().map(|(mutant, _, watcher)| (*mutant, *watcher));
        Ok(Self { seeds, mutants: rows.filter(|(m, w)| chosen(*m, *w)).collect() })
    }

    /// Returns true if everything was found that has to be, and nothing that cannot be.
    fn run(&self) -> bool {
        let mut good = true;
        for (mutant, watcher) in &self.mutants {
            let start = Instant::now();
            let found = hunt(*mutant, self.seeds);
            let expected = match watcher {
                Watcher::Model => None,
                Watcher::Simulation => Some(true),
                Watcher::Nobody(_) => Some(false),
            };
            let verdict = expected.is_none_or(|expected| expected == found.is_some());
            good &= verdict;
            let what = found.as_ref().map_or_else(
                || format!("not found in {} seeds", self.seeds),
                |(seed, v)| format!("{} at seed {seed}, step {}: {}", v.property, v.step, v.text),
            );
            let fault = if verdict { "" } else { "  <-- not as the table says" };
            println!("{mutant:?}: {what} ({:.1} s){fault}", start.elapsed().as_secs_f64());
        }
        good
    }
}

/// Runs seeds until one fails; on two threads, so that it may not be the first one that would.
fn hunt(mutant: Mutant, seeds: u64) -> Option<(u64, Violation)> {
    let (next, found) = (AtomicU64::new(0), Mutex::new(None));
    let over = AtomicBool::new(false);
    let work = || {
        let _active = mutant.activate();
        while !over.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                break;
            }
            let report = sim::run(&Script::draw(seed), Judge::Full, Keep::default());
            if let Some(violation) = report.violation {
                over.store(true, Ordering::Relaxed);
                found
                    .lock()
                    .expect("no thread panics while it notes")
                    .get_or_insert((seed, violation));
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    found.into_inner().expect("all threads have ended")
}
