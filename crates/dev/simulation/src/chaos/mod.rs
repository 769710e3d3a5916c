//! Seeded chaos: a plan is drawn from a seed, played, judged, and shrunk if it fails.

mod draw;
mod outcome;
mod plan;
mod play;
mod shrink;

pub use outcome::{Outcome, digest};
pub use plan::{CatchUpPlan, ChaosPlan, GroupPlan, JobPlan};
pub use shrink::shrink;

use std::time::Duration;

use checker::history::{Fact, Record};
use checker::{History, Options, check};

/// Draws a plan from a seed, plays it and judges the history.
///
/// The same seed gives the same history, in every process and on every thread.
///
/// # Panics
/// Inside of an asynchronous runtime: the function starts its own.
///
/// # Examples
/// ```
/// let outcome = simulation::chaos::run_seed(1);
/// println!("{outcome}");
/// ```
#[must_use]
pub fn run_seed(seed: u64) -> Outcome {
    replay(&ChaosPlan::draw(seed))
}

/// Plays a plan and judges the history.
///
/// # Panics
/// Inside of an asynchronous runtime: the function starts its own.
#[must_use]
pub fn replay(plan: &ChaosPlan) -> Outcome {
    let history = History::from_records(play_all(plan));
    let report = check(&history, &check_options(plan));
    Outcome { plan: plan.clone(), report, history }
}

/// Returns the checker's options. Bounds on times are extended by the delays of the plan's network.
fn check_options(plan: &ChaosPlan) -> Options {
    let options = Options::default();
    let network = Duration::from_millis(plan.weather.worst_reaction());
    let (epsilon, settle) = (options.epsilon + network, options.settle + 2 * network);
    Options { epsilon, settle, ..options }
}

/// Plays a plan and returns the history. A plan that cannot be played is recorded as a failure of
/// the harness.
fn play_all(plan: &ChaosPlan) -> Vec<Record> {
    match testkit::run(play::play(plan)) {
        Ok(records) => records,
        Err(error) => vec![harness_failure("playing the plan", &error.to_string())],
    }
}

/// Returns the only record of a run without a history.
fn harness_failure(at: &str, error: &str) -> Record {
    let fact = Fact::HarnessFailure { at: at.to_owned(), error: error.to_owned() };
    Record { p: "nemesis".to_owned(), inc: 0, seq: 0, mt: 0, wt: 0, fact }
}
