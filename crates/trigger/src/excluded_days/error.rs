//! Errors of excluded days.

/// An error in a list of excluded days.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "excluded days: `{entry}` {reason}; valid are weekdays (`SAT`), days of the year (`12-25`), dates \
     from 1970 to 2126 (`2026-04-03`) and ranges of one kind (`12-24..01-02`), separated by commas"
)]
#[non_exhaustive]
pub struct ExcludedDaysError {
    /// The invalid entry, or the whole text if no single entry is invalid.
    pub entry: String,
    /// The reason.
    pub reason: ExcludedDaysErrorReason,
}

/// Reason why an entry is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExcludedDaysErrorReason {
    /// The text before, between or after the commas is empty.
    #[error("is an empty entry")]
    MissingEntry,
    /// The entry has none of the valid forms.
    #[error("has none of the valid forms")]
    Unknown,
    /// The month has no such day, the year no such month, or the year is out of range.
    #[error("does not exist")]
    NoSuchDay,
    /// The first and the last day of a range are of different kinds, such as a weekday and a date.
    #[error("mixes two kinds of days")]
    Unalike,
    /// A range of dates that ends before it begins.
    #[error("ends before it begins")]
    Backwards,
    /// All days are excluded, so that nothing would ever fire.
    #[error("excludes every day")]
    EveryDay,
    /// The list has more than 1000 entries.
    #[error("exceed the maximum of 1000")]
    TooMany,
}

impl ExcludedDaysError {
    pub(super) fn new(entry: String, reason: ExcludedDaysErrorReason) -> ExcludedDaysError {
        ExcludedDaysError { entry, reason }
    }
}
