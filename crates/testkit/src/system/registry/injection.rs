//! Faults that wait for a write: armed by a scenario, fired by the write itself.

use crate::cluster::{Action, Point, When};

/// Something that shall happen to a process at a point of its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Injection {
    pub(super) point: Point,
    pub(super) action: Action,
}

/// Something that happens when a write has been executed, if it comes to that, and how the history describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Follows {
    pub(super) action: Action,
    pub(super) why: String,
}

/// What a write has set off: at most one thing before it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fired {
    pub(super) before: Option<Action>,
    pub(super) after: Vec<Follows>,
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
        let action = injection.action;
        match point.when {
            // The next write is early enough for another one.
            When::Before if fired.before.is_some() => return true,
            When::Before => fired.before = Some(action),
            When::After => {
                fired.after.push(Follows { action, why: describe(action, When::After, label) });
            }
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
    fn one_thing_happens_before_a_write() {
        let point = || Point { duty: None, nth: 0, when: When::Before };
        let kill = Injection { point: point(), action: Action::Kill };
        let lose = Injection { point: point(), action: Action::Lose };
        let mut armed = vec![lose, kill];
        let fired: Vec<_> = (0..3).map(|_| count(&mut armed, "claim").before).collect();
        assert_eq!(fired, [Some(Action::Lose), Some(Action::Kill), None]);
    }

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
