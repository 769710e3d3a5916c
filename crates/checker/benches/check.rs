//! Duration of judging the history of a simulated run.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on should panic")]
#![expect(dead_code, reason = "the bench uses only some of the builders of the story module")]

#[path = "../tests/stories/story/mod.rs"]
mod story;

use std::hint::black_box;

use checker::{History, Options, Replay, Verdict, check};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use story::Story;

/// Returns a history of six items that run a hundred fires each: about 5,000 records.
fn history() -> History {
    let mut story = Story::cluster(6);
    for k in 1..=100 {
        story.round(k);
    }
    story.heal().round(101);
    let report = story.judge();
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
    History::from_records(story.records)
}

fn judge(criterion: &mut Criterion) {
    let history = history();
    let records = history.records();
    let lines: Vec<_> = records.iter().map(|r| serde_json::to_string(r).unwrap()).collect();
    let bytes = lines.join("\n").into_bytes();
    let options = Options::default();
    let mut group = criterion.benchmark_group(format!("{} records", records.len()));
    group.throughput(Throughput::Elements(records.len() as u64));
    group.bench_function("check", |b| b.iter(|| check(black_box(&history), &options)));
    group.bench_function("replay alone", |b| {
        b.iter(|| {
            let mut replay = Replay::new(options.clone());
            records.iter().map(|record| replay.apply(black_box(record)).len()).sum::<usize>()
        });
    });
    group.bench_function("read", |b| b.iter(|| History::from_bytes("bench", black_box(&bytes))));
    group.finish();
}

criterion_group!(benches, judge);
criterion_main!(benches);
