//! Plays one script, from the first step to the verdict.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use std::time::Duration;

use checker::history::{Fact, Record};
use coordination::FireTime;

use super::coverage::Coverage;
use super::profile::Profile;
use super::record::{Keep, Writer};
use super::script::Script;
use super::world::{EPOCH_MS, Violation, World};

/// Judges of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judge {
    /// The checks after every write, and of the final state.
    #[default]
    Online,
    /// These checks, and the checker, which reads the history of the run.
    Full,
}

impl Judge {
    /// Returns the output that must be kept for this judge.
    pub(crate) fn keeps(self, keep: Keep) -> Keep {
        Keep { history: keep.history || self == Self::Full, ..keep }
    }
}

/// Result of a run.
#[derive(Debug)]
pub struct Report {
    /// Digest of the run; the same script gives the same digest.
    pub digest: u64,
    /// Number of steps.
    pub steps: u64,
    /// Virtual time of the run, in milliseconds.
    pub elapsed_ms: i64,
    /// Counts of events.
    pub coverage: Coverage,
    /// The first violation, if there is one.
    pub violation: Option<Violation>,
    /// The last events and the registry's state, if they were kept.
    pub trace: String,
    /// The history, if it was kept.
    pub records: Vec<Record>,
}

/// Plays a script.
#[must_use]
pub fn run(script: &Script, judge: Judge, keep: Keep) -> Report {
    let mut world = World::new(script.clone(), judge.keeps(keep));
    conclude(&mut world, judge, |world| {
        while world.has_steps_left() {
            world.step();
        }
        if world.violation.is_none() {
            world.heal();
            world.check_healed();
        }
    })
}

/// Plays a function in a world and collects the result. A panic of the product is a violation.
pub(crate) fn conclude(world: &mut World, judge: Judge, play: impl FnOnce(&mut World)) -> Report {
    let outcome = catch_unwind(AssertUnwindSafe(|| play(world)));
    if let Err(panic) = outcome {
        world.fail("panic", panic_text(&*panic));
    }
    world.record_outside(Writer::Nemesis, Fact::End);
    let mut records = world.recorder.take_records();
    if judge == Judge::Full && world.violation.is_none() {
        records = super::judge::judge(world, records);
    }
    Report {
        digest: world.recorder.digest(),
        steps: u64::from(world.step),
        elapsed_ms: world.elapsed_ms(),
        coverage: std::mem::take(&mut world.coverage),
        violation: world.violation.take(),
        trace: world.trace(),
        records,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic value without text".to_owned())
}

/// Second of the last fire in [`run_ended`].
const ENDS_S: u32 = 6;

/// Plays a seed whose schedule ends: all processes are down when the last fire comes, and start
/// within the window of the catch-up. Every item must then run for it once.
///
/// Later restarts of a process must not run it again.
#[must_use]
pub fn run_ended(seed: u64, judge: Judge, keep: Keep) -> Report {
    let mut profile = Profile::calm(seed);
    let job = &mut profile.job;
    (job.monitor, job.misfire, job.catch_up, job.ends_s) = (true, true, true, ENDS_S);
    (job.static_sharding, job.disabled, profile.midnight_s) = (false, false, 0);
    let script = Script::with(seed, profile);
    let mut world = World::new(script, judge.keeps(keep));
    conclude(&mut world, judge, |world| {
        world.run_until_quiet();
        world.fire_all();
        let last = FireTime(EPOCH_MS + 1_000 * i64::from(ENDS_S));
        let until_last = last.0 - world.true_wall();
        let until_last = Duration::from_millis(u64::try_from(until_last).unwrap_or(0));
        for index in 0..world.nodes.len() {
            let later = Duration::from_millis(world.dice.pick(&[0, 200, 1_500, 4_000]));
            world.crash(index, until_last + later);
        }
        world.advance(until_last);
        for index in 0..world.nodes.len() {
            world.run_until_quiet();
            world.check_all_ran(last);
            world.crash(index, Duration::from_millis(500));
        }
        world.run_until_quiet();
        world.check_all_ran(last);
    })
}

/// Plays a seed without faults: some fires, each followed by all of its effects. Every fire of
/// every item must run exactly once, and no fire may be missed.
#[must_use]
pub fn run_calm(seed: u64, fires: u32, judge: Judge, keep: Keep) -> Report {
    let script = Script::with(seed, Profile::calm(seed));
    let mut world = World::new(script, judge.keeps(keep));
    conclude(&mut world, judge, |world| {
        world.run_until_quiet();
        for _ in 0..fires {
            let fire = world.fire_all();
            world.check_all_ran(fire);
        }
        world.check_healed();
        if world.coverage.of("missed") > 0 {
            world.fail("L0", "a fire was missed in a run without faults");
        }
    })
}
