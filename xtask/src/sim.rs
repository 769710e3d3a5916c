//! `cargo xtask sim`: many seeds of the pure simulation, or one of them again.

use crate::steps::{cargo, run};
use crate::{Error, verify};

/// How many seeds are run if nobody says otherwise.
const SEEDS: u64 = 2_000;

/// Runs what the arguments say.
pub(crate) fn run_seeds(arguments: &[String]) -> Result<(), Error> {
    if let [option, scenario] = arguments
        && option == "--scenario"
    {
        let simulated = ["--backend", "memory", "--scenario", scenario].map(str::to_owned);
        return verify::run_scenarios(&simulated);
    }
    let words = words(arguments)?;
    run(cargo("run --release --quiet -p testkit --bin ejob-sim --").args(words))
}

/// Translates the arguments into those of the program.
fn words(arguments: &[String]) -> Result<Vec<String>, Error> {
    let (mut seeds, mut first, mut replay) = (SEEDS, 0, None);
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let number = number(option, rest.next())?;
        match option.as_str() {
            "--seeds" => seeds = number,
            "--first-seed" => first = number,
            "--replay" => replay = Some(number),
            other => {
                let text = format!(
                    "`sim` takes `--seeds N`, `--first-seed S` and `--replay SEED`, or `--scenario ID` alone, not `{other}`"
                );
                return Err(Error::Usage(text));
            }
        }
    }
    let line = match replay {
        Some(seed) => format!("replay {seed}"),
        None => format!("run --seeds {seeds} --first-seed {first}"),
    };
    Ok(line.split(' ').map(str::to_owned).collect())
}

fn number(option: &str, value: Option<&String>) -> Result<u64, Error> {
    let found = value.map_or("nothing".to_owned(), |value| format!("`{value}`"));
    let number = value.and_then(|value| value.parse().ok());
    number.ok_or_else(|| Error::Usage(format!("`{option}` takes a whole number, not {found}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_those_of_the_program() {
        let rows = [
            ("", "run --seeds 2000 --first-seed 0"),
            ("--seeds 50 --first-seed 7", "run --seeds 50 --first-seed 7"),
            ("--replay 26", "replay 26"),
        ];
        for (line, expected) in rows {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(words(&arguments).unwrap().join(" "), expected, "{line}");
        }
    }
}
