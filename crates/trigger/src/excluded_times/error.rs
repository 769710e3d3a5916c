//! Errors of excluded times.

use std::sync::Arc;

/// An error in a text of excluded times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("excluded times: `{entry}` {reason}; valid are {VALID}")]
#[non_exhaustive]
pub struct ExcludedTimesError {
    /// The invalid entry or event, at most 80 characters of it.
    pub entry: String,
    /// The reason.
    pub reason: ExcludedTimesErrorReason,
}

/// Reason why an entry is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExcludedTimesErrorReason {
    /// The text has neither a window, a span nor an event.
    #[error("excludes no time")]
    NoEntry,
    /// An entry has only a reason.
    #[error("has no time before `#`")]
    MissingTime,
    /// The entry has none of the valid forms.
    #[error("has none of the valid forms")]
    Unknown,
    /// The days of a window are invalid.
    #[error("has invalid days ({0})")]
    Days(crate::excluded_days::ExcludedDaysErrorReason),
    /// The end is not after the start.
    #[error("ends before it begins, or has no length")]
    Backwards,
    /// The text is longer than 65536 bytes.
    #[error("exceed the maximum of 65536")]
    TooLong,
    /// There are more than 100 windows, days and spans.
    #[error("exceed the maximum of 100")]
    TooMany,
    /// There are more than 20 windows of a part of the day.
    #[error("exceed the maximum of 20")]
    TooManyWindows,
    /// There are more than 1000 events.
    #[error("exceed the maximum of 1000")]
    TooManyEvents,
    /// There are more than 100 events with a recurrence rule.
    #[error("exceed the maximum of 100")]
    TooManyRules,
    /// The events have more than 20000 occurrences.
    #[error("exceed the maximum of 20000 until 2126; a RRULE can end by UNTIL or COUNT")]
    TooManyOccurrences,
    /// The events have times in more than 20 zones.
    #[error("exceed the maximum of 20")]
    TooManyZones,
    /// The text is no iCalendar text.
    #[error("is no iCalendar text ({0})")]
    Syntax(String),
    /// A property of an event is missing or invalid.
    #[error("has {0}")]
    Property(String),
}

const VALID: &str = "windows of the day (`22:00..06:00 # backup`, `MON..FRI 09:00..17:00`), days \
                     (`SAT..SUN,12-25 # closed`), spans \
                     (`2026-12-24T18:00..2026-12-27T06:00 # freeze`) and iCalendar texts \
                     (`BEGIN:VCALENDAR` to `END:VCALENDAR`), one a line";

/// Maximum number of characters of an entry in an error, and of a reason.
const SHOWN: usize = 80;

impl ExcludedTimesError {
    pub(super) fn new(entry: &str, reason: ExcludedTimesErrorReason) -> ExcludedTimesError {
        ExcludedTimesError { entry: shown(entry), reason }
    }
}

/// Returns the reason of an exclusion, as displays show it.
pub(super) fn reason_of(text: &str) -> Arc<str> {
    shown(text).into()
}

/// Returns the first characters of a text, on one line.
fn shown(text: &str) -> String {
    let is_hidden = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.chars().take(SHOWN).map(|c| if is_hidden(c) { ' ' } else { c }).collect()
}
