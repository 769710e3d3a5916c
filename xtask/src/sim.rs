//! `cargo xtask sim`: runs seeds of a simulation, or replays one of them.

use crate::steps::{cargo, run};
use crate::{Error, verify};

/// Default number of seeds of the pure simulation.
const SEEDS: u64 = 2_000;
/// Default number of seeds of the system simulation, which take some ten times as long.
const SYSTEM_SEEDS: u64 = 250;

/// Parsed arguments.
#[derive(Debug, Default)]
struct Request {
    /// Simulates whole schedulers instead of only their decisions.
    system: bool,
    /// Draws a combination of the job's features, such as limits, for each seed.
    features: bool,
    seeds: Option<u64>,
    first: u64,
    /// A single seed, whose run is shown in full.
    replay: Option<u64>,
}

/// Runs the simulation that the arguments select.
pub(crate) fn run_seeds(arguments: &[String]) -> Result<(), Error> {
    if let [option, scenario] = arguments
        && option == "--scenario"
    {
        let simulated = ["--backend", "memory", "--scenario", scenario].map(str::to_owned);
        return verify::run_scenarios(&simulated);
    }
    let line = Request::parse(arguments)?.line()?;
    run(&mut cargo(&line))
}

/// Returns the arguments of cargo for those of `sim`, which are separated by white space.
pub(crate) fn line(arguments: &str) -> Result<String, Error> {
    let words: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    Request::parse(&words)?.line()
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut request = Self::default();
        let mut rest = arguments.iter();
        while let Some(option) = rest.next() {
            match option.as_str() {
                "--system" => request.system = true,
                "--features" => request.features = true,
                "--seeds" => request.seeds = Some(number(option, rest.next())?),
                "--first-seed" => request.first = number(option, rest.next())?,
                "--replay" => request.replay = Some(number(option, rest.next())?),
                other => {
                    let text = format!(
                        "`sim` takes `--system`, `--features`, `--seeds N`, `--first-seed S` and \
                         `--replay SEED`, or `--scenario ID` alone, not `{other}`"
                    );
                    return Err(Error::Usage(text));
                }
            }
        }
        Ok(request)
    }

    /// Returns the arguments of cargo: the program that simulates, and its own.
    fn line(&self) -> Result<String, Error> {
        let Self { system, features, seeds, first, replay } = *self;
        let seeds = seeds.unwrap_or(if system { SYSTEM_SEEDS } else { SEEDS });
        if first.checked_add(seeds).is_none() {
            let text =
                format!("`--first-seed` is {first}: there are no {seeds} seeds from there on");
            return Err(Error::Usage(text));
        }
        let option = if features { " --features" } else { "" };
        let words = match (system, replay) {
            (false, None) => format!("run --seeds {seeds} --first-seed {first}{option}"),
            (false, Some(seed)) => format!("replay {seed}{option}"),
            (true, None) => format!("{first} {seeds}{option}"),
            (true, Some(seed)) => format!("--replay {seed}{option}"),
        };
        let program = if system { "--example chaos" } else { "--bin ejob-sim" };
        Ok(format!("run --profile sim --quiet -p simulation {program} -- {words}"))
    }
}

/// Parses the value of an option.
pub(crate) fn number(option: &str, value: Option<&String>) -> Result<u64, Error> {
    let found = value.map_or("nothing".to_owned(), |value| format!("`{value}`"));
    let number = value.and_then(|value| value.parse().ok());
    number.ok_or_else(|| Error::Usage(format!("`{option}` takes a whole number, not {found}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on_to_the_program() {
        let rows = [
            ("", "--bin ejob-sim -- run --seeds 2000 --first-seed 0"),
            ("--seeds 50 --first-seed 7", "--bin ejob-sim -- run --seeds 50 --first-seed 7"),
            ("--replay 26", "--bin ejob-sim -- replay 26"),
            ("--features --seeds 50", "--bin ejob-sim -- run --seeds 50 --first-seed 0 --features"),
            ("--features --replay 26", "--bin ejob-sim -- replay 26 --features"),
            ("--system --features", "--example chaos -- 0 250 --features"),
            ("--system", "--example chaos -- 0 250"),
            ("--system --first-seed 7 --seeds 50", "--example chaos -- 7 50"),
            ("--seeds 50 --system", "--example chaos -- 0 50"),
            ("--system --replay 1019", "--example chaos -- --replay 1019"),
        ];
        for (arguments, expected) in rows {
            let expected = format!("run --profile sim --quiet -p simulation {expected}");
            assert_eq!(line(arguments).unwrap(), expected, "{arguments}");
        }
    }

    #[test]
    fn seeds_beyond_the_largest_number_are_rejected() {
        let last = u64::MAX - 250;
        line(&format!("--system --first-seed {last}")).unwrap();
        let error = line(&format!("--system --first-seed {}", last + 1)).unwrap_err().to_string();
        assert!(error.contains("there are no 250 seeds from there on"), "{error}");
    }
}
