//! Many seeds on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::coverage::Coverage;
use super::record::Keep;
use super::run::{Judge, run};
use super::script::Script;
use super::world::Violation;

/// What came of many runs.
#[derive(Debug, Default)]
pub struct Totals {
    /// How many seeds were run.
    pub seeds: u64,
    /// How many of them count: something was broken in them, and something ran.
    pub telling: u64,
    /// How many steps they had.
    pub steps: u64,
    /// Virtual time, in milliseconds.
    pub elapsed_ms: i64,
    /// What happened.
    pub coverage: Coverage,
    /// Which seeds failed, and how, in ascending order.
    pub failures: Vec<(u64, Violation)>,
}

impl Totals {
    /// Returns one line with everything that a reader wants to know first.
    #[must_use]
    pub fn summary(&self, wall_seconds: f64) -> String {
        let hours = Duration::millis(self.elapsed_ms).hours();
        format!(
            "seeds {} telling {} steps {} simulated_hours {hours:.1} events {} faults {} runs {} failovers {} misfires {} reshardings {} violations {} wall_seconds {wall_seconds:.1}",
            self.seeds,
            self.telling,
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
        self.telling += other.telling;
        self.steps += other.steps;
        self.elapsed_ms += other.elapsed_ms;
        self.coverage.add(&other.coverage);
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|(seed, _)| *seed);
    }
}

/// Virtual time that is only shown.
struct Duration(f64);

impl Duration {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    fn millis(ms: i64) -> Self {
        Self(ms as f64)
    }

    fn hours(&self) -> f64 {
        self.0 / 3_600_000.0
    }
}

/// Runs `seeds` seeds from `first` on, on `threads` threads; fewer if there are no more numbers.
///
/// # Panics
/// If a thread panics, which is a fault of the harness: panics of the product are violations.
#[must_use]
pub fn run_seeds(first: u64, seeds: u64, threads: usize, judge: Judge) -> Totals {
    let (next, all) = (AtomicU64::new(0), Mutex::new(Totals::default()));
    let work = || {
        let mut mine = Totals::default();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(seed) = first.checked_add(place).filter(|_| place < seeds) else { break };
            let report = run(&Script::draw(seed), judge, Keep::default());
            mine.seeds += 1;
            mine.telling += u64::from(report.coverage.is_telling());
            mine.steps += report.steps;
            mine.elapsed_ms += report.elapsed_ms;
            mine.coverage.add(&report.coverage);
            mine.failures.extend(report.violation.map(|violation| (seed, violation)));
        }
        all.lock().expect("no thread panics while it adds").add(mine);
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    all.into_inner().expect("all threads have ended")
}
