//! The checker's judgement of the history of a run.

use checker::history::Record;
use checker::{History, Options, check};

use super::world::World;

/// Returns the checker's options. Steps are drawn at random, so during the chaos a message can take
/// any time and bounds have no meaning. The state after healing is checked separately at the end of
/// the run.
fn options() -> Options {
    Options { scale: PATIENCE, ..Options::default() }
}

/// Factor on all time bounds of the checker.
const PATIENCE: f64 = 100.0;

/// Lets the checker judge the history, and returns the history.
pub(crate) fn judge(world: &mut World, records: Vec<Record>) -> Vec<Record> {
    let history = History::from_records(records);
    let report = check(&history, &options());
    if let Some(problem) = report.problems.first() {
        world.fail("harness", problem.clone());
    }
    if let Some(violation) = report.violations.into_iter().next() {
        let (property, text) = (violation.property.to_string(), violation.to_string());
        world.fail_with(&property, text, violation.window);
    }
    history.records().to_vec()
}

#[cfg(test)]
mod tests {
    use checker::history::{ExecEvent, Fact};

    use super::*;
    use crate::sim::{Judge, Keep, Profile, Script, run_calm};

    #[test]
    fn violation_contains_its_records() {
        let keep = Keep { history: true, trace: false };
        let mut records = run_calm(1, 3, Judge::Online, keep).records;
        let mut started = None;
        for record in &mut records {
            if let Fact::Exec { ev: ExecEvent::Start, cfg, .. } = &mut record.fact {
                started = Some(cfg);
            }
        }
        *started.expect("the calm run starts an item") += 1;
        let mut world = World::new(Script::with(1, Profile::calm(1)), keep);
        judge(&mut world, records);
        let violation =
            world.violation.expect("the checker must report the wrong configuration version");
        assert_eq!(violation.property, "S1");
        assert!(violation.window.iter().any(|line| line.contains("start")), "{violation:?}");
    }
}
