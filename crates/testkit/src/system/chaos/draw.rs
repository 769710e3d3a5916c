//! Drawing a run of chaos from a seed: each seed has its own mix, so that rare combinations come up.

use fastrand::Rng;

use super::fault::{Fault, Strike, Way};
use super::plan::{CatchUpPlan, ChaosPlan, JobPlan, Scheduled};
use crate::system::registry::Weather;

/// How long things go wrong.
const CHAOS_MS: u64 = 600_000;
/// How long nothing goes wrong afterwards.
const CALM_MS: u64 = 120_000;
/// The first fault comes when the cluster has found itself.
const FIRST_MS: u64 = 8_000;

/// The duties whose writes are worth hitting, some more than others.
const DUTIES: [&str; 12] = [
    "claim",
    "claim",
    "claim",
    "release",
    "release",
    "resharding",
    "resharding",
    "takeover",
    "sweep",
    "misfire",
    "membership",
    "election",
];

impl ChaosPlan {
    /// Draws a run: two to five nodes, one to nine items, about ten minutes of faults and two of calm.
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
        Self { seed, nodes, weather, job, chaos_ms: CHAOS_MS, calm_ms: CALM_MS, faults }
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
    }
}

/// What came later than the rest has its own chance, so that seeds keep their meaning.
fn extras(rng: &mut Rng, job: JobPlan) -> JobPlan {
    let once = chance(rng, 40) && job.monitor;
    let catches_up = chance(rng, 20) && job.monitor && job.misfire;
    let policy = CatchUpPlan { window_seconds: rng.u32(15..=90), max: rng.u32(1..=6) };
    JobPlan { once, catch_up: catches_up.then_some(policy), ..job }
}

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    // Three digits are enough, and readable in a stored plan.
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

/// Draws faults of processes, network and registry, and none of operators, two or three in a minute.
pub(in crate::system) fn faults_of_the_world(
    rng: &mut Rng,
    nodes: u32,
    for_ms: u64,
) -> Vec<Scheduled> {
    if nodes == 0 || for_ms == 0 {
        return Vec::new();
    }
    let n_faults = usize::try_from(for_ms / 25_000).unwrap_or(usize::MAX).max(1);
    let mut at: Vec<u64> = (0..n_faults).map(|_| rng.u64(0..for_ms)).collect();
    at.sort_unstable();
    let draw = |at_ms| {
        let kind = OF_THE_WORLD[rng.usize(0..OF_THE_WORLD.len())];
        Scheduled { at_ms, fault: fault(rng, kind, nodes, 1) }
    };
    at.into_iter().map(draw).collect()
}

/// The kinds of [`fault`] that no operator does.
const OF_THE_WORLD: [u32; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 21, 22];

/// Draws which kinds of faults there are, how many, and when.
fn schedule(rng: &mut Rng, nodes: u32, items: u32) -> Vec<Scheduled> {
    const KINDS: u32 = 23;
    let mut kinds: Vec<u32> = (0..KINDS).filter(|_| chance(rng, 50)).collect();
    if kinds.is_empty() {
        kinds.push(rng.u32(0..KINDS));
    }
    let n_faults = rng.usize(5..=45);
    let mut at: Vec<u64> = (0..n_faults).map(|_| rng.u64(FIRST_MS..CHAOS_MS)).collect();
    at.sort_unstable();
    let fault = |at_ms| {
        let kind = kinds[rng.usize(0..kinds.len())];
        Scheduled { at_ms, fault: fault(rng, kind, nodes, items) }
    };
    at.into_iter().map(fault).collect()
}

fn fault(rng: &mut Rng, kind: u32, nodes: u32, items: u32) -> Fault {
    let node = rng.u32(0..nodes);
    let for_ms = duration(rng);
    match kind {
        0 => Fault::Crash { node, down_ms: for_ms },
        1 => Fault::Pause { node, for_ms },
        2 => Fault::Leave { node, down_ms: for_ms },
        3 | 4 => Fault::Partition { node, way: way(rng), for_ms },
        5 => Fault::Slow { node, delay_ms: rng.u64(20..1500), for_ms },
        6 => Fault::Reset { node },
        7 => Fault::Lossy { node, permille: rng.u32(20..400), for_ms },
        8 => Fault::Expire { node },
        9 => Fault::Skew { node, ms: rng.i64(-25_000..25_000), for_ms },
        10 => Fault::RegistryDown { for_ms: for_ms.min(15_000) },
        11 => Fault::RegistryFrozen { for_ms: for_ms.min(6_000) },
        12 => Fault::RegistryLag { lag_ms: rng.u64(50..6_000), for_ms },
        13 => Fault::DisableServer { node, for_ms },
        14 => Fault::DisableItem { item: rng.u32(0..items), for_ms },
        15 => Fault::PauseJobs { node, for_ms },
        16 => Fault::Resize { items: rng.u32(1..=9) },
        17 => match rng.u32(0..3) {
            0 => Fault::SwitchFailover,
            1 => Fault::SwitchMisfire,
            _ => Fault::Poison { for_ms },
        },
        18 => Fault::Trigger,
        19 => Fault::RemoveInstance { node, down_ms: for_ms + 5_000 },
        20 => Fault::RemoveLeader,
        _ => at_write(rng, node),
    }
}

fn at_write(rng: &mut Rng, node: u32) -> Fault {
    let duty = chance(rng, 85).then(|| DUTIES[rng.usize(0..DUTIES.len())].to_owned());
    let strike = match rng.u32(0..6) {
        0 | 1 => Strike::Kill { down_ms: duration(rng) },
        2 => Strike::Pause { for_ms: duration(rng) },
        3 => Strike::Expire,
        4 => Strike::Lose,
        _ => Strike::Delay { ms: rng.u64(5..4_000) },
    };
    Fault::AtWrite { node, duty, nth: rng.u32(0..3), after: rng.bool(), strike }
}

fn way(rng: &mut Rng) -> Way {
    match rng.u32(0..4) {
        0 => Way::Up,
        1 => Way::Down,
        _ => Way::Both,
    }
}

/// Draws between a tenth of a session timeout and ten of them, short ones as often as long ones.
fn duration(rng: &mut Rng) -> u64 {
    let scale = rng.u32(0..=6);
    let base = 400_u64 << scale;
    rng.u64(base..base * 2)
}
