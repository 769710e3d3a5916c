//! Outcome of a fire of an item.

use std::fmt;

use coordination::Outcome;

/// Outcome of a fire of an item, or its present state.
///
/// | word | meaning | final |
/// |---|---|---|
/// | the words of [`Outcome`] | the last run was completed with this outcome | yes [^1] |
/// | `running` | a run has begun, and this store has no end of it | no |
/// | `unknown` | a run is over, and this store has no end of it [^2] | no |
/// | `orphaned` | the holder is gone, and another instance takes the run over | no |
/// | `missed` | missed fire; the reason says why | yes |
/// | `misfired` | the fire met a busy item; a later run of source `MISFIRE` covers it | yes |
/// | `gap` | no instance ran the fires up to `gap_until`, or gave a reason | yes [^3] |
///
/// [^1]: Except `interrupted`, if another instance takes the run over.
///
/// [^2]: Its process was killed, or wrote the end to another store.
///
/// [^3]: Unless the job catches up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FireOutcome(String);

impl FireOutcome {
    /// Creates an outcome from its word, which may be unknown to this version.
    pub fn new(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// Returns `running`.
    #[must_use]
    pub fn running() -> Self {
        Self::new("running")
    }

    /// Returns `unknown`.
    #[must_use]
    pub fn unknown() -> Self {
        Self::new("unknown")
    }

    /// Returns all words that this version knows, in the order of the table.
    ///
    /// # Examples
    /// ```
    /// use job_history::FireOutcome;
    ///
    /// assert!(FireOutcome::words().contains(&"timed_out"));
    /// ```
    #[must_use]
    pub fn words() -> [&'static str; 13] {
        use Outcome::{Cancelled, Disabled, Failed, Interrupted, Panicked, Succeeded, TimedOut};
        let [a, b, c, d, e, f, g] =
            [Succeeded, Failed, Panicked, TimedOut, Interrupted, Cancelled, Disabled]
                .map(Outcome::as_str);
        [a, b, c, d, e, f, g, "running", "unknown", "orphaned", "missed", "misfired", "gap"]
    }

    /// Returns `orphaned`.
    #[must_use]
    pub fn orphaned() -> Self {
        Self::new("orphaned")
    }

    /// Returns `missed`.
    #[must_use]
    pub fn missed() -> Self {
        Self::new("missed")
    }

    /// Returns `misfired`.
    #[must_use]
    pub fn misfired() -> Self {
        Self::new("misfired")
    }

    /// Returns `gap`.
    #[must_use]
    pub fn gap() -> Self {
        Self::new("gap")
    }

    /// Returns the word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Outcome> for FireOutcome {
    fn from(outcome: Outcome) -> Self {
        Self::new(outcome.as_str())
    }
}

impl fmt::Display for FireOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
