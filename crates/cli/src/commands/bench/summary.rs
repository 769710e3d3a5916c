//! Minimum, median and maximum of a measurement.

use std::time::Duration;

use serde::Serialize;

/// Times of one measurement, over all its rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Summary {
    what: &'static str,
    /// Number of operations of a transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<usize>,
    rounds: usize,
    min_us: u64,
    median_us: u64,
    max_us: u64,
}

impl Summary {
    /// Sums up at least one time.
    ///
    /// The median of an even number of times is the lower of the middle two, so it was measured.
    pub(super) fn of(
        what: &'static str,
        operations: Option<usize>,
        mut times: Vec<Duration>,
    ) -> Self {
        times.sort_unstable();
        let at = |index: usize| {
            let time = times.get(index).copied().unwrap_or_default();
            u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
        };
        let rounds = times.len();
        let last = rounds.saturating_sub(1);
        Self { what, operations, rounds, min_us: at(0), median_us: at(last / 2), max_us: at(last) }
    }

    pub(super) fn row(&self) -> Vec<String> {
        let what = match self.operations {
            Some(n) => format!("{} of {n}", self.what),
            None => self.what.to_owned(),
        };
        let mut row = vec![what, self.rounds.to_string()];
        row.extend([self.min_us, self.median_us, self.max_us].map(millis));
        row
    }
}

/// Formats microseconds as milliseconds with three decimals.
fn millis(us: u64) -> String {
    format!("{}.{:03} ms", us / 1_000, us % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_a_measured_time() {
        let rows: [(&[u64], [&str; 3]); 4] = [
            (&[7], ["0.007 ms", "0.007 ms", "0.007 ms"]),
            (&[3_000, 1, 20], ["0.001 ms", "0.020 ms", "3.000 ms"]),
            (&[4, 1, 3, 2], ["0.001 ms", "0.002 ms", "0.004 ms"]),
            (&[1_234_567, 0], ["0.000 ms", "0.000 ms", "1234.567 ms"]),
        ];
        for (times, expected) in rows {
            let times: Vec<_> = times.iter().copied().map(Duration::from_micros).collect();
            let n = times.len();
            let row = Summary::of("transaction", Some(2), times.clone()).row();
            assert_eq!(row[..2], ["transaction of 2".to_owned(), n.to_string()], "{times:?}");
            assert_eq!(row[2..], expected, "{times:?}");
        }
    }
}
