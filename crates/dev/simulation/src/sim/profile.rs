//! Profiles: the settings of runs. Each seed draws its own, so that runs cover many mixes of
//! settings.

use serde::{Deserialize, Serialize};

use coordination::MIN_SERVER_TTL_SECONDS;

use super::change::Change;
use super::dice::{Dice, Stream};

/// Version of the meaning of seeds: a seed gives the same run only under the same version.
///
/// Parameters of requests, jitter, excluded days, simultaneous ends and progress were added later.
/// They are drawn from [`Stream::Extras`], so older seeds without them keep their meaning. Limits,
/// overlaps and other features of the job are drawn by [`Profile::with_features`] alone.
pub const PROFILE_VERSION: u32 = 1;

/// Settings of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Number of processes, 1 to 26.
    pub nodes: u8,
    /// Number of steps before everything heals.
    pub steps: u32,
    /// Settings of the job at the beginning.
    pub job: JobSettings,
    /// Behaviour of the network and of the step loop.
    pub pace: Pace,
    /// Behaviour of the job's code.
    pub work: WorkSettings,
    /// Session timeout: time without contact after which the registry ends a session, in
    /// milliseconds.
    pub session_ms: u32,
    /// Average number of steps between two faults; 0 is no faults.
    pub fault_every: u32,
    /// Weight of each kind of fault, in the order of [`FAULTS`](super::script::FAULTS).
    pub fault_mix: Vec<u8>,
    /// Average number of steps between two operator actions; 0 is none.
    pub operator_every: u32,
    /// Weight of each kind of operator action, in the order of
    /// [`OPERATORS`](super::script::OPERATORS).
    pub operator_mix: Vec<u8>,
    /// True if most requests have a parameter.
    #[serde(default, rename = "told")]
    pub parameters: bool,
    /// Seconds from the beginning until midnight in the job's zone, 1 to 60; 0 is no midnight
    /// within the run.
    #[serde(default)]
    pub midnight_s: u8,
    /// Average number of steps between two requests to cancel a run; 0 is none.
    #[serde(default)]
    pub cancel_every: u32,
    /// Average number of steps between two requests for a backfill, or cancellations of one; 0 is
    /// none.
    #[serde(default)]
    pub backfill_every: u32,
    /// True if an older and a later release of this project run beside this one. Each restart of a
    /// process changes its release.
    #[serde(default)]
    pub mixed_releases: bool,
    /// Average number of steps between two changes of the job's limits and overlaps; 0 is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub feature_change_every: u32,
}

/// Settings of the configuration that runs vary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSettings {
    /// Number of items.
    pub items: u32,
    /// Name of the strategy; empty is the default one.
    pub strategy: String,
    /// True if instances take over orphaned runs.
    pub failover: bool,
    /// True if noted misfires are run.
    pub misfire: bool,
    /// True if runs are claimed and recorded.
    pub monitor: bool,
    /// Period of the schedule in seconds: a divisor of 60.
    pub period: u32,
    /// True if instances start with their server disabled.
    pub disabled: bool,
    /// Interval of reconciling, in minutes.
    pub reconcile_minutes: u32,
    /// True if the job catches up on fires that no instance ran in their time.
    pub catch_up: bool,
    /// True if the job has static sharding.
    pub static_sharding: bool,
    /// True if instances have stable names.
    pub named: bool,
    /// True if instances take part in once-per-cluster callbacks.
    pub once: bool,
    /// Maximum number of operations in one transaction.
    pub max_ops: usize,
    /// Exclusive upper bound of the start delay (jitter), in milliseconds; 0 is none.
    #[serde(default)]
    pub jitter_ms: u32,
    /// Excluded days or times, one text of [`FIRST_DAY`] or [`SECOND_DAY`]; empty is none.
    #[serde(default)]
    pub excluded_days: String,
    /// True if instances have narrow watches, whatever the number of items.
    #[serde(default)]
    pub narrow: bool,
    /// True if instances state weights, zones and labels.
    #[serde(default, skip_serializing_if = "is_false")]
    pub placed: bool,
    /// Placement rules, one text of `RULES`; empty is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub placement: String,
    /// Time after which servers without instances expire, in seconds; 0 is the default, which is
    /// longer than any run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub server_ttl_s: u32,
    /// Fixed delay after the end of runs, instead of the period, in seconds; 0 is none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_s: u32,
    /// Seconds from the beginning of a run without a midnight until the last fire; 0 is no end. No
    /// seed draws another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ends_s: u32,
    /// Maximum number of runs at the same time; 0 is no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cluster_concurrency: u32,
    /// Maximum number of runs that begin in a period; 0 is no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub starts: u32,
    /// Maximum number of runs of the job's group at the same time; 0 is no group.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub group: u32,
    /// Maximum number of runs of the job's group that begin in a period; 0 is no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub group_starts: u32,
    /// True if fires cancel the run that they meet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cancel_overlaps: bool,
    /// Maximum number of fires that queue behind a run, unless fires cancel runs; 0 is no queue.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queue: u32,
    /// Maximum number of runs of an item at the same time, unless fires cancel runs or queue; 0 is
    /// one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parallel: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Placement rules of runs. Every third server is in the zone `a`, and every second one has the
