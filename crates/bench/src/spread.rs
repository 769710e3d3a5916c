//! Minimum, median and maximum of what was measured.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// What the rounds of a measurement came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
    /// How many rounds.
    pub(crate) n: usize,
}

impl Spread {
    /// Returns the spread of some values; `None` of none. The median of an even number is the greater of the two in the middle.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Self { min, median: values[values.len() / 2], max, n: values.len() })
    }

    /// Returns the spread of some times in milliseconds; `None` of none.
    pub(crate) fn of_times(times: impl IntoIterator<Item = Duration>) -> Option<Self> {
        Self::of(times.into_iter().map(|time| time.as_secs_f64() * 1e3))
    }
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
    fn the_median_is_in_the_middle() {
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
}
