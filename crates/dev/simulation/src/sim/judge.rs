//! The checker's judgement of the history of a run.

use checker::history::Record;
use checker::{History, Options, check};

use super::profile::Profile;
use super::world::World;

/// Returns the checker's options for a run of a profile.
///
/// Steps are drawn at random, so during the chaos a message can take any time and bounds have no
/// meaning. The state after healing is checked separately at the end of the run.
fn options(profile: &Profile) -> Options {
    Options { scale: PATIENCE * f64::from(profile.slow_motion()), ..Options::default() }
}

/// Factor on all time bounds of the checker.
const PATIENCE: f64 = 100.0;

/// Lets the checker judge the history, and returns the history.
pub(crate) fn judge(world: &mut World, records: Vec<Record>) -> Vec<Record> {
    let history = History::from_records(records);
    let report = check(&history, &options(&world.script.profile));
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
    use checker::Property;
    use checker::history::{ExecEvent, Fact, RegOp};

    use super::*;
    use crate::sim::{Judge, Keep, Report, Script, run, run_calm};

    /// The servers of a run expire, and the altered log says that the configuration keeps them.
    #[test]
    fn log_of_expiry_against_the_configuration_is_refused() {
        let keep = Keep { history: true, trace: false };
        let mut runs = (0..).map(|seed| {
            let mut profile = Profile::draw(seed);
            profile.expire_servers();
            let script = Script::with(seed, profile);
            (run(&script, Judge::Full, keep), script.profile)
        });
        let has_expired = |(report, _): &(Report, Profile)| report.coverage.of("expired") > 0;
        let (report, profile) = runs.find(has_expired).expect("a server expires in some seed");
        assert_eq!(report.violation, None);
        let mut records = report.records;
        for record in &mut records {
            let Fact::Reg { ops, .. } = &mut record.fact else { continue };
            for op in ops {
                if let RegOp::Create { data, .. } | RegOp::Set { data, .. } = op {
                    *data = data.replace("\"serverTtl\":\"1m\"", "\"serverTtl\":\"off\"");
                }
            }
        }
        let report = check(&History::from_records(records), &options(&profile));
        let found = report.violations_of(Property::L7).next().expect("a server must stay");
        assert!(found.message.contains("the configuration keeps it"), "{found}");
    }

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