/// label `disk=ssd`.
const RULES: [&str; 8] = [
    "",
    "zones even",
    "require disk=ssd",
    "require disk!=ssd # the others",
    "avoid zone=a",
    "prefer disk=ssd; pin 0 zone=b",
    "pin 0..2 server=10.0.0.1; zones even",
    "require zone=a|b; avoid zone=a\npin 1 disk=ssd; pin 3..5 zone=c",
];

/// Forms of the excluded day before the midnight of a run: excluded days, and excluded times.
pub const FIRST_DAY: [&str; 6] = [
    "TUE",
    "11-14",
    "2023-11-10..2023-11-14",
    "TUE 00:00..24:00 # closed",
    "2023-11-14T00:00..2023-11-15T00:00 # freeze",
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Holiday\nDTSTART;VALUE=DATE:20231114\nEND:VEVENT\n\
     END:VCALENDAR",
];
/// Forms of the excluded day after the midnight of a run: excluded days, and excluded times.
pub const SECOND_DAY: [&str; 6] = [
    "sat .. sun, wed",
    "11-15..11-15",
    "2023-11-15",
    "WED 00:00..12:00 # morning; WED 12:00..24:00 # evening",
    "2023-11-15T00:00..2023-11-16T00:00 # freeze",
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20231101T000000\nDURATION:P1D\n\
     RRULE:FREQ=WEEKLY;COUNT=3\nEND:VEVENT\nEND:VCALENDAR",
];

/// Returns true if a form of an excluded day is a text of excluded times.
pub(crate) fn is_times(form: &str) -> bool {
    form.contains(':')
}

/// Relative speed of activities, and the order of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Weights of [`ACTIVITIES`](super::world::ACTIVITIES), in their order.
    pub weights: Vec<u8>,
    /// Advance of time per step, in milliseconds.
    pub quantum_ms: u32,
    /// Maximum number of changes in one batch.
    pub batch: u8,
    /// Percentage of changes that overtake others.
    pub reorder: u8,
    /// Maximum number of places that a change moves forward.
    pub window: u8,
    /// Percentage of changes that replace an undelivered change of the same node.
    pub coalesce: u8,
    /// True if events only name nodes to be read later, as on ZooKeeper. Else they carry the data.
    pub reread: bool,
    /// True if snapshots are read level by level during writes. Else they show one revision.
    pub torn: bool,
    /// Percentage of commits that overtake other commits of the same process.
    pub overtake: u8,
    /// True if replies contain the revision only if the transaction puts data, as in ZooKeeper 3.8.
    pub blind: bool,
}

/// Behaviour of the items' code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSettings {
    /// Minimum and maximum duration of a usual run, in milliseconds.
    pub usual_ms: (u32, u32),
    /// Percentage of slow runs.
    pub slow: u8,
    /// Duration of a slow run, in milliseconds.
    pub slow_ms: u32,
    /// Percentage of runs that fail.
    pub fail: u8,
    /// Percentage of runs that panic.
    pub panic: u8,
    /// Percentage of runs that hang until they are cancelled.
    pub hang: u8,
    /// True if all runs of a process that are due to end do so together.
    #[serde(default)]
    pub together: bool,
    /// True if runs report progress.
    #[serde(default)]
    pub progress: bool,
}

/// Names of all strategies of the product.
pub const STRATEGIES: [&str; 5] =
    ["", "ODEVITY", "ROUND_ROBIN", "SINGLE_SHARDING_BALANCE", "MINIMAL_MOVEMENT"];

