//! Profiles: what kind of run a seed is. Each draws its own, so that no mix of settings is the only one ever tried.

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::dice::{Dice, Stream};

/// The version of the meaning of seeds: a seed gives the same run only under the same version. What requests tell, delays of fires,
/// days without them and ends that come together came later, by chance of their own ([`Stream::Extras`]): the seeds that have none of it are what they were.
pub const PROFILE_VERSION: u32 = 1;

/// The settings of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// How many processes there are, 1 to 26.
    pub nodes: u8,
    /// How many steps before everything heals.
    pub steps: u32,
    /// The job at the beginning.
    pub job: JobSettings,
    /// How the network and the scheduler behave.
    pub pace: Pace,
    /// What the job's code does.
    pub work: WorkSettings,
    /// After what time without contact the registry ends a session, in milliseconds.
    pub session_ms: u32,
    /// One fault in so many steps; 0 is none.
    pub fault_every: u32,
    /// How likely each kind of fault is, in the order of [`FAULTS`](super::script::FAULTS).
    pub fault_mix: Vec<u8>,
    /// One act of an operator in so many steps; 0 is none.
    pub operator_every: u32,
    /// How likely each kind of act is, in the order of [`OPERATORS`](super::script::OPERATORS).
    pub operator_mix: Vec<u8>,
    /// Requests tell their runs something, most of them.
    #[serde(default)]
    pub told: bool,
    /// How many seconds after the beginning another day begins where the job is, 1 to 60; 0 is much later.
    #[serde(default)]
    pub midnight_s: u8,
}

/// What a configuration says, as far as runs vary it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSettings {
    /// How many items.
    pub items: u32,
    /// The name of the strategy; empty is the default one.
    pub strategy: String,
    /// Whether unfinished runs are taken over.
    pub failover: bool,
    /// Whether misfires are made up for.
    pub misfire: bool,
    /// Whether runs are claimed.
    pub monitor: bool,
    /// The period of the schedule in seconds: a divisor of 60.
    pub period: u32,
    /// Whether instances come up with their server disabled.
    pub disabled: bool,
    /// The interval of reconciling, in minutes.
    pub reconcile_minutes: u32,
    /// Whether fires that nobody ran in their time are each run afterwards.
    pub catch_up: bool,
    /// Whether items stay with their instances.
    pub static_sharding: bool,
    /// Whether instances have names that outlive their processes.
    pub named: bool,
    /// Whether once-per-cluster callbacks are called.
    pub once: bool,
    /// How many operations the registry takes in one transaction.
    pub max_ops: usize,
    /// What the delays of fires are less than, in milliseconds; 0 is none.
    #[serde(default)]
    pub jitter_ms: u32,
    /// The days without fires, one of [`FIRST_DAY`] or [`SECOND_DAY`]; empty is none.
    #[serde(default)]
    pub excluded_days: String,
    /// Whether instances follow no more items than they need to, however few there are.
    #[serde(default)]
    pub narrow: bool,
}

/// Three ways to leave out the day on which a run begins that has a midnight in it.
pub const FIRST_DAY: [&str; 3] = ["TUE", "11-14", "2023-11-10..2023-11-14"];
/// Three ways to leave out the day after that.
pub const SECOND_DAY: [&str; 3] = ["sat .. sun, wed", "11-15..11-15", "2023-11-15"];

/// How fast things happen, compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// The weights of [`ACTIVITIES`](super::world::ACTIVITIES), in their order.
    pub weights: Vec<u8>,
    /// By how much time advances at once, in milliseconds.
    pub quantum_ms: u32,
    /// How many changes a node takes at once, at most.
    pub batch: u8,
    /// How many changes in a hundred overtake others.
    pub reorder: u8,
    /// How many places a change overtakes at most.
    pub window: u8,
    /// How many changes in a hundred replace an older one of the same node that nobody has seen.
    pub coalesce: u8,
    /// Events only name what to read; the state is read later, as on ZooKeeper. Else they carry it.
    pub reread: bool,
    /// Snapshots are read level by level while writes go on. Else at one revision.
    pub torn: bool,
    /// How many commits in a hundred overtake others of the same process.
    pub overtake: u8,
    /// Replies tell the revision only if the transaction puts something, as those of ZooKeeper 3.8 do.
    pub blind: bool,
}

/// What the code of items does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSettings {
    /// The shortest and the longest usual run, in milliseconds.
    pub usual_ms: (u32, u32),
    /// How many runs in a hundred are slow.
    pub slow: u8,
    /// How long a slow run takes, in milliseconds.
    pub slow_ms: u32,
    /// How many runs in a hundred fail, panic, or hang until they are cancelled.
    pub fail: u8,
    /// See `fail`.
    pub panic: u8,
    /// See `fail`.
    pub hang: u8,
    /// All runs of a process that are over end together.
    #[serde(default)]
    pub together: bool,
}

/// Strategies by name: all that the product has.
pub const STRATEGIES: [&str; 5] =
    ["", "ODEVITY", "ROUND_ROBIN", "SINGLE_SHARDING_BALANCE", "MINIMAL_MOVEMENT"];

