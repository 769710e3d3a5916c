//! Time to compute the next fire time in America/New_York, for this crate and the crates `cron` and
//! `croner`.
//!
//! The expressions are those of Quartz's documentation and others of each kind. A crate is left out
//! of an expression that it cannot parse or that has another meaning in it. For the geometric means
//! of all three crates in one line, see the example `next_fire_ratio`.

#[path = "peers/mod.rs"]
mod peers;

use std::hint::black_box;
use std::time::Duration;

use chrono_tz::Tz;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use peers::{Cron, Croner, INSTANTS, Subject, Trigger};

const EXPRESSIONS: [(&str, &str); 20] = [
    ("every second", "* * * * * ?"),
    ("every 5 seconds", "0/5 * * * * ?"),
    ("every minute", "0 * * * * ?"),
    ("every 15 minutes", "0 0/15 * * * ?"),
    ("every hour", "0 0 * * * ?"),
    ("office hours", "0 0/30 9-17 ? * MON-FRI"),
    ("wrapped hours", "0 0 22-2 * * ?"),
    ("every day", "0 0 12 * * ?"),
    ("inside a gap", "0 30 2 * * ?"),
    ("day of month", "0 15 10 15 * ?"),
    ("last day", "0 15 10 L * ?"),
    ("before the last day", "0 15 10 L-2 * ?"),
    ("nearest working day", "0 0 0 15W * ?"),
    ("last working day", "0 0 0 LW * ?"),
    ("day of week", "0 0 12 ? * WED,FRI"),
    ("last Friday", "0 15 10 ? * 6L"),
    ("third Friday", "0 15 10 ? * 6#3"),
    ("one date", "0 11 11 11 11 ?"),
    ("leap day", "0 0 0 29 2 ? *"),
    ("years", "0 15 10 ? * 6L 2022-2035"),
];

fn next_fire(criterion: &mut Criterion) {
    for (name, expression) in EXPRESSIONS {
        let mut group = criterion.benchmark_group(format!("{name}: {expression}"));
        group.warm_up_time(Duration::from_millis(300));
        group.measurement_time(Duration::from_secs(1));
        measure::<Trigger>(&mut group, "trigger", expression);
        measure::<Cron>(&mut group, "cron", expression);
        measure::<Croner>(&mut group, "croner", expression);
        group.finish();
    }
}

fn measure<S: Subject>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, expression: &str) {
    if !S::agrees(expression) {
        return;
    }
    let subject = S::read(expression, Tz::America__New_York)
        .expect("the crate agrees with Quartz, so it can parse");
    let mut places = (0..INSTANTS).cycle();
    group.bench_function(name, |bencher| {
        bencher.iter(|| subject.next(black_box(places.next().expect("the cycle never ends"))));
    });
}

criterion_group!(benches, next_fire);
criterion_main!(benches);
