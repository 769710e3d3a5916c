//! `ejob-sim`: runs the pure simulation. Without arguments it prints its usage.
#![expect(clippy::print_stdout, reason = "a command-line program prints its results")]

use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs, thread};

use simulation::sim::{self, Judge, Keep, Script, Violation};

const USAGE: &str = "usage:
  ejob-sim run --seeds N [--first-seed S] [--threads T] [--features] [--coverage]
  ejob-sim replay SEED [--features] | --script FILE [--quiet]
  ejob-sim shrink SEED [--features] | --script FILE
  ejob-sim points [--nth N] [--point PLACE [--zookeeper]]
run       runs N seeds from S (0) on T threads (all processors) and prints one line of totals
replay    runs one seed or script and prints its last events
shrink    prints the smallest script found that violates the same property
points    injects one fault at each Nth (1) write of a scripted run, in each of the seven modes
--features adds to each seed a combination of limits, overlaps, a fixed delay, cancellations and expiry.
All take --judge full|online: the checks after every write and the checker (the default), or these checks alone.
The exit code is 1 if a property is violated, 2 if the command line is wrong.";

/// Result of a command: true if every property held, an error if the command line is wrong.
type Verdict = Result<bool, String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(arguments: &[String]) -> Verdict {
    let (command, rest) = arguments.split_first().ok_or("the command is missing")?;
    let mut options = Options { words: rest.to_vec() };
    match command.as_str() {
        "run" => run(options),
        "replay" => {
            let (quiet, judge) = (options.flag("--quiet"), options.judge()?);
            replay(&options.script()?, judge, quiet)
        }
        "shrink" => {
            let judge = options.judge()?;
            shrink(&options.script()?, judge)
        }
        "points" => points(options),
        other => Err(format!("the command is {other:?}; valid is run, replay, shrink or points")),
    }
}

fn run(mut options: Options) -> Verdict {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let seeds = options.number("--seeds")?.ok_or("`run` needs --seeds N")?;
    let first = options.number("--first-seed")?.unwrap_or(0);
    if first.checked_add(seeds).is_none() {
        return Err(format!("--first-seed is {first}; valid is at most {}", u64::MAX - seeds));
    }
    let threads = options.number("--threads")?;
    let threads = threads.and_then(|n| usize::try_from(n).ok()).unwrap_or(processors);
    let judge = options.judge()?;
    let features = options.flag(FEATURES);
    let shows_coverage = options.flag("--coverage");
    options.end()?;
    let start = Instant::now();
    let totals = sim::run_seeds(first, seeds, threads, judge, |seed| draw(seed, features));
    if shows_coverage {
        totals.coverage.rows().for_each(|(what, count)| println!("{what} {count}"));
    }
    let option = if features { format!(" {FEATURES}") } else { String::new() };
    for (seed, violation) in &totals.failures {
        println!("seed {seed} {}", describe(violation));
        println!("  repeat with: {}", command_line(&format!("replay {seed}{option}")));
    }
    if let Some((seed, _)) = totals.failures.first() {
        println!("shrink with: {}", command_line(&format!("shrink {seed}{option}")));
    }
    println!("{}", totals.summary(start.elapsed().as_secs_f64()));
    Ok(totals.failures.is_empty())
}

/// Option that lets seeds combine features of the job.
const FEATURES: &str = "--features";

/// Draws the script of a seed.
fn draw(seed: u64, features: bool) -> Script {
    if features { Script::draw_with_features(seed) } else { Script::draw(seed) }
}

/// Returns a violation as text, with the records that show it.
fn describe(violation: &Violation) -> String {
    let Violation { property, text, step, window } = violation;
    let window: String = window.iter().map(|line| format!("\n    {line}")).collect();
    format!("step {step}: {property}: {text}{window}")
}

fn replay(script: &Script, judge: Judge, quiet: bool) -> Verdict {
    let keep = Keep { history: false, trace: !quiet };
    let report = sim::run(script, judge, keep);
    if !quiet {
        println!("{}", report.trace);
    }
    println!(
        "digest {:016x} steps {} events {}",
        report.digest, report.steps, report.coverage.events
    );
    if let Some(violation) = &report.violation {
        println!("{}", describe(violation));
    }
    Ok(report.violation.is_none())
}

