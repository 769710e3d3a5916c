//! A request to cancel one run of an item, as the item's record contains it.

use std::sync::Arc;

use super::one_line::one_line;
use crate::{AuditRecord, FencingToken, FireTime};

/// A request to cancel one run.
///
/// It names the run by its fencing token, so that it can never concern another run of the item.
///
/// # Examples
/// ```
/// use coordination::{CancelRequest, FencingToken};
///
/// let request = CancelRequest::new(FencingToken(7), "anna", "wrong month", 1_709_208_000_000)
///     .expect("neither text is blank");
/// assert_eq!((request.by(), request.why()), ("anna", "wrong month"));
/// assert_eq!(CancelRequest::new(FencingToken(7), "anna", " ", 0), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CancelRequest {
    token: FencingToken,
    by: Arc<str>,
    why: Arc<str>,
    at_ms: i64,
}

impl CancelRequest {
    /// Makes a request. `None` if author or reason are blank.
    ///
    /// Each text becomes one line without control characters, of at most
    /// [`AuditRecord::MAX_TEXT_BYTES`] bytes of UTF-8; a longer one is cut and ends with `…`.
    /// `at_ms` is the time of the request by its author's clock, in milliseconds since 1970 UTC.
    #[must_use]
    pub fn new(token: FencingToken, by: &str, why: &str, at_ms: i64) -> Option<Self> {
        let text = |text| one_line(text, AuditRecord::MAX_TEXT_BYTES).map(Arc::from);
        Some(Self { token, by: text(by)?, why: text(why)?, at_ms })
    }

    /// Author of the requests of a job with `overlap = cancel`.
    pub const BY_OVERLAP: &str = "the overlap policy of the job";

    /// Makes the request of a job with `overlap = cancel` for a fire that met the run.
    #[must_use]
    pub(crate) fn for_fire(token: FencingToken, fire: FireTime, at_ms: i64) -> Self {
        let why = format!("the fire of {fire} met the run").into();
        Self { token, by: Self::BY_OVERLAP.into(), why, at_ms }
    }

    /// Returns the fencing token of the run.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// Returns the author.
    #[must_use]
    pub fn by(&self) -> &str {
        &self.by
    }

    /// Returns the reason.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Returns the cause of a run that this request ended. `end` is the event that cut it short, if
    /// that was not the request alone.
    #[must_use]
    pub fn cause(&self, end: Option<&str>) -> String {
        let cause = format!("cancelled by {}: {}", self.by, self.why);
        match end {
            Some(end) => format!("{cause} ({end})"),
            None => cause,
        }
    }

    /// Returns the time of the request by its author's clock, in milliseconds since 1970 UTC.
    #[must_use]
    pub fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// Returns the maximum length of both texts in JSON, in bytes: only quotes and backslashes are
    /// escaped, each by one more byte.
    pub(crate) fn json_bytes(&self) -> usize {
        2 * (self.by.len() + self.why.len())
    }
}
