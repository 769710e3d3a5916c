//! The checker's word on the history of a run.

use checker::history::Record;
use checker::{History, Options, check};

use super::world::World;

/// Steps are drawn, so that a message may take as long as chance wants: while there is chaos, no bound on times means
/// anything. What must hold after healing is checked at the end of the run.
fn options() -> Options {
    Options { scale: PATIENCE, ..Options::default() }
}

/// The factor on all bounds of the checker.
const PATIENCE: f64 = 100.0;

/// Lets the checker judge the history; gives it back.
pub(crate) fn judge(world: &mut World, records: Vec<Record>) -> Vec<Record> {
    let history = History::from_records(records);
    let report = check(&history, &options());
    if let Some(problem) = report.problems.first() {
        world.fail("harness", problem.clone());
    }
    if let Some(violation) = report.violations.first() {
        world.fail(&violation.property.to_string(), violation.to_string());
    }
    history.records().to_vec()
}
