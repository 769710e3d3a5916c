//! Period of a verification, and the verdicts that it lists.

use jiff::{SignedDuration, Timestamp};

use super::Verdict;
use crate::{Error, Result};

/// Longest period of a verification.
const MAX_PERIOD: SignedDuration = SignedDuration::from_hours(366 * 24);
/// Maximum number of listed fires.
const MAX_LISTED: u32 = 100_000;

/// Period to judge, and the verdicts to list.
///
/// # Examples
/// ```
/// use job_history::{Verdict, VerifyQuery};
///
/// let day = VerifyQuery::new("2024-02-29T00:00:00Z".parse()?, "2024-03-01T00:00:00Z".parse()?);
/// let findings = day.verdicts([Verdict::RunTwice, Verdict::Unexplained]).limit(100);
/// # let _ = findings;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyQuery {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) listed: Vec<Verdict>,
    pub(super) limit: u32,
}

impl VerifyQuery {
    /// Selects the fires from `from` to before `until`: at most 366 days. It lists the first 1 000
    /// fires with any verdict.
    #[must_use]
    pub fn new(from: Timestamp, until: Timestamp) -> Self {
        Self { from, until, listed: Verdict::ALL.to_vec(), limit: 1_000 }
    }

    /// Lists only fires with these verdicts. All others are still counted.
    #[must_use]
    pub fn verdicts(mut self, verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        self.listed = verdicts.into_iter().collect();
        self
    }

    /// Lists at most this many fires: 1 to 100 000.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Checks the period and the limit, without the number of fires.
    ///
    /// # Errors
    /// [`Error::InvalidOption`], as [`verify`](crate::History::verify) returns it.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        let invalid =
            |option, value: String, expected| Err(Error::InvalidOption { option, value, expected });
        if self.from >= now {
            return invalid("from", format!("{}, now is {now}", self.from), "a time before now");
        }
        if self.until <= self.from {
            let value = format!("{} with from {}", self.until, self.from);
            return invalid("until", value, "a time after from");
        }
        if self.until.duration_since(self.from) > MAX_PERIOD {
            let value = format!("{} with from {}", self.until, self.from);
            return invalid("until", value, "at most 366 days after from");
        }
        if !(1..=MAX_LISTED).contains(&self.limit) {
            return invalid("limit", self.limit.to_string(), "1 to 100000 fires");
        }
        Ok(())
    }
}
