//! Colors of the words that name a state.

use anstyle::{AnsiColor, Style};

/// Style of headings.
pub(super) const HEADING: Style = Style::new().bold();
/// Style of remarks about a table.
pub(super) const REMARK: Style = Style::new().dimmed();

const GOOD: [&str; 8] =
    ["OK", "ok", "RUNNING", "available", "enabled", "running", "succeeded", "yes"];
const WARNING: [&str; 19] = [
    "DISABLED",
    "NO_INSTANCE",
    "ORPHANED",
    "PAUSED",
    "RESHARDING",
    "UNOWNED",
    "cancelled",
    "disabled",
    "gap",
    "interrupted",
    "leaving",
    "misfired",
    "orphaned",
    "paused",
    "pending",
    "suspended",
    "unavailable",
    "unknown",
    "warning",
];
const BAD: [&str; 11] = [
    "CRASHED",
    "FAILING",
    "critical",
    "error",
    "failed",
    "missed",
    "panicked",
    "run_twice",
    "timed_out",
    "unexplained",
    "violated",
];

/// Returns the style of a state by its first word; other words have none.
pub(super) fn of_state(text: &str) -> Style {
    let word = text.split([' ', ',', ':']).next().unwrap_or_default();
    let is_in = |words: &[&str]| words.contains(&word);
    let color = if is_in(&GOOD) {
        AnsiColor::Green
    } else if is_in(&WARNING) {
        AnsiColor::Yellow
    } else if is_in(&BAD) {
        AnsiColor::Red
    } else {
        return Style::new();
    };
    Style::new().fg_color(Some(color.into()))
}

/// Paints the first word of a line if it is a state.
pub(super) fn with_state(line: &str) -> String {
    let word = line.split(' ').next().unwrap_or_default();
    painted(word, of_state(word)) + &line[word.len()..]
}

/// Returns a text between the escape sequences of a style.
pub(super) fn painted(text: &str, style: Style) -> String {
    if style.is_plain() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

#[cfg(test)]
mod tests {
    use job_history::FireOutcome;
    use operations::JobState;

    use super::*;

    #[test]
    fn each_state_of_a_job_and_each_outcome_has_a_color() {
        use JobState::{Crashed, Disabled, Failing, NoInstance, Ok, Paused, Resharding};
        let jobs = [Ok, Failing, Resharding, Paused, Disabled, NoInstance, Crashed];
        let states = jobs.map(JobState::as_str).into_iter().chain(FireOutcome::words());
        for state in states {
            assert!(!of_state(state).is_plain(), "{state}");
            assert_eq!(of_state(&format!("{state} (1 of 2 items)")), of_state(state), "{state}");
        }
        assert!(of_state("").is_plain() && of_state("report").is_plain());
    }
}
