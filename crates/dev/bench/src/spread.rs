//! Minimum, median and maximum of measured values.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Summary of the rounds of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
    /// Number of rounds.
    pub(crate) n: usize,
}

impl Spread {
    /// Returns the spread of `values`, or `None` without values.
    ///
    /// The median of an even number of values is the greater of the two in the middle.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Self { min, median: values[values.len() / 2], max, n: values.len() })
    }

    /// Returns the spread of `times` in milliseconds, or `None` without times.
    pub(crate) fn of_times(times: impl IntoIterator<Item = Duration>) -> Option<Self> {
        Self::of(times.into_iter().map(|time| time.as_secs_f64() * 1e3))
    }
}

/// Returns the time in milliseconds that a share of all times does not exceed, or `None` without
/// times.
pub(crate) fn quantile(times: &[Duration], share: f64) -> Option<f64> {
    let mut times = times.to_vec();
    times.sort_unstable();
    let rank = (times.len() as f64 * share).ceil() as usize;
    Some(times.get(rank.max(1) - 1)?.as_secs_f64() * 1e3)
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, median, max, .. } = self;
        match max {
            max if *max >= 100.0 => write!(f, "{min:.0} / {median:.0} / {max:.0}"),
            max => write!(f, "{min:.2} / {median:.2} / {max:.2}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_an_even_number_is_the_greater_middle_value() {
        let rows = [
            (vec![3.0], [3.0, 3.0, 3.0]),
            (vec![3.0, 1.0], [1.0, 3.0, 3.0]),
            (vec![9.0, 1.0, 2.0], [1.0, 2.0, 9.0]),
            (vec![9.0, 1.0, 2.0, 4.0], [1.0, 4.0, 9.0]),
        ];
        for (values, [min, median, max]) in rows {
            let expected = Spread { min, median, max, n: values.len() };
            assert_eq!(Spread::of(values.clone()), Some(expected), "{values:?}");
        }
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn quantile_is_the_time_that_its_share_does_not_exceed() {
        let times = [4, 1, 3, 2].map(Duration::from_millis);
        let rows = [(0.0, 1.0), (0.25, 1.0), (0.26, 2.0), (0.5, 2.0), (0.99, 4.0), (1.0, 4.0)];
        for (share, expected) in rows {
            assert_eq!(quantile(&times, share), Some(expected), "{share}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }
}
