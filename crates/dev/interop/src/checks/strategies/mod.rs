//! Every strategy gives the same assignment whoever leads, for random memberships.

mod asking;
mod trial;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use trial::Trial;

use super::Setting;
use crate::protocol::JobPlan;
use crate::stage::{Failure, Kind};
use crate::suite::{JavaVersion, Report};

/// How many memberships are tried with each strategy.
const N_MEMBERSHIPS: usize = 100;
/// More items than some memberships have instances, and fewer than others.
const TOTAL: u32 = 7;
/// The most instances beside the two workers.
const MOST: usize = 9;

/// The package of the strategies of 2.1.5.
macro_rules! classes {
    () => {
        "com.dangdang.ddframe.job.lite.api.strategy.impl."
    };
}

/// Who owns each item.
type Owners = BTreeMap<u32, String>;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.cast().await?;
    let [java, rust] = cast.all([(Kind::Java, "java", 1), (Kind::Rust, "rust", 2)]).await?;
    let memberships = memberships(&mut Rng::with_seed(7));
    for (job, strategy) in strategies(setting.java) {
        let mut plan = JobPlan::new(job, TOTAL).idle();
        strategy.clone_into(&mut plan.strategy);
        let real = [java.schedule(&plan).await?, rust.schedule(&plan).await?];
        let ips = [&*java.ip, &*rust.ip];
        let trial = Trial { cast: &cast, job, java: setting.java, real, ips };
        trial.play(&memberships, report).await?;
    }
    java.leave().await?;
    rust.leave().await?;
    cast.tree.close().await
}

/// Jobs, whose names some strategies depend on, and what the release calls the strategies. The fourth strategy of 3.x,
/// `SINGLE_SHARDING_BALANCE`, came with 3.0.5.
fn strategies(java: JavaVersion) -> Vec<(&'static str, &'static str)> {
    match java {
        JavaVersion::V2_1_5 => vec![
            ("average", concat!(classes!(), "AverageAllocationJobShardingStrategy")),
            ("oddHash", concat!(classes!(), "OdevitySortByNameJobShardingStrategy")),
            ("evenHash", concat!(classes!(), "OdevitySortByNameJobShardingStrategy")),
            ("rotated", concat!(classes!(), "RotateServerByNameJobShardingStrategy")),
        ],
        JavaVersion::V3_0_4 => vec![
            ("average", "AVG_ALLOCATION"),
            ("oddHash", "ODEVITY"),
            ("evenHash", "ODEVITY"),
            ("rotated", "ROUND_ROBIN"),
        ],
    }
}

/// Draws the instances that are there beside the two workers: addresses and process ids of all lengths, because their
/// order is that of their text.
fn memberships(rng: &mut Rng) -> Vec<BTreeSet<String>> {
    let mut instance = || {
        let n_digits = rng.u32(1..6);
        let pid = rng.u32(1..10_u32.pow(n_digits));
        format!("10.{}.{}.{}@-@{pid}", rng.u8(0..3), rng.u8(..), rng.u8(1..))
    };
    let pool: Vec<String> = std::iter::repeat_with(&mut instance).take(30).collect();
    let membership = |_| {
        let n = rng.usize(..=MOST);
        std::iter::repeat_with(|| pool[rng.usize(..pool.len())].clone()).take(n).collect()
    };
    (0..N_MEMBERSHIPS).map(membership).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_jobs_have_the_hashes_that_they_say() {
        let odd = |name| sharding::java_string_hash(name) % 2 != 0;
        assert!(odd("oddHash") && !odd("evenHash"));
        let named: Vec<_> =
            strategies(JavaVersion::V2_1_5).into_iter().map(|(job, _)| job).collect();
        assert!(named.contains(&"oddHash") && named.contains(&"evenHash"), "{named:?}");
    }

    #[test]
    fn memberships_differ_in_size() {
        let sizes: BTreeSet<usize> =
            memberships(&mut Rng::with_seed(7)).iter().map(BTreeSet::len).collect();
        assert!(sizes.contains(&0) && sizes.len() > 6, "{sizes:?}");
    }
}
