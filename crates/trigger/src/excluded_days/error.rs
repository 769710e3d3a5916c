//! What is wrong with a list of excluded days.

/// A list of days that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "excluded days: `{entry}` {reason}; valid are weekdays (`SAT`), days of the year (`12-25`), dates from 1970 to 2126 \
     (`2026-04-03`) and ranges of two alike (`12-24..01-02`), with commas between them"
)]
#[non_exhaustive]
pub struct ExcludedDaysError {
    /// The entry that is wrong; all of them if it is none by itself.
    pub entry: String,
    /// What is wrong with it.
    pub reason: ExcludedDaysErrorReason,
}

/// What is wrong with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExcludedDaysErrorReason {
    /// Nothing stands before, between or after the commas.
    #[error("is no entry")]
    MissingEntry,
    /// It is none of the forms.
    #[error("is not known")]
    Unknown,
    /// The month has no such day, the year no such month, or the year is out of range.
    #[error("is no day that there is")]
    NoSuchDay,
    /// A range of a weekday and a date, or the like.
    #[error("begins and ends with days of two kinds")]
    Unalike,
    /// A range of dates that ends before it begins.
    #[error("ends before it begins")]
    Backwards,
    /// Nothing would ever fire.
    #[error("leaves no day over")]
    EveryDay,
    /// There are more than 1000.
    #[error("are more than 1000")]
    TooMany,
}

impl ExcludedDaysError {
    pub(super) fn new(entry: String, reason: ExcludedDaysErrorReason) -> ExcludedDaysError {
        ExcludedDaysError { entry, reason }
    }
}
