//! `cargo xtask mutants`: removes one guard or rule at a time, and reports which checks fail.

use std::fs;

use std::process::Command;

use mutants::write_copy;

use crate::steps::{cargo, run};
use crate::{Error, workspace};

/// Parsed arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    /// Number of seeds for mutants that no check is expected to notice. The default is the
    /// program's own.
    seeds: Option<u64>,
    /// Names of the selected mutants; empty selects all.
    names: Vec<String>,
}

/// Writes the copy of the workspace with the mutants, and runs all checks in it.
///
/// The checks are the stories, the exhaustive model, and the simulation, which prints the table of
/// all three. The table is printed even if the stories or the model differ from their expectations.
pub(crate) fn hunt(arguments: &[String]) -> Result<(), Error> {
    let request = Request::parse(arguments)?;
    let folder = workspace().join("target").join("mutants");
    fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    let copy = folder.join("workspace");
    write_copy(workspace(), &copy)?;
    // A separate target folder, because cargo does not distinguish the packages of both workspaces
    // and would mix their builds.
    let target = folder.join("target");
    let in_copy = |line: &str| {
        let mut command: Command = cargo(line);
        command.current_dir(&copy).env("CARGO_TARGET_DIR", &target);
        command
    };
    let names = request.names.join(",");
    let [stories, model] = ["stories.tsv", "model.tsv"].map(|name| folder.join(name));
    for file in [&stories, &model] {
        fs::write(file, "").map_err(Error::file("write", file))?;
    }
    let mut story_tests = in_copy(STORIES);
    let stories_passed = run(story_tests.env("MUTANTS", &names).env("MUTANTS_STORIES", &stories));
    let mut model_tests = in_copy(MODEL);
    let model_passed = run(model_tests.env("MUTANTS", &names).env("MUTANTS_FILE", &model));
    let mut simulation = in_copy(SIMULATION);
    simulation.arg("--stories").arg(&stories).arg("--model").arg(&model);
    run(simulation.args(request.words()))?;
    stories_passed.and(model_passed)
}

const STORIES: &str = "test --profile sim --quiet -p coordination -p operations -p lite \
                       -p job-history --features job-history/verify --no-fail-fast --lib --tests \
                       stories_fail_without_their_guards";
const MODEL: &str = "test --profile sim --quiet -p model --lib mutants_are_noticed -- --ignored";
const SIMULATION: &str = "run --profile sim --quiet -p simulation --bin ejob-mutants --";

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, Error> {
        let mut request = Self::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--seeds" => request.seeds = Some(seeds(rest.next())?),
                option if option.starts_with('-') => {
                    let text = format!("`mutants` takes `--seeds N` and names, not `{option}`");
                    return Err(Error::Usage(text));
                }
                name => request.names.push(name.to_owned()),
            }
        }
        Ok(request)
    }

    /// Returns the arguments of the simulation.
    fn words(&self) -> Vec<String> {
        let seeds = self.seeds.map(|seeds| ["--seeds".to_owned(), seeds.to_string()]);
        seeds.into_iter().flatten().chain(self.names.iter().cloned()).collect()
    }
}

fn seeds(word: Option<&String>) -> Result<u64, Error> {
    let found = word.map_or("nothing".to_owned(), |word| format!("`{word}`"));
    let number = word.and_then(|word| word.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| Error::Usage(format!("`--seeds` takes a number from 1, not {found}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_passed_on_to_the_simulation() {
        let rows = [
            ("", ""),
            ("--seeds 50", "--seeds 50"),
            ("TokenKept --seeds 7 BusyMoved", "--seeds 7 TokenKept BusyMoved"),
        ];
        for (line, expected) in rows {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let request = Request::parse(&arguments).unwrap();
            assert_eq!(request.words().join(" "), expected, "{line}");
        }
    }
}
