//! The thirty fault scenarios on the simulated cluster, several seeds each, in virtual time.

use checker::{Options, Verdict};
use testkit::scenario::{self, Judgement, Scenario};
use testkit::system::{ClusterOptions, SimCluster, run};

/// The seeds that each scenario is played with.
const SEEDS: std::ops::Range<u64> = 0..6;

fn play(scenario: &Scenario, seed: u64) -> Judgement {
    let options = Options { deduplicated: false, ..Options::default() };
    run(async {
        let cluster = SimCluster::with_options(ClusterOptions::new(seed));
        let played = scenario::run(scenario, Box::new(cluster), seed, &options).await;
        played.expect("a simulated cluster always ends with a history")
    })
}

fn holds(id: &str) {
    let scenario = scenario::find(id).expect("a scenario of this number");
    for seed in SEEDS {
        let judgement = play(scenario, seed);
        assert_eq!(judgement.verdict(), Verdict::Valid, "seed {seed}: {judgement}");
    }
}

macro_rules! scenarios {
    ($($name:ident)+) => { $(#[test] fn $name() { holds(&stringify!($name).to_uppercase()); })+ };
}

scenarios! {
    f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15
    f16 f17 f18 f19 f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 f30
}
