//! The fault scenarios on the simulated cluster, in virtual time, with several seeds each.

use checker::{Options, Verdict};
use simulation::scenario::{self, Judgement, Scenario};
use testkit::harness::{ClusterOptions, ScenarioCluster};
use testkit::run;

/// Seeds of each scenario.
const SEEDS: std::ops::Range<u64> = 0..4;

fn play(scenario: &Scenario, options: ClusterOptions) -> Judgement {
    let seed = options.seed;
    run(async {
        let cluster = ScenarioCluster::with_options(options);
        let played = scenario::run(scenario, Box::new(cluster), seed, &Options::default()).await;
        played.expect("a simulated cluster always ends with a history")
    })
}

fn assert_valid(id: &str) {
    let scenario = scenario::find(id).expect("a scenario of this number");
    for seed in SEEDS {
        let judgement = play(scenario, ClusterOptions::new(seed));
        assert_eq!(judgement.verdict(), Verdict::Valid, "seed {seed}: {judgement}");
    }
}

macro_rules! scenarios {
    ($($name:ident)+) => { $(#[test] fn $name() { assert_valid(&stringify!($name).to_uppercase()); })+ };
}

scenarios! {
    f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f11 f12 f13 f14 f15
    f16 f17 f18 f19 f20 f21 f22 f23 f24 f25 f26 f27 f28 f29 f30 f31 f32 f33 f34 f35 f36 f37
    f38 f39 f40 f41
}

/// In Europe/Berlin the clock jumps from 02:00 to 03:00 one minute after this world begins.
#[test]
fn f25_across_the_change_to_summer_time() {
    let scenario = scenario::find("F25").expect("a scenario of this number");
    let start = "2024-03-31T00:58:55Z".parse().expect("a time");
    let judgement = play(scenario, ClusterOptions { start, ..ClusterOptions::new(1) });
    assert_eq!(judgement.verdict(), Verdict::Valid, "{judgement}");
}

/// In Europe/Berlin the clock is set back from 03:00 to 02:00 some minutes after the clock jumps of
/// the scenario. An hour of local times occurs twice, and each of them fires once.
#[test]
fn f25_across_the_change_back() {
    let scenario = scenario::find("F25").expect("a scenario of this number");
    let start = "2024-10-26T23:56:55Z".parse().expect("a time");
    let judgement = play(scenario, ClusterOptions { start, ..ClusterOptions::new(1) });
    assert_eq!(judgement.verdict(), Verdict::Valid, "{judgement}");
}
