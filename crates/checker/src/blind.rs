//! Blind matching: which runs can stand for which fires, if one trusts nothing but the clock.
//!
//! Fires are windows, runs are points, each run stands for at most one fire. Taking the runs in the order of time, and
//! for each the open window that closes first, serves as many windows as any other way does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A stretch of time in which a run must begin, ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When it opens.
    pub from: u64,
    /// When it closes.
    pub until: u64,
}

/// What has found no partner.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Windows without a run, by their places, ascending.
    pub missed: Vec<usize>,
    /// Runs without a window, by their places, ascending.
    pub extra: Vec<usize>,
}

/// Matches runs to windows, as many as possible.
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

    /// As many windows as augmenting paths can serve: the optimum, slowly.
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
        fn the_greedy_match_is_as_large_as_any(
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
