//! Every strategy gives the same assignment under a Java leader and a Rust leader, for random
//! memberships.

mod resharding;
mod trial;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use trial::Trial;

use super::CheckSetup;
use crate::protocol::JobPlan;
use crate::stage::{Failure, Kind};
use crate::suite::{JavaVersion, Report};

/// Number of memberships for each strategy.
const N_MEMBERSHIPS: usize = 100;
/// Number of items: more than the instances of some memberships, and fewer than those of others.
const TOTAL: u32 = 7;
/// Maximum number of instances in addition to the two workers.
const MOST: usize = 9;

/// The package of the strategies of 2.1.5.
macro_rules! classes {
    () => {
        "com.dangdang.ddframe.job.lite.api.strategy.impl."
    };
}

/// Owner of each item.
type Owners = BTreeMap<u32, String>;

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    let [java, rust] = env.all([(Kind::Java, "java", 1), (Kind::Rust, "rust", 2)]).await?;
    let memberships = memberships(&mut Rng::with_seed(7));
    for (job, strategy) in strategies(setup.java) {
        let mut plan = JobPlan::new(job, TOTAL).idle();
        strategy.clone_into(&mut plan.strategy);
        let real = [java.schedule(&plan).await?, rust.schedule(&plan).await?];
        let ips = [&*java.ip, &*rust.ip];
        let trial = Trial { env: &env, job, java: setup.java, real, ips };
        trial.run(&memberships, report).await?;
    }
    java.leave().await?;
    rust.leave().await?;
    env.tree.close().await
}

/// Returns pairs of a job's name, which some strategies depend on, and the release's name of the
/// strategy.
///
/// The fourth strategy of 3.x, `SINGLE_SHARDING_BALANCE`, came with 3.0.5.
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

/// Returns random memberships of instances in addition to the two workers.
///
/// Addresses and process ids have all lengths, because ids are ordered as text.
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
    fn job_names_have_the_hash_parity_that_they_name() {
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
