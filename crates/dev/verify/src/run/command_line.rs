//! Command line of the runner.

use super::cases::Case;
use crate::cluster::RealBackend;

/// Seeds of a nightly run.
const NIGHTLY_SEEDS: std::ops::RangeInclusive<u64> = 1..=10;

/// Backend of the scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// A simulated cluster in virtual time.
    Memory,
    /// Real processes on a real registry.
    Real(RealBackend),
}

/// An invalid command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} is {value}; valid is {valid}")]
pub struct UsageError {
    option: &'static str,
    value: String,
    valid: String,
}

fn refuse(option: &'static str, value: Option<&str>, valid: impl Into<String>) -> UsageError {
    let value = value.map_or_else(|| "missing".to_owned(), |value| format!("`{value}`"));
    UsageError { option, value, valid: valid.into() }
}

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) backend: Backend,
    scenarios: Vec<String>,
    seed: u64,
    nightly: bool,
}

impl CommandLine {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let mut parsed = Self {
            backend: Backend::Real(RealBackend::Zookeeper),
            scenarios: Vec::new(),
            seed: 1,
            nightly: false,
        };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--backend" => parsed.backend = backend(words.next())?,
                "--scenario" => parsed.add_scenario(words.next())?,
                "--seed" => parsed.seed = seed(words.next())?,
                "--nightly" => parsed.nightly = true,
                other => {
                    let valid = "--backend, --scenario, --seed or --nightly";
                    return Err(refuse("an option", Some(other), valid));
                }
            }
        }
        Ok(parsed)
    }

    fn add_scenario(&mut self, value: Option<&str>) -> Result<(), UsageError> {
        let id = scenario(value)?;
        if self.scenarios.contains(&id) {
            return Err(refuse("--scenario", value, "each of them once"));
        }
        self.scenarios.push(id);
        Ok(())
    }

    /// Returns the selected cases with their seeds: the named ones, else all at night, else the
    /// quick ones.
    pub(super) fn selection(&self) -> Result<Vec<(Case, u64)>, UsageError> {
        let cases = self.cases()?;
        let seeds: Vec<u64> = if self.nightly { NIGHTLY_SEEDS.collect() } else { vec![self.seed] };
        let each = |seed: &u64| cases.iter().map(|case| (*case, *seed)).collect::<Vec<_>>();
        Ok(seeds.iter().flat_map(each).collect())
    }

    fn cases(&self) -> Result<Vec<Case>, UsageError> {
        if self.scenarios.is_empty() {
            let exist = Case::all().filter(|case| case.absence_on(self.backend).is_none());
            return Ok(exist.filter(|case| self.nightly || case.is_quick()).collect());
        }
        self.scenarios.iter().map(|id| self.existing(id)).collect()
    }

    fn existing(&self, id: &str) -> Result<Case, UsageError> {
        let case = find(id)?;
        match case.absence_on(self.backend) {
            None => Ok(case),
            Some(reason) => {
                let valid = format!("a scenario that exists on this backend: {reason}");
                Err(refuse("--scenario", Some(id), valid))
            }
        }
    }
}

fn backend(value: Option<&str>) -> Result<Backend, UsageError> {
    match value {
        Some("memory") => Ok(Backend::Memory),
        Some("sqlite") => Ok(Backend::Real(RealBackend::Sqlite)),
        Some("postgres") => Ok(Backend::Real(RealBackend::Postgres)),
        Some("etcd") => Ok(Backend::Real(RealBackend::Etcd)),
        Some("zk") => Ok(Backend::Real(RealBackend::Zookeeper)),
        other => Err(refuse("--backend", other, "memory, sqlite, postgres, etcd or zk")),
    }
}

fn scenario(value: Option<&str>) -> Result<String, UsageError> {
    let value = value.ok_or_else(|| refuse("--scenario", None, known()))?;
    find(value).map(|case| case.id().to_owned())
}

fn find(id: &str) -> Result<Case, UsageError> {
    let found = Case::all().find(|case| case.id().eq_ignore_ascii_case(id));
    found.ok_or_else(|| refuse("--scenario", Some(id), known()))
}

fn known() -> String {
    Case::all().map(Case::id).collect::<Vec<_>>().join(", ")
}

fn seed(value: Option<&str>) -> Result<u64, UsageError> {
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| refuse("--seed", value, "a number from 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        CommandLine::parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn invalid_command_line_names_the_valid_values() {
        let rows = [
            ("--backend x", "--backend is `x`; valid is memory, sqlite, postgres, etcd or zk"),
            ("--backend", "--backend is missing; valid is memory, sqlite, postgres, etcd or zk"),
            ("--seed x", "--seed is `x`; valid is a number from 0"),
            ("--scenario X9", "--scenario is `X9`; valid is S00, F01, F02"),
            ("--scenario F05 --scenario f05", "--scenario is `f05`; valid is each of them once"),
            ("--fast", "an option is `--fast`; valid is --backend"),
        ];
        for (line, expected) in rows {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(expected), "{line}: {error}");
        }
    }

    #[test]
    fn night_has_more_seeds_than_day() {
        let count = |line: &str| parse(line).unwrap().selection().unwrap().len();
        let quick = Case::all().filter(|case| case.is_quick()).count();
        assert_eq!(count(""), quick);
        assert_eq!(count("--scenario s00 --seed 4"), 1);
        assert_eq!(count("--nightly"), Case::all().count() * 10);
    }

    #[test]
    fn scenario_of_servers_is_rejected_on_a_file() {
        let selected = |line: &str| parse(line).unwrap().selection();
        assert!(selected("--scenario F08").is_ok());
        let error = selected("--backend sqlite --scenario F08").unwrap_err().to_string();
        let expected = "--scenario is `F08`; valid is a scenario that exists on this backend: it \
                        needs a network between workers and registry";
        assert_eq!(error, expected);
        assert!(selected("--backend sqlite").unwrap().iter().all(|(case, _)| case.id() != "F08"));
    }
}
