//! Seeded chaos on the simulated cluster.
//!
//! With `--features` at the end, the job of each seed combines schedules, overlaps and limits.
//! `chaos FROM [COUNT]` plays seeds and prints those that fail. `chaos --replay SEED` prints the
//! result of one seed, and `chaos --shrink SEED` prints a smaller plan that still fails. `chaos
//! --script FILE` plays a plan, `chaos --plan SEED` prints one, and `chaos --history SEED` prints a
//! history, one JSON record a line. `cargo xtask sim --system` uses the first two forms.
#![expect(clippy::print_stdout, reason = "a program talks to the person who runs it")]

use std::fmt;
use std::process::ExitCode;

use simulation::chaos::{ChaosPlan, Outcome, replay, shrink};

/// Maximum number of runs in the search for a smaller plan.
const MAX_RUNS: usize = 400;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (words, draw): (&[&str], Draw) = match words.as_slice() {
        [words @ .., "--features"] => (words, ChaosPlan::draw_with_features),
        words => (words, ChaosPlan::draw),
    };
    match words {
        ["--replay", seed] => with(seed, |seed| {
            let outcome = replay(&draw(seed));
            finish(&outcome.to_string(), outcome.is_valid())
        }),
        ["--script", file] => with_script(file, |plan| {
            let outcome = replay(plan);
            finish(&outcome.to_string(), outcome.is_valid())
        }),
        ["--plan", seed] => with(seed, |seed| finish(&plan(&draw(seed)), true)),
        ["--shrink", seed] => with(seed, |seed| {
            let smallest = shrink(replay(&draw(seed)), MAX_RUNS);
            finish(&format!("{}\n{smallest}", plan(&smallest.plan)), smallest.is_valid())
        }),
        ["--history", seed] => with(seed, |seed| {
            for record in replay(&draw(seed)).history.records() {
                println!("{}", serde_json::to_string(record).unwrap_or_default());
            }
            ExitCode::SUCCESS
        }),
        [from] => with(from, |from| play(from, 1, draw)),
        [from, count] => with(from, |from| with(count, |count| play(from, count, draw))),
        _ => finish(
            "usage: chaos FROM [COUNT] | --replay SEED | --script FILE | --plan SEED | --shrink SEED | --history SEED, each with --features",
            false,
        ),
    }
}

/// Draws the plan of a seed.
type Draw = fn(u64) -> ChaosPlan;

fn with(number: &str, then: impl FnOnce(u64) -> ExitCode) -> ExitCode {
    match number.parse() {
        Ok(number) => then(number),
        Err(error) => finish(&format!("{number:?} is not a number: {error}"), false),
    }
}

fn with_script(file: &str, then: impl FnOnce(&ChaosPlan) -> ExitCode) -> ExitCode {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
    match text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
        Ok(plan) => then(&plan),
        Err(error) => finish(&format!("{file} cannot be read as a plan: {error}"), false),
    }
}

fn finish(text: &str, is_valid: bool) -> ExitCode {
    println!("{text}");
    if is_valid { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn plan(plan: &ChaosPlan) -> String {
    serde_json::to_string_pretty(plan).unwrap_or_default()
}

fn play(from: u64, count: u64, draw: Draw) -> ExitCode {
    let Some(end) = from.checked_add(count) else {
        return finish(&format!("there are fewer than {count} seeds from {from} on"), false);
    };
    let mut totals = Totals::default();
    for outcome in (from..end).map(|seed| replay(&draw(seed))) {
        totals.add(&outcome);
        if !outcome.is_valid() {
            println!("{outcome}\n");
        }
    }
    finish(&format!("{count} seeds, {totals}"), totals.not_valid == 0)
}

/// Totals over the seeds of a call.
#[derive(Debug, Default)]
struct Totals {
    not_valid: u64,
    violations: u64,
    nanoseconds: u64,
    faults: u64,
    runs: u64,
    failovers: u64,
}

impl Totals {
    fn add(&mut self, outcome: &Outcome) {
        let report = &outcome.report;
        let reached = |row: &str| report.coverage.get(row).map_or(0, |row| row.reached);
        self.not_valid += u64::from(!outcome.is_valid());
        self.violations += report.violations.len() as u64;
        self.nanoseconds += outcome.history.records().last().map_or(0, |record| record.mt);
        self.faults += outcome.plan.faults.len() as u64;
        self.runs += reached("run");
        self.failovers += reached("failover");
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { not_valid, violations, nanoseconds, faults, runs, failovers } = self;
        let hours = nanoseconds / 3_600_000_000_000;
        write!(
            f,
            "{hours} simulated hours, {faults} faults, {runs} runs, {failovers} failovers, "
        )?;
        write!(f, "{violations} violations, {not_valid} not valid")
    }
}