impl Profile {
    /// Draws the settings of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::at(seed, Stream::Profile, 0);
        let dice = &mut dice;
        let mut profile = Self {
            nodes: small(dice.between(2, 5)),
            steps: 2_500,
            job: JobSettings::draw(dice),
            pace: Pace::draw(dice),
            work: WorkSettings::draw(dice),
            session_ms: dice.pick(&[400, 800, 1_500, 3_000]),
            fault_every: dice.pick(&[0, 40, 60, 60, 100, 200]),
            fault_mix: mix(dice, super::script::FAULTS.len()),
            operator_every: dice.pick(&[0, 80, 120, 120, 250, 500]),
            operator_mix: mix(dice, super::script::OPERATORS.len()),
            told: false,
            midnight_s: 0,
        };
        profile.draw_extras(&mut Dice::at(seed, Stream::Extras, 0));
        profile
    }

    /// A third of the seeds has requests that tell something, a sixth fires that begin later, a sixth days without fires, a third
    /// runs that end together, a half instances that follow their own items only.
    fn draw_extras(&mut self, dice: &mut Dice) {
        self.told = dice.one_in(3);
        if dice.one_in(6) {
            self.job.jitter_ms = draw_jitter(dice);
        }
        if dice.one_in(6) {
            self.midnight_s = small(dice.between(2, 15));
            self.job.excluded_days = draw_days(dice);
        }
        self.work.together = dice.one_in(3);
        self.job.narrow = dice.one_in(2);
    }

    /// Returns true if the times of fires are others than those of the expression.
    pub(crate) fn has_odd_times(&self) -> bool {
        self.job.jitter_ms > 0 || self.midnight_s > 0
    }

    /// Draws another delay of fires, or other days without them.
    pub(crate) fn draw_odd_times(&self, dice: &mut Dice) -> Change {
        if self.midnight_s > 0 && dice.one_in(2) {
            let days = if dice.one_in(3) { String::new() } else { draw_days(dice) };
            Change::ExcludedDays(days)
        } else {
            Change::Jitter(if dice.one_in(3) { 0 } else { draw_jitter(dice) })
        }
    }

    /// Returns a profile in which nothing goes wrong and every run is short.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        let mut profile = Self::draw(seed);
        profile.fault_every = 0;
        profile.operator_every = 0;
        profile.work = WorkSettings { slow: 0, hang: 0, usual_ms: (0, 200), ..profile.work };
        (profile.job.jitter_ms, profile.job.excluded_days) = (0, String::new());
        profile
    }
}

/// Some are longer than the time up to the next fire.
fn draw_jitter(dice: &mut Dice) -> u32 {
    dice.pick(&[1, 60, 400, 950, 1_700])
}

fn draw_days(dice: &mut Dice) -> String {
    let days = dice.pick(&[FIRST_DAY, SECOND_DAY]);
    dice.pick(&days).to_owned()
}

fn small(number: u64) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

fn medium(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A third of the kinds is left out, so that what remains meets nothing but itself more often.
fn mix(dice: &mut Dice, kinds: usize) -> Vec<u8> {
    (0..kinds).map(|_| if dice.one_in(3) { 0 } else { small(dice.between(1, 9)) }).collect()
}

impl JobSettings {
    fn draw(dice: &mut Dice) -> Self {
        let monitor = !dice.one_in(12);
        Self {
            items: medium(dice.between(1, 12)),
            strategy: dice.pick(&STRATEGIES).to_owned(),
            failover: monitor && !dice.one_in(4),
            misfire: !dice.one_in(4),
            monitor,
            period: dice.pick(&[1, 1, 1, 2]),
            disabled: false,
            reconcile_minutes: dice.pick(&[0, 1, 10]),
            catch_up: monitor && dice.one_in(4),
            static_sharding: dice.one_in(8),
            named: dice.one_in(2),
            once: dice.one_in(3),
            max_ops: dice.pick(&[5_000, 5_000, 60]),
            jitter_ms: 0,
            excluded_days: String::new(),
            narrow: false,
        }
    }
}

impl Pace {
    fn draw(dice: &mut Dice) -> Self {
        let weight = |dice: &mut Dice, low, high| small(dice.between(low, high));
        Self {
            weights: vec![
                weight(dice, 2, 8),
                weight(dice, 1, 4),
                weight(dice, 1, 4),
                weight(dice, 1, 3),
                weight(dice, 1, 2),
                weight(dice, 1, 3),
                weight(dice, 1, 4),
            ],
            quantum_ms: medium(dice.between(10, 60)),
            batch: dice.pick(&[1, 4, 4, 64]),
            reorder: dice.pick(&[0, 10, 33]),
            window: dice.pick(&[2, 8, 30]),
            coalesce: dice.pick(&[0, 50, 100]),
            reread: dice.one_in(2),
            torn: dice.one_in(2),
            overtake: dice.pick(&[0, 0, 20]),
            blind: dice.one_in(2),
        }
    }
}

impl WorkSettings {
    fn draw(dice: &mut Dice) -> Self {
        Self {
            usual_ms: dice.pick(&[(0, 50), (50, 400), (300, 1_200)]),
            slow: dice.pick(&[0, 5, 30]),
            slow_ms: dice.pick(&[1_500, 4_000, 10_000]),
            fail: dice.pick(&[0, 10]),
            panic: dice.pick(&[0, 3]),
            hang: dice.pick(&[0, 0, 2]),
            together: false,
        }
    }
}
