//! Time of each strategy by number of items. It is linear, for any number of instances.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sharding::{
    Assignment, AverageAllocation, InstanceId, ShardingStrategy, StrategyInput, StrategyRegistry,
    sort_descending,
};

/// Numbers of items.
const SIZES: [u32; 4] = [10, 1_000, 100_000, 1_000_000];
const INSTANCES: u32 = 1_000;

fn instances(count: u32) -> Vec<InstanceId> {
    let mut instances: Vec<_> = (0..count)
        .map(|n| InstanceId::new(format!("10.0.{}.{}@-@{n}", n / 250, n % 250)))
        .collect();
    sort_descending(&mut instances);
    instances
}

/// Returns the assignment before the last instance left.
fn previous(instances: &[InstanceId], total: u32) -> Assignment {
    let mut with_another = instances.to_vec();
    with_another.push(InstanceId::new("10.1.0.1@-@1"));
    sort_descending(&mut with_another);
    AverageAllocation.assign(&StrategyInput::new("bench", &with_another, total))
}

fn assign(criterion: &mut Criterion) {
    let registry = StrategyRegistry::default();
    for name in registry.names() {
        let strategy = registry.get(name).expect("the registry knows its own names");
        let mut group = criterion.benchmark_group(name);
        let instances = instances(INSTANCES);
        for total in SIZES {
            let previous = previous(&instances, total);
            let input = StrategyInput::new("bench", &instances, total)
                .with_previous(&previous)
                .with_now_ms(1_700_000_000_001);
            group.throughput(Throughput::Elements(total.into()));
            group.bench_with_input(BenchmarkId::from_parameter(total), &input, |b, input| {
                b.iter(|| strategy.assign(black_box(input)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, assign);
criterion_main!(benches);
