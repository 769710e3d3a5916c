//! `cargo xtask nightly`: checks that take too long for each test run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::backend::Backend;
use crate::steps::{Steps, cargo, run};
use crate::{Error, chaos, etcd, mutants, package, semver, sim, verify};

/// Difference between the first seeds of two consecutive nights.
const SEEDS_OF_A_NIGHT: u64 = 1_000_000;
const PURE_SEEDS: u64 = 200_000;
/// Number of seeds of the pure simulation whose jobs combine features.
const FEATURE_SEEDS: u64 = 100_000;
const SYSTEM_SEEDS: u64 = 1_000;
/// Number of seeds of the system simulation whose jobs combine features.
const SYSTEM_FEATURE_SEEDS: u64 = 500;
/// Number of seeds of the console's pages.
const PAGE_SEEDS: u64 = 500;
const DAY: Duration = Duration::from_hours(24);

/// Arguments of cargo for the parts of the exhaustive model that `cargo xtask test` omits.
const MODEL: &str = "test --profile sim -p model --lib -- --exact --include-ignored --nocapture \
                     --test-threads 1 exhaustive::tests::exhaustive_beginning \
                     exhaustive::tests::exhaustive_nightly \
                     exhaustive::tests::exhaustive_two_fires \
                     exhaustive::tests::exhaustive_three_by_three \
                     exhaustive::tests::each_of_many_walks_comes_to_rest_and_agrees_with_the_registry";

/// Arguments of cargo for the seeds of the console's pages.
const PAGES: &str = "test -p job-console --all-features --test it -- --exact pages::equality::\
                     open_pages_equal_a_fresh_read_after_random_operations_and_faults";

/// Runs all steps, even after failures. Fails if one of them failed.
pub(crate) fn run_all(arguments: &[String]) -> Result<(), Error> {
    let first = first_seed(arguments, SystemTime::now())?;
    let [pure, features, system, system_features] = simulations(first)?;
    println!("the same seeds again: cargo xtask nightly --first-seed {first}");
    let mut steps = Steps::begin();
    steps.attempt("pure simulation", || run(&mut cargo(&pure)));
    steps.attempt("pure simulation of combined features", || run(&mut cargo(&features)));
    steps.attempt("system simulation", || run(&mut cargo(&system)));
    steps.attempt("system simulation of combined features", || run(&mut cargo(&system_features)));
    steps.attempt("exhaustive model", || run(&mut cargo(MODEL)));
    steps.attempt("mutants", || mutants::hunt(&[]));
    for backend in Backend::ALL.map(Backend::name) {
        let every_scenario = ["--nightly", "--backend", backend].map(str::to_owned);
        steps
            .attempt(&format!("scenarios on {backend}"), || verify::run_scenarios(&every_scenario));
    }
    steps.attempt("harness of the scenarios on servers", verify::test_harness);
    let seed = ["--seed".to_owned(), first.to_string()];
    steps.attempt("random faults on real workers", || chaos::run_faults(&seed));
    let mut pages = cargo(PAGES);
    pages.env("EJOB_TEST_SEEDS", PAGE_SEEDS.to_string());
    pages.env("EJOB_TEST_FIRST_SEED", first.to_string());
    steps.attempt("pages of the console", || run(&mut pages));
    steps.attempt("packages", package::check);
    steps.attempt("compatibility of the API", semver::check);
    steps.attempt("newer etcd servers", || etcd::test_versions(&[]));
    steps.end("cargo xtask nightly")
}

/// Returns the requested first seed, or that of the day on which the night begins.
fn first_seed(arguments: &[String], now: SystemTime) -> Result<u64, Error> {
    match arguments {
        [] => {
            let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
            Ok(since.as_secs() / DAY.as_secs() * SEEDS_OF_A_NIGHT)
        }
        [option, value @ ..] if option == "--first-seed" && value.len() < 2 => {
            sim::number(option, value.first())
        }
        [option, ..] if option != "--first-seed" => Err(surplus(option)),
        [.., last] => Err(surplus(last)),
    }
}

fn surplus(word: &str) -> Error {
    Error::Usage(format!("`nightly` takes `--first-seed S` only, not `{word}`"))
}

