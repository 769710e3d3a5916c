//! Draws a chaos plan from a seed. Each seed has its own mix of faults, so that rare combinations
//! occur.

use fastrand::Rng;
use jiff::SignedDuration;
use testkit::harness::{ClusterOptions, FAULT_KINDS, Scheduled, Weather, draw_fault};

use super::plan::{CatchUpPlan, ChaosPlan, GroupPlan, JobPlan};

/// Duration of the chaos.
const CHAOS_MS: u64 = 600_000;
/// Duration of the calm after the chaos.
const CALM_MS: u64 = 120_000;
/// Earliest start of a fault, when the cluster has settled.
const FIRST_MS: u64 = 8_000;

/// Schedules of jobs that combine features: intervals, several rules, and a fixed delay.
const SCHEDULES: [&str; 5] =
    ["@every 10s", "@every 7s", "0/10 * * * * ?; @every 15s", "@every 20s; 5/30 * * * * ?", AFTER];
const AFTER: &str = "@after 4s";
const OVERLAPS: [&str; 5] = ["cancel", "queue 1", "queue 4", "parallel 2", "parallel 3"];
const START_RATES: [&str; 3] = ["2 in 10s", "5 in 10s", "6 in 30s"];

impl ChaosPlan {
    /// Draws the plan of a seed, whose job in addition combines a schedule of several kinds of
    /// rules, a period, an overlap policy, a group and limits. Its processes may have a limit.
    #[must_use]
    pub fn draw_with_features(seed: u64) -> Self {
        let plan = Self::draw(seed);
        let mut rng = Rng::with_seed(!seed);
        let job = features(&mut rng, plan.job);
        let job = later_features(&mut rng.fork(), seed, job);
        let max_concurrency = chance(&mut rng, 30).then(|| rng.u32(1..=3));
        Self { max_concurrency, job, ..plan }
    }

    /// Draws a plan: two to five processes, one to nine items, ten minutes of faults and two of
    /// calm.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut root = Rng::with_seed(seed);
        let mut shape = root.fork();
        let mut faults = root.fork();
        let nodes = shape.u32(2..=5);
        let job = job(&mut shape);
        let weather = weather(&mut shape);
        let faults = schedule(&mut faults, nodes, job.items);
        let job = extras(&mut root.fork(), job);
        let (chaos_ms, calm_ms) = (CHAOS_MS, CALM_MS);
        Self { seed, nodes, weather, max_concurrency: None, job, chaos_ms, calm_ms, faults }
    }
}

fn chance(rng: &mut Rng, percent: u32) -> bool {
    rng.u32(0..100) < percent
}

fn job(rng: &mut Rng) -> JobPlan {
    let items = rng.u32(1..=9);
    let some = |rng: &mut Rng, percent| {
        if chance(rng, percent) { vec![rng.u32(0..items)] } else { Vec::new() }
    };
    JobPlan {
        items,
        failover: chance(rng, 80),
        misfire: chance(rng, 70),
        monitor: chance(rng, 97),
        periods: match rng.u32(0..10) {
            0..=4 => between(rng, 0.02, 0.3),
            5..=7 => between(rng, 0.3, 0.9),
            _ => between(rng, 1.0, 2.2),
        },
        slow: some(rng, 30).into_iter().map(|item| (item, between(rng, 1.2, 3.0))).collect(),
        fail: some(rng, 15),
        panic: some(rng, 10),
        hang: some(rng, 4),
        once: false,
        catch_up: None,
        schedule: String::new(),
        overlap: String::new(),
        cluster_concurrency: None,
        start_rate: String::new(),
        group: None,
        not_before: String::new(),
        not_after: String::new(),
    }
}

/// Draws the newer settings from a source of their own, so that seeds keep their older meaning.
fn extras(rng: &mut Rng, job: JobPlan) -> JobPlan {
    let once = chance(rng, 40) && job.monitor;
    let catches_up = chance(rng, 20) && job.monitor && job.misfire;
    let policy = CatchUpPlan { window_seconds: rng.u32(15..=90), max: rng.u32(1..=6) };
    JobPlan { once, catch_up: catches_up.then_some(policy), ..job }
}

