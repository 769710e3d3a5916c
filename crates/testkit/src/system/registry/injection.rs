//! Faults that wait for a write: armed by a scenario, fired by the write itself.

use crate::scenario::{Action, Point, When};

/// Something that shall happen to a process at a point of its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Injection {
    pub(super) point: Point,
    pub(super) action: Action,
}

/// What a write has set off.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fired {
    pub(super) before: Vec<Action>,
    pub(super) after: Vec<Action>,
}

/// Counts a write against all armed injections, and takes out those whose turn it is.
pub(super) fn count(armed: &mut Vec<Injection>, label: &str) -> Fired {
    let mut fired = Fired::default();
    armed.retain_mut(|injection| {
        let point = &mut injection.point;
        if point.duty.as_deref().is_some_and(|duty| duty != label) {
            return true;
        }
        if point.nth > 0 {
            point.nth -= 1;
            return true;
        }
        match point.when {
            When::Before => fired.before.push(injection.action),
            When::After => fired.after.push(injection.action),
        }
        false
    });
    fired
}

/// Says which point this is, for the history.
pub(super) fn describe(action: Action, when: When, label: &str) -> String {
    let when = match when {
        When::Before => "before",
        When::After => "after",
    };
    let write = if label.is_empty() { "a write" } else { label };
    format!("{action:?} {when} {write}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_injection_fires_once_at_the_write_that_it_waits_for() {
        let point = |duty: Option<&str>, nth| Point {
            duty: duty.map(str::to_owned),
            nth,
            when: When::After,
        };
        let rows = [
            ("the first of any", point(None, 0), vec![true, false, false]),
            ("the second of any", point(None, 1), vec![false, true, false]),
            ("the first claim", point(Some("claim"), 0), vec![false, true, false]),
            ("the second claim", point(Some("claim"), 1), vec![false, false, true]),
        ];
        for (case, point, expected) in rows {
            let mut armed = vec![Injection { point, action: Action::Kill }];
            let fires = |label: &&str| !count(&mut armed, label).after.is_empty();
            let fired: Vec<_> = ["release", "claim", "claim"].iter().map(fires).collect();
            assert_eq!(fired, expected, "{case}");
        }
    }
}