/// Returns the arguments of cargo for the seeds from `first` on, of the pure and the system
/// simulation, each without and with combined features.
fn simulations(first: u64) -> Result<[String; 4], Error> {
    let pure = sim::line(&format!("--seeds {PURE_SEEDS} --first-seed {first}"))?;
    let features = sim::line(&format!("--features --seeds {FEATURE_SEEDS} --first-seed {first}"))?;
    let system = sim::line(&format!("--system --seeds {SYSTEM_SEEDS} --first-seed {first}"))?;
    let of_system = format!("--system --features --seeds {SYSTEM_FEATURE_SEEDS}");
    let system_features = sim::line(&format!("{of_system} --first-seed {first}"))?;
    Ok([pure, features, system, system_features])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{test, workspace};

    fn first_seed_at(line: &str, seconds: u64) -> Result<u64, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let now = UNIX_EPOCH + Duration::from_secs(seconds);
        first_seed(&arguments, now).map_err(|error| error.to_string())
    }

    #[test]
    fn first_seed_is_that_of_the_day_or_the_requested_one() {
        let rows = [
            ("", 0, 0),
            ("", 86_399, 0),
            ("", 86_400, 1_000_000),
            ("", 20_661 * 86_400 + 3_600, 20_661_000_000),
            ("--first-seed 7", 86_400, 7),
        ];
        for (line, seconds, expected) in rows {
            assert_eq!(first_seed_at(line, seconds), Ok(expected), "`{line}` at {seconds} s");
        }
    }

    #[test]
    fn invalid_command_line_is_rejected_with_the_wrong_argument() {
        let rows = [
            ("--first-seed", "`--first-seed` takes a whole number, not nothing"),
            ("--first-seed x", "`--first-seed` takes a whole number, not `x`"),
            ("--first-seed 1 --fast", "only, not `--fast`"),
            ("--first-seed 1 2 3", "only, not `3`"),
            ("--seed 1", "only, not `--seed`"),
        ];
        for (line, expected) in rows {
            let error = first_seed_at(line, 0).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn all_simulations_begin_with_the_same_seed_and_nights_do_not_overlap() {
        let [pure, features, system, system_features] = simulations(5).unwrap();
        assert!(pure.ends_with("--bin ejob-sim -- run --seeds 200000 --first-seed 5"), "{pure}");
        let expected = "--bin ejob-sim -- run --seeds 100000 --first-seed 5 --features";
        assert!(features.ends_with(expected), "{features}");
        assert!(system.ends_with("--example chaos -- 5 1000"), "{system}");
        let expected = "--example chaos -- 5 500 --features";
        assert!(system_features.ends_with(expected), "{system_features}");
        const { assert!(PURE_SEEDS <= SEEDS_OF_A_NIGHT && SYSTEM_SEEDS <= SEEDS_OF_A_NIGHT) };
        assert!(simulations(u64::MAX).is_err());
    }

    /// Returns the tests in a source, each with a flag that an ordinary test run ignores it.
    fn tests_in(source: &str) -> Vec<(&str, bool)> {
        let mut found = Vec::new();
        for block in source.split("#[test]").skip(1) {
            let (attributes, rest) = block.split_once("fn ").unwrap();
            let name = rest.split('(').next().unwrap();
            found.push((name, attributes.contains("ignore = ")));
        }
        found
    }

    #[test]
    fn seeds_of_the_pages_are_those_of_a_test() {
        let file = workspace().join("crates/job-console/tests/pages/equality.rs");
        let source = fs::read_to_string(file).unwrap();
        let name = PAGES.rsplit("::").next().unwrap();
        assert!(source.contains(&format!("async fn {name}()")), "there is no test {name}");
    }

    /// Compares the names, because a test run with a filter that matches no test succeeds.
    #[test]
    fn each_ignored_test_of_the_model_is_run_by_test_or_nightly() {
        let file = workspace().join("crates/dev/model/src/exhaustive/tests.rs");
        let source = fs::read_to_string(file).unwrap();
        let tests = tests_in(&source);
        let words = test::MODEL.into_iter().chain(MODEL.split_whitespace());
        let named: Vec<&str> =
            words.filter_map(|word| word.strip_prefix("exhaustive::tests::")).collect();
        for (name, is_ignored) in &tests {
            assert!(
                !is_ignored || named.contains(name),
                "neither `test` nor `nightly` runs {name}"
            );
        }
        for name in named {
            assert!(tests.iter().any(|(test, _)| *test == name), "the model has no test {name}");
        }
    }
}