/// Draws the features of a job, as far as they may be combined.
fn features(rng: &mut Rng, mut job: JobPlan) -> JobPlan {
    if chance(rng, 60) {
        job.schedule = one_of(rng, &SCHEDULES);
    }
    if job.schedule == AFTER {
        job.catch_up = None;
    } else if chance(rng, 60) {
        (job.misfire, job.catch_up) = (true, None);
        job.overlap = one_of(rng, &OVERLAPS);
    }
    if chance(rng, 40) {
        job.cluster_concurrency = Some(rng.u32(1..=job.items.max(2)));
    }
    if chance(rng, 30) {
        job.start_rate = one_of(rng, &START_RATES);
    }
    // All of them need claimed runs. A plan without any is that of the seed without features.
    job.monitor |= job.has_features();
    job
}

fn one_of(rng: &mut Rng, texts: &[&str]) -> String {
    texts[rng.usize(0..texts.len())].to_owned()
}

/// Draws a group and a period from a source of their own, so that seeds keep their other features.
fn later_features(rng: &mut Rng, seed: u64, mut job: JobPlan) -> JobPlan {
    if chance(rng, 30) {
        let cluster_concurrency = chance(rng, 70).then(|| rng.u32(1..=2));
        let has_rate = chance(rng, 40) || cluster_concurrency.is_none();
        let start_rate = if has_rate { one_of(rng, &START_RATES) } else { String::new() };
        job.group = Some(GroupPlan { cluster_concurrency, start_rate });
    }
    // The checker does not know the period of a fixed delay.
    if chance(rng, 20) && job.schedule != AFTER {
        let begins = chance(rng, 60);
        let ends = chance(rng, 30) || !begins;
        let time = |seconds| time_after_start(seed, seconds);
        if begins {
            job.not_before = time(rng.i64(10..240));
        }
        if ends {
            job.not_after = time(rng.i64(300..590));
        }
    }
    job.monitor |= job.has_features();
    job
}

/// Returns the time in whole seconds after the start of the run.
fn time_after_start(seed: u64, seconds: i64) -> String {
    (ClusterOptions::new(seed).start + SignedDuration::from_secs(seconds)).to_string()
}

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    // Three digits suffice, and keep a stored plan readable.
    ((low + rng.f64() * (high - low)) * 1000.0).round() / 1000.0
}

fn weather(rng: &mut Rng) -> Weather {
    let mut weather = match rng.u32(0..10) {
        0..=1 => Weather::CALM,
        2..=5 => Weather::USUAL,
        6..=7 => Weather {
            delay_min: 5,
            delay_max: 60,
            spike_permille: 20,
            spike_max: 400,
            feed_lag_max: 80,
            ..Weather::USUAL
        },
        _ => Weather {
            delay_min: 0,
            delay_max: 200,
            spike_permille: 30,
            spike_max: 900,
            feed_lag_max: 300,
            shuffle_permille: 400,
            stale_permille: 300,
            loss_permille: 0,
        },
    };
    if chance(rng, 30) {
        weather.loss_permille = rng.u32(1..=15);
    }
    weather
}

/// Draws the kinds of faults, their number and their times.
fn schedule(rng: &mut Rng, nodes: u32, items: u32) -> Vec<Scheduled> {
    let mut kinds: Vec<u32> = (0..FAULT_KINDS).filter(|_| chance(rng, 50)).collect();
    if kinds.is_empty() {
        kinds.push(rng.u32(0..FAULT_KINDS));
    }
    let n_faults = rng.usize(5..=45);
    let mut at: Vec<u64> = (0..n_faults).map(|_| rng.u64(FIRST_MS..CHAOS_MS)).collect();
    at.sort_unstable();
    let fault = |at_ms| {
        let kind = kinds[rng.usize(0..kinds.len())];
        Scheduled { at_ms, fault: draw_fault(rng, kind, nodes, items) }
    };
    at.into_iter().map(fault).collect()
}
