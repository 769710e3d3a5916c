//! Blind matching: pairs runs with fires by time alone, without the ids in the records.
//!
//! A fire is a time window and a run is a point in time. Each run serves at most one fire.
//! The runs are taken in order of time, and each run takes the open window that closes first. This
//! serves as many windows as possible.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time window in which a run must begin, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start of the window.
    pub from: u64,
    /// End of the window.
    pub until: u64,
}

/// Windows and runs without a partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Indices of the windows without a run, ascending.
    pub missed: Vec<usize>,
    /// Indices of the runs without a window, ascending.
    pub extra: Vec<usize>,
}

/// Matches as many runs to windows as possible.
///
/// # Examples
/// ```
/// use checker::blind::{Window, match_runs};
///
/// let windows = [Window { from: 0, until: 9 }, Window { from: 5, until: 7 }];
/// let matched = match_runs(&windows, &[6, 6, 20]);
/// assert_eq!((matched.missed, matched.extra), (vec![], vec![2]));
/// assert_eq!(match_runs(&windows, &[8]).missed, [1]);
/// ```
#[must_use]
pub fn match_runs(windows: &[Window], runs: &[u64]) -> Unmatched {
    let mut opening: Vec<usize> = (0..windows.len()).collect();
    opening.sort_by_key(|window| windows[*window].from);
    let mut opening = opening.into_iter().peekable();
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|run| runs[*run]);

    let mut open = BinaryHeap::new();
    let mut unmatched = Unmatched::default();
    for run in order {
        let at = runs[run];
        while let Some(window) = opening.next_if(|window| windows[*window].from <= at) {
            open.push(Reverse((windows[window].until, window)));
        }
        loop {
            match open.pop() {
                None => break unmatched.extra.push(run),
                Some(Reverse((until, window))) if until < at => unmatched.missed.push(window),
                Some(_) => break,
            }
        }
    }
    unmatched.missed.extend(open.into_iter().map(|Reverse((_, window))| window));
    unmatched.missed.extend(opening);
    unmatched.missed.sort_unstable();
    unmatched.extra.sort_unstable();
    unmatched
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the largest possible number of matches, found slowly by augmenting paths.
    fn optimum(windows: &[Window], runs: &[u64]) -> usize {
        fn augment(
            window: usize,
            windows: &[Window],
            runs: &[u64],
            taken: &mut [Option<usize>],
            tried: &mut [bool],
        ) -> bool {
            let Window { from, until } = windows[window];
            (0..runs.len()).any(|run| {
                if !(from..=until).contains(&runs[run]) || std::mem::replace(&mut tried[run], true)
                {
                    return false;
                }
                let free = match taken[run] {
                    None => true,
                    Some(other) => augment(other, windows, runs, taken, tried),
                };
                if free {
                    taken[run] = Some(window);
                }
                free
            })
        }
        let mut taken = vec![None; runs.len()];
        let served = |window: &usize| {
            augment(*window, windows, runs, &mut taken, &mut vec![false; runs.len()])
        };
        (0..windows.len()).filter(served).count()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn greedy_matching_is_optimal(
            windows in prop::collection::vec((0u64..30, 0u64..8), 0..9),
            runs in prop::collection::vec(0u64..40, 0..9),
        ) {
            let windows: Vec<_> =
                windows.iter().map(|(from, length)| Window { from: *from, until: from + length }).collect();
            let matched = match_runs(&windows, &runs);
            let served = windows.len() - matched.missed.len();
            prop_assert_eq!(served, optimum(&windows, &runs));
            prop_assert_eq!(served, runs.len() - matched.extra.len());
        }
    }
}
