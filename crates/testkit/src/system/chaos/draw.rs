//! Random faults.

use fastrand::Rng;

use super::fault::{Fault, Scheduled, Strike, Way};

/// Duties whose writes are hit; repeated names are hit more often.
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

/// Draws faults of processes, network and registry, without operator actions: two or three per
/// minute.
pub(in crate::system) fn draw_environment_faults(
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
        let kind = ENVIRONMENT_KINDS[rng.usize(0..ENVIRONMENT_KINDS.len())];
        Scheduled { at_ms, fault: draw_fault(rng, kind, nodes, 1) }
    };
    at.into_iter().map(draw).collect()
}

/// The kinds of [`draw_fault`] that are not operator actions.
const ENVIRONMENT_KINDS: [u32; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 21, 22];

/// Number of kinds that [`draw_fault`] knows.
pub const FAULT_KINDS: u32 = 23;

/// Draws a fault of a kind, numbered from 0 to [`FAULT_KINDS`] - 1, for a cluster of this size.
///
/// # Panics
/// If `nodes` or `items` is 0.
#[must_use]
pub fn draw_fault(rng: &mut Rng, kind: u32, nodes: u32, items: u32) -> Fault {
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
    let duty = (rng.u32(0..100) < 85).then(|| DUTIES[rng.usize(0..DUTIES.len())].to_owned());
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

/// Draws a duration between a tenth of a session timeout and ten timeouts, on a logarithmic scale.
fn duration(rng: &mut Rng) -> u64 {
    let scale = rng.u32(0..=6);
    let base = 400_u64 << scale;
    rng.u64(base..base * 2)
}
