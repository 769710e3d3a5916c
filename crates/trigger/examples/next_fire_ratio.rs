//! Measures the time to compute the next fire time, for this crate and the crates `cron` and
//! `croner`.
//!
//! ```text
//! $ cargo run -p trigger --release --example next_fire_ratio
//! trigger 24.4 ns (106 expressions), cron 284.1 ns (61 expressions, on which trigger 24.2 ns:
//! ratio 11.7), …
//! ```
//!
//! The expressions are the first valid one of each class of Quartz's golden vectors, without the
//! classes of clock changes, accidents and random text. The zone is America/New_York. Each
//! expression is evaluated from 64 instants in 15 years, out of order.
//!
//! A peer is measured with the expressions that have the same meaning in it as in Quartz, and
//! compared with this crate on those alone. All numbers of a line are geometric means in
//! nanoseconds per call.
#![expect(clippy::print_stdout, reason = "the result of the program")]
#![expect(clippy::disallowed_methods, reason = "a measuring program reads the clock")]

#[path = "../benches/peers/mod.rs"]
mod peers;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use chrono_tz::Tz;
use peers::{Cron, Croner, INSTANTS, Subject, Trigger};
use serde_json::Value;

const VECTORS: &str = include_str!("../testdata/quartz-cron-vectors.jsonl");
const ZONE: Tz = Tz::America__New_York;

/// Minimum time of one round. A measurement is the fastest of several rounds.
const ROUND: Duration = Duration::from_millis(4);
const ROUNDS: usize = 5;

fn main() {
    let expressions = expressions();
    let own: BTreeMap<&str, f64> = expressions
        .iter()
        .map(|expression| (expression.as_str(), nanoseconds::<Trigger>(expression)))
        .collect();
    println!(
        "trigger {:.1} ns ({} expressions), {}, {}",
        geometric_mean(own.values().copied()),
        own.len(),
        compared::<Cron>("cron", &own),
        compared::<Croner>("croner", &own),
    );
}

/// Returns the first valid expression of each class that tests expressions.
fn expressions() -> Vec<String> {
    let mut first_of_class = BTreeMap::new();
    for row in VECTORS.lines() {
        let row: Value = serde_json::from_str(row).expect("the vectors are JSON");
        let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
        let (class, expression) = (text("cls"), text("expr"));
        let is_other = ["dst-", "quirk-", "random", "invalid-", "impossible", "year-never"];
        if !is_other.iter().any(|prefix| class.starts_with(prefix)) && row["note"].is_null() {
            first_of_class.entry(class).or_insert(expression);
        }
    }
    let mut expressions: Vec<_> = first_of_class.into_values().collect();
    expressions.sort();
    expressions.dedup();
    expressions
}

/// Returns text such as `cron 800.0 ns (60 expressions, on which trigger 20.0 ns: ratio 40.0)`.
fn compared<S: Subject>(name: &str, own: &BTreeMap<&str, f64>) -> String {
    let shared: Vec<_> = own.iter().filter(|(expression, _)| S::agrees(expression)).collect();
    let peer = geometric_mean(shared.iter().map(|(expression, _)| nanoseconds::<S>(expression)));
    let own = geometric_mean(shared.iter().map(|(_, nanoseconds)| **nanoseconds));
    let count = shared.len();
    let ratio = peer / own;
    format!(
        "{name} {peer:.1} ns ({count} expressions, on which trigger {own:.1} ns: ratio {ratio:.1})"
    )
}

/// Returns the nanoseconds per call in the fastest round.
fn nanoseconds<S: Subject>(expression: &str) -> f64 {
    let subject = S::read(expression, ZONE).expect("the crate can parse the expression");
    let round = || {
        let (start, mut calls) = (Instant::now(), 0_u32);
        while start.elapsed() < ROUND {
            for place in 0..INSTANTS {
                black_box(subject.next(black_box(place)));
            }
            calls += 64;
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, logarithms) =
        values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value.ln()));
    (logarithms / f64::from(count)).exp()
}
