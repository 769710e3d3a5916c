//! Several coordinators on the registry model, under seeded faults, checked after every write.
//!
//! No clock, no threads, no async: each step lets one thing happen to one node. A failure prints the seed; the same
//! seed gives the same run.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "the simulated world is test code outside of test functions"
)]

mod world;

use world::{Chaos, World};

/// Every kind of fault, each likely enough to happen several times in a run.
fn everything(seed: u64) -> Chaos {
    Chaos { faults: true, operators: true, failover: !seed.is_multiple_of(4), steps: 2_500 }
}

#[test]
fn without_faults_every_fire_of_every_item_runs_exactly_once() {
    for seed in 0..60 {
        let chaos = Chaos { faults: false, operators: false, failover: true, steps: 1_500 };
        let mut world = World::new(seed, 3, 5, chaos);
        world.settle();
        let first = world.fire_all();
        for _ in 0..10 {
            world.run_until_quiet();
            world.fire_all();
        }
        world.run_until_quiet();
        world.assert_all_ran_since(first);
        assert_eq!(world.missed, 0, "seed {seed}: {}", world.story());
    }
}

#[test]
fn under_faults_no_property_breaks_and_everything_heals() {
    for seed in 0..200 {
        let mut world = World::new(seed, 3, 5, everything(seed));
        world.settle();
        world.run_chaos();
        world.heal();
        world.assert_healed();
    }
}

/// Seeds that once failed, with what they found.
const CORPUS: [(u64, &str); 5] = [
    (26, "noted fires that ran late turned the last fire back"),
    (223, "a disabled item was claimed by an instance that had not seen it disabled"),
    (263, "a request had the identity of a scheduled fire"),
    (690, "an instance left while it was cut off, and its registration stayed"),
    (1580, "an instance left with a claim in doubt, and the item stayed running"),
];

#[test]
fn what_was_found_once_stays_mended() {
    for (seed, _found) in CORPUS {
        let mut world = World::new(seed, 3, 5, everything(seed));
        world.settle();
        world.run_chaos();
        world.heal();
        world.assert_healed();
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let mut world = World::new(seed, 3, 5, everything(seed));
        world.settle();
        world.run_chaos();
        world.digest()
    };
    for seed in [3, 7, 11] {
        assert_eq!(run(seed), run(seed));
    }
}

#[test]
fn the_runs_reach_what_they_are_for() {
    let mut seen = world::Coverage::default();
    for seed in 0..100 {
        let mut world = World::new(seed, 3, 5, everything(seed));
        world.settle();
        world.run_chaos();
        world.heal();
        seen.add(&world.coverage);
    }
    for (what, count) in seen.rows() {
        assert!(count >= 10, "{what} happened {count} times in 100 runs");
    }
}
