//! Progress of a run, as its code reports it.

use std::fmt;

use sharding::InstanceId;

use crate::{FencingToken, Ledger, OutcomeCounts, Slot};

/// Maximum length of a progress message, in bytes of UTF-8.
pub const MAX_PROGRESS_MESSAGE_BYTES: usize = 256;

/// Progress of a run: the number of finished steps, of all steps if it is known, and a message.
///
/// # Examples
/// ```
/// use coordination::Progress;
///
/// let progress = Progress::new(30, Some(120), "copied table users")?;
/// assert_eq!(progress.percent(), Some(25));
/// assert_eq!(progress.to_string(), "30 of 120, copied table users");
/// let error = Progress::new(5, Some(4), "").unwrap_err();
/// assert_eq!(error.to_string(), "done is 5; valid are 0 to the total, which is 4");
/// # Ok::<(), coordination::InvalidProgress>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Progress {
    done: u64,
    total: Option<u64>,
    message: String,
}

/// Why a progress is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidProgress {
    /// More is done than there is in total.
    AboveTotal {
        /// Number of finished steps.
        done: u64,
        /// Number of all steps.
        total: u64,
    },
    /// The message is longer than [`MAX_PROGRESS_MESSAGE_BYTES`].
    LongMessage {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The message has a control character, such as a line break.
    ControlCharacter {
        /// The first such character.
        found: char,
    },
}

impl fmt::Display for InvalidProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AboveTotal { done, total } => {
                write!(f, "done is {done}; valid are 0 to the total, which is {total}")
            }
            Self::LongMessage { bytes } => write!(
                f,
                "the message has {bytes} bytes; valid are at most {MAX_PROGRESS_MESSAGE_BYTES}"
            ),
            Self::ControlCharacter { found } => write!(
                f,
                "the message has the control character {found:?}; valid is one line of text"
            ),
        }
    }
}

impl std::error::Error for InvalidProgress {}

impl Progress {
    /// Makes a progress. The message may be empty, and the total unknown.
    ///
    /// # Errors
    /// [`InvalidProgress`].
    pub fn new(done: u64, total: Option<u64>, message: &str) -> Result<Self, InvalidProgress> {
        if let Some(total) = total.filter(|total| done > *total) {
            return Err(InvalidProgress::AboveTotal { done, total });
        }
        if message.len() > MAX_PROGRESS_MESSAGE_BYTES {
            return Err(InvalidProgress::LongMessage { bytes: message.len() });
        }
        if let Some(found) = message.chars().find(|c| c.is_control()) {
            return Err(InvalidProgress::ControlCharacter { found });
        }
        Ok(Self { done, total, message: message.to_owned() })
    }

    /// Returns the number of finished steps.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Returns the number of all steps; `None` if the code does not know it.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Returns the message; empty if there is none.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the finished part in percent, rounded down; `None` without a total above 0.
    #[must_use]
    pub fn percent(&self) -> Option<u8> {
        let total = u128::from(self.total.filter(|total| *total > 0)?);
        u8::try_from(u128::from(self.done) * 100 / total).ok()
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            Some(total) => write!(f, "{} of {total}", self.done)?,
            None => write!(f, "{}", self.done)?,
        }
        if self.message.is_empty() { Ok(()) } else { write!(f, ", {}", self.message) }
    }
}

/// The stored progress of a run of an item. It stays after the end of the run, until the next run
/// of the item stores its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgressRecord {
    /// Fencing token of the run.
    pub token: FencingToken,
    /// Time of the report by the clock of the run's instance, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// The progress.
    pub progress: Progress,
    /// Numbers of processed records of this run and all runs before it.
    pub counts: OutcomeCounts,
}

impl ProgressRecord {
    /// Makes the record of a run, without processed records.
    #[must_use]
    pub fn new(token: FencingToken, at_ms: i64, progress: Progress) -> Self {
        Self { token, at_ms, progress, counts: OutcomeCounts::default() }
    }

    /// Sets the numbers of processed records of this run and all runs before it.
    #[must_use]
    pub fn counting(self, counts: OutcomeCounts) -> Self {
        Self { counts, ..self }
    }
}

/// A run that writes nodes of its item: the checkpoint and the progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunWriter {
    /// The slot of the run.
    pub slot: Slot,
    /// The instance that holds the run.
    pub holder: InstanceId,
    /// The fencing token of the run.
    pub token: FencingToken,
}

impl RunWriter {
    /// Returns true if the record of the slot shows this run.
    pub(crate) fn holds(&self, record: &Ledger) -> bool {
        record.is_held(&self.holder, self.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_progress_is_rejected_with_the_valid_values() {
        let long = "é".repeat(129);
        let rows = [
            (11, Some(10), "", "done is 11; valid are 0 to the total, which is 10"),
            (1, Some(0), "", "done is 1; valid are 0 to the total, which is 0"),
            (0, None, &long, "the message has 258 bytes; valid are at most 256"),
            (0, None, "a\nb", "the message has the control character '\\n'; valid is one line"),
        ];
        for (done, total, message, expected) in rows {
            let error = Progress::new(done, total, message).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn percentage_is_rounded_down_and_needs_a_total() {
        let rows = [
            (0, Some(0), None),
            (7, None, None),
            (0, Some(3), Some(0)),
            (2, Some(3), Some(66)),
            (u64::MAX - 1, Some(u64::MAX), Some(99)),
            (u64::MAX, Some(u64::MAX), Some(100)),
        ];
        for (done, total, expected) in rows {
            assert_eq!(Progress::new(done, total, "").unwrap().percent(), expected, "{done}");
        }
    }
}
