//! Plays many seeds on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::coverage::Coverage;
use super::record::Keep;
use super::run::{Judge, run};
use super::script::Script;
use super::world::Violation;

/// Totals over many runs.
#[derive(Debug, Default)]
pub struct Totals {
    /// Number of seeds.
    pub seeds: u64,
    /// Number of meaningful runs: a fault hit, and an item ran.
    pub meaningful: u64,
    /// Number of steps.
    pub steps: u64,
    /// Virtual time, in milliseconds.
    pub elapsed_ms: i64,
    /// Coverage of all runs.
    pub coverage: Coverage,
    /// Failed seeds and their violations, in ascending order.
    pub failures: Vec<(u64, Violation)>,
}

impl Totals {
    /// Returns the totals as one line.
    #[must_use]
    pub fn summary(&self, wall_seconds: f64) -> String {
        let hours = Duration::millis(self.elapsed_ms).hours();
        format!(
            "seeds {} meaningful {} steps {} simulated_hours {hours:.1} events {} faults {} runs {} failovers {} misfires {} reshardings {} violations {} wall_seconds {wall_seconds:.1}",
            self.seeds,
            self.meaningful,
            self.steps,
            self.coverage.events,
            self.coverage.faults,
            self.coverage.runs,
            self.coverage.of("failover"),
            self.coverage.of("misfire"),
            self.coverage.of("resharded"),
            self.failures.len(),
        )
    }

    fn add(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.meaningful += other.meaningful;
        self.steps += other.steps;
        self.elapsed_ms += other.elapsed_ms;
        self.coverage.add(&other.coverage);
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|(seed, _)| *seed);
    }
}

/// A duration for display.
struct Duration(f64);

impl Duration {
    #[expect(clippy::cast_precision_loss, reason = "the value is only displayed")]
    fn millis(ms: i64) -> Self {
        Self(ms as f64)
    }

    fn hours(&self) -> f64 {
        self.0 / 3_600_000.0
    }
}

/// Runs the scripts of `seeds` seeds from `first` on, on `threads` threads. It runs fewer seeds if
/// the numbers end.
///
/// # Panics
/// If a worker thread panics, which is a fault of the harness: panics of the product are
/// violations.
#[must_use]
pub fn run_seeds(
    first: u64,
    seeds: u64,
    threads: usize,
    judge: Judge,
    script: impl Fn(u64) -> Script + Sync,
) -> Totals {
    let (next, all) = (AtomicU64::new(0), Mutex::new(Totals::default()));
    let work = || {
        let mut totals = Totals::default();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = first.checked_add(place).filter(|_| place < seeds) else { break };
            let report = run(&script(seed), judge, Keep::default());
            totals.seeds += 1;
            totals.meaningful += u64::from(report.coverage.is_meaningful());
            totals.steps += report.steps;
            totals.elapsed_ms += report.elapsed_ms;
            totals.coverage.add(&report.coverage);
            totals.failures.extend(report.violation.map(|violation| (seed, violation)));
        }
        all.lock().expect("no thread panics while it adds").add(totals);
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    all.into_inner().expect("all threads have ended")
}
