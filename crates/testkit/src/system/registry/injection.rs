//! Injected actions that wait for a write of a process.

use crate::cluster::{Action, Point, When};

/// An action that is armed for a point of a process's writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Injection {
    pub(super) point: Point,
    pub(super) action: Action,
}

/// An action after the execution of a write, and its description in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActionAfterWrite {
    pub(super) action: Action,
    pub(super) why: String,
}

/// The actions that a write has triggered: at most one before it, and any number after it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fired {
    pub(super) before: Option<Action>,
    pub(super) after: Vec<ActionAfterWrite>,
}

/// Counts a write for all armed injections, and removes those that it triggers.
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
            // A write has at most one action before it. The other injection waits for the next
            // write.
            When::Before if fired.before.is_some() => return true,
            When::Before => fired.before = Some(action),
            When::After => {
                fired
                    .after
                    .push(ActionAfterWrite { action, why: describe(action, When::After, label) });
            }
        }
        false
    });
    fired
}

/// Returns the description of a point for the history.
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
    fn at_most_one_action_runs_before_a_write() {
        let point = || Point { duty: None, nth: 0, when: When::Before };
        let kill = Injection { point: point(), action: Action::Kill };
        let lose = Injection { point: point(), action: Action::Lose };
        let mut armed = vec![lose, kill];
        let fired: Vec<_> = (0..3).map(|_| count(&mut armed, "claim").before).collect();
        assert_eq!(fired, [Some(Action::Lose), Some(Action::Kill), None]);
    }

    #[test]
    fn injection_fires_once_at_its_write() {
        let point = |duty: Option<&str>, nth| Point {
            duty: duty.map(str::to_owned),
            nth,
            when: When::After,
        };
        let rows = [
            ("first write of any duty", point(None, 0), vec![true, false, false]),
            ("second write of any duty", point(None, 1), vec![false, true, false]),
            ("first claim", point(Some("claim"), 0), vec![false, true, false]),
            ("second claim", point(Some("claim"), 1), vec![false, false, true]),
        ];
        for (case, point, expected) in rows {
            let mut armed = vec![Injection { point, action: Action::Kill }];
            let fires = |label: &&str| !count(&mut armed, label).after.is_empty();
            let fired: Vec<_> = ["release", "claim", "claim"].iter().map(fires).collect();
            assert_eq!(fired, expected, "{case}");
        }
    }
}