fn shrink(script: &Script, judge: Judge) -> Verdict {
    let Some(smallest) = sim::shrink(script, judge) else {
        println!("every property holds: nothing to shrink");
        return Ok(true);
    };
    print!("{}", smallest.to_json());
    println!("repeat with: {}", command_line("replay --script FILE"));
    Ok(false)
}

fn points(mut options: Options) -> Verdict {
    let nth = options.number("--nth")?.unwrap_or(1);
    let nth = u32::try_from(nth).map_err(|_| format!("--nth is {nth}; valid is 1 to 1000000"))?;
    let judge = options.judge()?;
    if let Some(which) = options.number("--point")? {
        let like_zookeeper = options.flag("--zookeeper");
        options.end()?;
        return point(usize::try_from(which).unwrap_or(usize::MAX), nth, like_zookeeper, judge);
    }
    options.end()?;
    let start = Instant::now();
    let mut total = 0;
    let mut failed = 0;
    for like_zookeeper in [false, true] {
        let points = sim::points(like_zookeeper, nth);
        total += points.len();
        let failures = sim::run_points(&points, like_zookeeper, judge);
        failed += failures.len();
        for (place, violation) in failures {
            let zookeeper = if like_zookeeper { " --zookeeper" } else { "" };
            let words = command_line(&format!("points --nth {nth} --point {place}{zookeeper}"));
            println!("{:?} {}", points[place], describe(&violation));
            println!("  repeat with: {words}");
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("points {total} violations {failed} wall_seconds {seconds:.1}");
    Ok(failed == 0)
}

/// Runs one point, by its index in the list of all points, and prints the last events.
fn point(place: usize, nth: u32, like_zookeeper: bool, judge: Judge) -> Verdict {
    let points = sim::points(like_zookeeper, nth);
    let point = points
        .get(place)
        .ok_or(format!("the point is {place}; valid is less than {}", points.len()))?;
    let keep = Keep { trace: true, history: false };
    let (report, _) = sim::run_point(Some(*point), like_zookeeper, judge, keep);
    println!("{}\n{point:?}", report.trace);
    if let Some(violation) = &report.violation {
        println!("{}: {}", violation.property, violation.text);
    }
    Ok(report.violation.is_none())
}

/// Returns the command line that repeats a run.
fn command_line(arguments: &str) -> String {
    format!("cargo run --profile sim -p simulation --bin ejob-sim -- {arguments}")
}

/// The words of a command line that have not been parsed yet.
struct Options {
    words: Vec<String>,
}

impl Options {
    fn flag(&mut self, name: &str) -> bool {
        let place = self.words.iter().position(|word| word == name);
        place.map(|place| self.words.remove(place)).is_some()
    }

    fn value(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(place) = self.words.iter().position(|word| word == name) else { return Ok(None) };
        self.words.remove(place);
        if place >= self.words.len() {
            return Err(format!("{name} needs a value"));
        }
        Ok(Some(self.words.remove(place)))
    }

    fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        let valid = |text: String| {
            text.parse().map_err(|_| format!("{name} is {text:?}; valid is a whole number"))
        };
        self.value(name)?.map(valid).transpose()
    }

    fn judge(&mut self) -> Result<Judge, String> {
        match self.value("--judge")?.as_deref() {
            None | Some("full") => Ok(Judge::Full),
            Some("online") => Ok(Judge::Online),
            Some(other) => Err(format!("--judge is {other:?}; valid is online or full")),
        }
    }

    /// Parses the run to play: a seed, or `--script FILE`.
    fn script(mut self) -> Result<Script, String> {
        if let Some(file) = self.value("--script")? {
            self.end()?;
            let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
            return Script::from_json(&text).map_err(|error| format!("{file}: {error}"));
        }
        let features = self.flag(FEATURES);
        match self.words.as_slice() {
            [seed] => match seed.parse() {
                Ok(seed) => Ok(draw(seed, features)),
                Err(_) => Err(format!("the seed is {seed:?}; valid is a whole number")),
            },
            _ => Err("a seed or --script FILE is missing".to_owned()),
        }
    }

    fn end(self) -> Result<(), String> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(format!("{word:?} is not a known option or argument")),
        }
    }
}
