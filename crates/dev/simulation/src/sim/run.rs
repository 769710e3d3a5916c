//! Running one script, from the first step to the verdict.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use checker::history::{Fact, Record};

use super::coverage::Coverage;
use super::profile::Profile;
use super::record::{Keep, Writer};
use super::script::Script;
use super::world::{Violation, World};

/// Who judges a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judge {
    /// The checks after every write and of the healed state.
    #[default]
    Online,
    /// These, and the checker, which reads the history of the run.
    Full,
}

impl Judge {
    /// Returns what must be kept for this judge, besides what is wanted anyway.
    pub(crate) fn keeps(self, keep: Keep) -> Keep {
        Keep { history: keep.history || self == Self::Full, ..keep }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    /// The same script, the same digest.
    pub digest: u64,
    /// How many steps it had.
    pub steps: u64,
    /// Virtual time that passed, in milliseconds.
    pub elapsed_ms: i64,
    /// What happened.
    pub coverage: Coverage,
    /// What does not hold, if anything.
    pub violation: Option<Violation>,
    /// The last events and the truth, if they were kept.
    pub story: String,
    /// The history, if it was kept.
    pub records: Vec<Record>,
}

/// Runs a script.
#[must_use]
pub fn run(script: &Script, judge: Judge, keep: Keep) -> Report {
    let mut world = World::new(script.clone(), judge.keeps(keep));
    conclude(&mut world, judge, |world| {
        while world.goes_on() {
            world.step();
        }
        if world.violation.is_none() {
            world.heal();
            world.check_healed();
        }
    })
}

/// Runs a story in a world and gathers what came of it. A panic of the product is a violation.
pub(crate) fn conclude(world: &mut World, judge: Judge, story: impl FnOnce(&mut World)) -> Report {
    let outcome = catch_unwind(AssertUnwindSafe(|| story(world)));
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
        story: world.story(),
        records,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned())
}

/// Runs a seed in which nothing goes wrong: some fires, each followed by everything that comes of it. Every fire of
/// every item must run exactly once, and nothing may be reported as missed.
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
            world.fail("L0", "something was missed although nothing went wrong");
        }
    })
}