impl Profile {
    /// Draws the profile of a seed.
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
            parameters: false,
            midnight_s: 0,
            cancel_every: 0,
            backfill_every: 0,
            mixed_releases: false,
            feature_change_every: 0,
        };
        profile.draw_extras(&mut Dice::at(seed, Stream::Extras, 0));
        profile
    }

    /// Draws the profile of a seed, and in addition a combination of the job's features: an overlap
    /// policy or a fixed delay, limits of the job and of its group, start rates, cancellations, and
    /// servers that expire.
    #[must_use]
    pub fn with_features(seed: u64) -> Self {
        let mut profile = Self::draw(seed);
        profile.draw_features(&mut Dice::at(seed, Stream::Features, 0));
        profile
    }

    /// Draws the features. Each one occurs often enough that pairs of them are usual.
    fn draw_features(&mut self, dice: &mut Dice) {
        match dice.below(10) {
            0 => self.expire_servers(),
            1 => self.delay_fires(medium(dice.between(1, 3))),
            2 => {}
            _ => self.draw_overlap(dice),
        }
        let job = &mut self.job;
        let mut one_of_three =
            |most| if dice.one_in(3) { medium(dice.between(1, most)) } else { 0 };
        (job.cluster_concurrency, job.starts) = (one_of_three(4), one_of_three(5));
        (job.group, job.group_starts) = (one_of_three(4), one_of_three(5));
        if job.has_limits() && !dice.one_in(8) {
            job.monitor = true;
        }
        if dice.one_in(2) {
            self.cancel_every = dice.pick(&[15, 40, 100]);
        }
        self.feature_change_every = dice.pick(&[0, 100, 300]);
    }

    /// Draws an overlap policy, and runs that fires meet.
    fn draw_overlap(&mut self, dice: &mut Dice) {
        let job = &mut self.job;
        match dice.below(4) {
            0 => job.cancel_overlaps = true,
            1 => job.queue = dice.pick(&[1, 2, 3, 8]),
            _ => job.parallel = dice.pick(&[2, 2, 3, 5]),
        }
        if !dice.one_in(8) {
            (job.monitor, job.misfire, job.catch_up) = (true, true, false);
        }
        if !dice.one_in(3) {
            (self.work.slow, self.work.slow_ms) = (60, dice.pick(&[1_500, 2_000, 3_000]));
        }
    }

    /// Replaces the period by a fixed delay after the end of runs, in seconds.
    fn delay_fires(&mut self, seconds: u32) {
        let job = &mut self.job;
        (job.after_s, job.monitor, job.catch_up) = (seconds, true, false);
        (job.jitter_ms, job.excluded_days, self.midnight_s) = (0, String::new(), 0);
    }

    /// Lets servers without instances expire, in slow motion: all times are longer, so that the
    /// shortest time to live is a short one. Servers whose process has crashed expire before it
    /// starts again, or as it does.
    pub fn expire_servers(&mut self) {
        (self.job.server_ttl_s, self.job.period) = (MIN_SERVER_TTL_SECONDS, 60);
        self.pace.quantum_ms *= SLOW_MOTION;
        self.session_ms *= SLOW_MOTION;
        let work = &mut self.work;
        work.usual_ms = (work.usual_ms.0 * SLOW_MOTION, work.usual_ms.1 * SLOW_MOTION);
        work.slow_ms *= SLOW_MOTION;
    }

    /// Returns the factor of the durations of acts.
    pub(crate) fn slow_motion(&self) -> u32 {
        if self.job.server_ttl_s > 0 { SLOW_MOTION } else { 1 }
    }

    /// Draws the newer settings. Parameters and simultaneous ends occur in a third of the seeds,
    /// jitter, excluded days, cancellations, progress and backfills in a sixth, placement in a
    /// fifth, and narrow watches in half of them.
    fn draw_extras(&mut self, dice: &mut Dice) {
        self.parameters = dice.one_in(3);
        if dice.one_in(6) {
            self.job.jitter_ms = draw_jitter(dice);
        }
        if dice.one_in(6) {
            self.midnight_s = small(dice.between(2, 15));
            self.job.excluded_days = draw_days(dice);
        }
        self.work.together = dice.one_in(3);
        self.job.narrow = dice.one_in(2);
        if dice.one_in(6) {
            self.cancel_every = dice.pick(&[15, 40, 100]);
        }
        self.work.progress = dice.one_in(6);
        if dice.one_in(5) {
            self.job.placed = true;
            self.job.placement = dice.pick(&RULES).to_owned();
            (self.job.strategy, self.job.static_sharding) = ("PLACEMENT".to_owned(), false);
        }
        if dice.one_in(6) {
            self.backfill_every = dice.pick(&[30, 80, 200]);
        }
    }

    /// Returns the average number of steps between two requests to cancel a run. An older release
    /// loses the request with every write of the record.
    pub(crate) fn cancels_every(&self) -> u32 {
        if self.mixed_releases { 0 } else { self.cancel_every }
    }

    /// Returns the average number of steps between two acts about backfills. An older release loses
    /// the past fire with every write of the record.
    pub(crate) fn backfills_every(&self) -> u32 {
        if self.mixed_releases { 0 } else { self.backfill_every }
    }

    /// Returns the average number of steps between two changes that a node misses. Reads at the
    /// reconcile interval find them, so that it has to be short.
    pub(crate) fn misses_every(&self) -> u32 {
        if self.job.reconcile_minutes == 1 && !self.is_slow() { 400 } else { 0 }
    }

    /// Returns true if a change can be on its way for longer than the time between two reads.
    pub(crate) fn is_slow(&self) -> bool {
        self.pace.quantum_ms > 100
    }

    /// Returns true if fires can differ from the cron expression: with jitter, or with a midnight
    /// in the run.
    fn has_odd_times(&self) -> bool {
        self.job.jitter_ms > 0 || self.midnight_s > 0
    }

    /// Draws a change of the job's limits, or of the handling of overlaps. 0 lifts a limit.
    pub(crate) fn draw_feature_change(dice: &mut Dice) -> Change {
        let none_or = |dice: &mut Dice, most| medium(dice.between(0, most));
        match dice.below(6) {
            0 => Change::Limit(none_or(dice, 3)),
            1 => Change::Rate(none_or(dice, 4)),
            2 => Change::Group(none_or(dice, 3)),
            3 => Change::CancelOverlaps(dice.one_in(3)),
            4 => Change::Queue(dice.pick(&[0, 0, 1, 4])),
            _ => Change::Parallel(dice.pick(&[0, 2, 3])),
        }
    }

    /// Returns true if operators change a setting of [`draw_odd_change`](Self::draw_odd_change).
    pub(crate) fn has_odd_changes(&self) -> bool {
        self.has_odd_times() || self.job.placed
    }

    /// Draws a change of the placement rules, the jitter or the excluded days.
    pub(crate) fn draw_odd_change(&self, dice: &mut Dice) -> Change {
        if self.job.placed && (!self.has_odd_times() || dice.one_in(2)) {
            Change::Placement(dice.pick(&RULES).to_owned())
        } else if self.midnight_s > 0 && dice.one_in(2) {
            let days = if dice.one_in(3) { String::new() } else { draw_days(dice) };
            Change::ExcludedDays(days)
        } else {
            Change::Jitter(if dice.one_in(3) { 0 } else { draw_jitter(dice) })
        }
    }

    /// Returns the profile of a seed without faults and with short runs only.
    #[must_use]
    pub fn calm(seed: u64) -> Self {
        let mut profile = Self::draw(seed);
        profile.fault_every = 0;
        profile.operator_every = 0;
        (profile.cancel_every, profile.backfill_every) = (0, 0);
        profile.work = WorkSettings { slow: 0, hang: 0, usual_ms: (0, 200), ..profile.work };
        (profile.job.jitter_ms, profile.job.excluded_days) = (0, String::new());
        profile.job.without_placement();
        profile
    }
}

