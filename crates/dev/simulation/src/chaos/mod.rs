//! Seeded chaos: a run is drawn from a seed, played, judged, and made smaller if it fails.

mod draw;
mod outcome;
mod plan;
mod play;
mod shrink;

pub use outcome::{Outcome, digest};
pub use plan::{CatchUpPlan, ChaosPlan, JobPlan};
pub use shrink::shrink;

use std::time::Duration;

use checker::history::{Fact, Record};
use checker::{History, Options, check};

/// Draws a run of chaos from a seed, plays and judges it.
///
/// The same seed gives the same history, in every process and on every thread.
///
/// # Panics
/// Inside of an asynchronous runtime: it has one of its own.
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

/// Plays and judges a run of chaos.
///
/// # Panics
/// Inside of an asynchronous runtime: it has one of its own.
#[must_use]
pub fn replay(plan: &ChaosPlan) -> Outcome {
    let history = History::from_records(play_all(plan));
    let report = check(&history, &patience(plan));
    Outcome { plan: plan.clone(), report, history }
}

/// Returns how strictly times are judged: a slow network is no excuse for more than it costs.
fn patience(plan: &ChaosPlan) -> Options {
    let options = Options::default();
    let network = Duration::from_millis(plan.weather.worst_reaction());
    let (epsilon, settle) = (options.epsilon + network, options.settle + 2 * network);
    Options { epsilon, settle, ..options }
}

/// Plays a run of chaos and returns what happened. A plan that cannot be played is a failure of the harness.
fn play_all(plan: &ChaosPlan) -> Vec<Record> {
    match testkit::run(play::play(plan)) {
        Ok(records) => records,
        Err(error) => vec![harness_failure("playing the plan", &error.to_string())],
    }
}

/// Returns a history's only record, if there could be no history.
fn harness_failure(at: &str, error: &str) -> Record {
    let fact = Fact::HarnessFailure { at: at.to_owned(), error: error.to_owned() };
    Record { p: "nemesis".to_owned(), inc: 0, seq: 0, mt: 0, wt: 0, fact }
}
