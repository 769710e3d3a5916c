//! Random inputs of strategies for the property tests.

use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::subsequence;
use sharding::{Assignment, InstanceId, StrategyInput, sort_descending};

/// The instances of all clusters. Every fourth has a character outside the basic plane.
static POOL: LazyLock<Vec<InstanceId>> = LazyLock::new(|| {
    (0..80_u32)
        .map(|n| {
            let mark = if n.is_multiple_of(4) { "🚀" } else { "" };
            InstanceId::new(format!("10.0.{}{mark}.{n}@-@{}", n % 3, n * 37 % 1000))
        })
        .collect()
});

/// An input of a strategy that owns its parts.
#[derive(Clone, Debug)]
pub(crate) struct Cluster {
    pub(crate) job_name: String,
    /// Distinct instances, descending, as a leader lists them.
    pub(crate) instances: Vec<InstanceId>,
    pub(crate) total: u32,
    pub(crate) previous: Option<Assignment>,
    pub(crate) now_ms: i64,
}

impl Cluster {
    pub(crate) fn input(&self) -> StrategyInput<'_> {
        let mut input = StrategyInput::new(&self.job_name, &self.instances, self.total);
        input.previous = self.previous.as_ref();
        input.with_now_ms(self.now_ms)
    }
}

/// Returns mostly small numbers, and rarely one up to `most`, which is at least 12.
fn sizes(most: u32) -> impl Strategy<Value = u32> {
    prop_oneof![30 => 0..=12_u32, 10 => 0..=most.min(60), 1 => 0..=most]
}

/// Returns any short name, and sometimes one whose hash has no absolute value in 32 bits.
fn job_names() -> impl Strategy<Value = String> {
    let any_name = vec(any::<char>(), 0..8).prop_map(String::from_iter);
    prop_oneof![1 => Just("polygenelubricants".to_owned()), 9 => any_name]
}

fn instances(most: u32) -> impl Strategy<Value = Vec<InstanceId>> {
    sizes(most).prop_flat_map(|count| subsequence(&POOL[..], count as usize)).prop_map(
        |mut instances| {
            sort_descending(&mut instances);
            instances
        },
    )
}

/// Returns owners among the first twenty of the pool or the whole pool, and some items without
/// owner. Some owners thus still exist, some have left, and some instances are new.
fn previous(most_items: u32) -> impl Strategy<Value = Assignment> {
    let owners = sizes(most_items).prop_flat_map(|count| vec(any::<u8>(), count as usize));
    (owners, prop_oneof![Just(20), Just(80)]).prop_map(|(owners, width)| {
        let owner = |byte: u8| (byte >= 25).then(|| POOL[usize::from(byte) % width].clone());
        Assignment::from_owners(owners.into_iter().map(owner))
    })
}

prop_compose! {
    /// Up to 2,000 items and 60 instances; either number may be 0.
    pub(crate) fn clusters()(
        job_name in job_names(),
        instances in instances(60),
        total in sizes(2_000),
        previous in option::weighted(0.8, previous(2_000)),
        now_ms in any::<i64>(),
    ) -> Cluster {
        Cluster { job_name, instances, total, previous, now_ms }
    }
}