/// Factor by which time passes faster while servers expire: a run then lasts for minutes.
const SLOW_MOTION: u32 = 20;

/// Draws the bound of the jitter. Some bounds exceed the time to the next fire.
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

/// Draws weights of kinds. A third of the kinds gets the weight 0, so that the others meet more
/// often.
fn mix(dice: &mut Dice, kinds: usize) -> Vec<u8> {
    (0..kinds).map(|_| if dice.one_in(3) { 0 } else { small(dice.between(1, 9)) }).collect()
}

impl JobSettings {
    /// Removes the attributes and the rules, by which no instance might get an item.
    pub fn without_placement(&mut self) {
        (self.placed, self.placement) = (false, String::new());
    }

    /// Returns true if a limit of the job or of its group bounds its runs.
    fn has_limits(&self) -> bool {
        self.cluster_concurrency + self.starts + self.group > 0
    }

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
            server_ttl_s: 0,
            after_s: 0,
            ends_s: 0,
            cluster_concurrency: 0,
            starts: 0,
            group: 0,
            group_starts: 0,
            cancel_overlaps: false,
            queue: 0,
            parallel: 0,
            placed: false,
            placement: String::new(),
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
            progress: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_combine_each_pair_of_compatible_features() {
        let of = |seed| {
            let Profile { job, cancel_every, .. } = Profile::with_features(seed);
            [
                job.cancel_overlaps,
                job.queue > 0,
                job.parallel > 0,
                job.after_s > 0,
                job.server_ttl_s > 0,
                job.cluster_concurrency > 0,
                job.starts > 0,
                job.group > 0,
                cancel_every > 0,
            ]
        };
        let drawn: Vec<_> = (0..400).map(of).collect();
        // A job has one overlap policy, a fixed delay, or the long period of expiry.
        let excludes = |a: usize, b: usize| a < 5 && b < 5;
        for (a, b) in (0..9).flat_map(|a| (a + 1..9).map(move |b| (a, b))) {
            let together = drawn.iter().filter(|seed| seed[a] && seed[b]).count();
            assert_eq!(together == 0, excludes(a, b), "features {a} and {b}: {together} seeds");
        }
    }

    #[test]
    fn features_leave_the_older_settings_of_a_seed() {
        for seed in 0..100 {
            let (plain, with) = (Profile::draw(seed), Profile::with_features(seed));
            assert_eq!((plain.nodes, plain.fault_mix), (with.nodes, with.fault_mix), "seed {seed}");
            assert_eq!(plain.job.items, with.job.items, "seed {seed}");
        }
    }
}
