//! Handling of fires that meet an unfinished run of their item.

use std::fmt;

use super::slot::MAX_SLOTS;

/// Maximum number of fires that wait in the queue of an item.
pub const MAX_QUEUED_FIRES: u32 = 100;

/// Handling of a fire that meets an unfinished run of its item, beyond a note of the fire.
///
/// Without one, the field `misfire` alone decides.
///
/// # Examples
/// ```
/// use coordination::Overlap;
///
/// assert_eq!(Overlap::parse("cancel"), Some(Overlap::Cancel));
/// assert_eq!(Overlap::parse("queue 10"), Some(Overlap::Queue(10)));
/// assert_eq!(Overlap::Queue(10).to_string(), "queue 10");
/// assert_eq!(Overlap::parse("parallel 3"), Some(Overlap::Parallel(3)));
/// assert_eq!(Overlap::parse("queue 0"), None);
/// assert_eq!(Overlap::parse("stop"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overlap {
    /// The fire is noted, and the cancellation of the run is requested. Runs that an operator
    /// requested, and runs that stand for noted fires, continue.
    Cancel,
    /// The fire waits for a run of its own, after the fires that wait already. At most this number
    /// of fires wait for an item, from 1 to [`MAX_QUEUED_FIRES`].
    Queue(u32),
    /// The fire runs at once, beside the unfinished runs of its item, as long as fewer than this
    /// number are unfinished. From 2 to [`MAX_SLOTS`](crate::MAX_SLOTS). Further fires are noted,
    /// and run as one run once a run has ended.
    Parallel(u32),
}

impl Overlap {
    /// Description of valid texts.
    pub const VALID: &'static str =
        "cancel, queue 1 to queue 100, parallel 2 to parallel 16, or none: misfire alone decides";

    /// Parses a text. `None` for texts without a meaning.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "cancel" {
            return Some(Self::Cancel);
        }
        let (word, max) = text.split_once(' ')?;
        let max = max.trim().parse().ok()?;
        let overlap = match word {
            "queue" => Self::Queue(max),
            "parallel" => Self::Parallel(max),
            _ => return None,
        };
        Some(overlap).filter(|overlap| overlap.is_valid())
    }

    pub(crate) fn is_valid(self) -> bool {
        match self {
            Self::Cancel => true,
            Self::Queue(max) => (1..=MAX_QUEUED_FIRES).contains(&max),
            Self::Parallel(max) => (2..=MAX_SLOTS).contains(&max),
        }
    }
}

impl fmt::Display for Overlap {
    /// Writes the text that [`parse`](Self::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancel => f.write_str("cancel"),
            Self::Queue(max) => write!(f, "queue {max}"),
            Self::Parallel(max) => write!(f, "parallel {max}"),
        }
    }
}
