//! Errors of time zone names.

/// Error for a name that is not a time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("time zone is {name:?}; valid is {}", self.valid())]
#[non_exhaustive]
pub struct ZoneError {
    /// The invalid name.
    pub name: String,
    /// The reason.
    pub reason: ZoneErrorReason,
}

impl ZoneError {
    /// Returns a description of the valid names, with the reason why this one is not valid.
    ///
    /// Each error about a time zone shows this text after the field and its value.
    ///
    /// # Examples
    /// ```
    /// let error = trigger::Zone::parse("UTC+8").unwrap_err();
    /// assert_eq!(
    ///     error.valid(),
    ///     "an IANA name such as Asia/Shanghai, or an offset such as GMT+08:00; \
    ///      did you mean GMT+08:00?"
    /// );
    /// ```
    #[must_use]
    pub fn valid(&self) -> String {
        const VALID: &str = "an IANA name such as Asia/Shanghai, or an offset such as GMT+08:00";
        if self.reason == ZoneErrorReason::Unknown {
            return VALID.to_owned();
        }
        format!("{VALID}; {}", self.reason)
    }
}

/// Reason why a name is not a time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ZoneErrorReason {
    /// The name is not in the database.
    #[error("the name is unknown")]
    Unknown,
    /// The name is not in the database, but similar to a valid one, or the last part of one.
    #[error("did you mean {0}?")]
    DidYouMean(String),
    /// The name is not in the database, and looks like an abbreviation. `CST` is a time in China,
    /// in America and in Cuba.
    #[error("an abbreviation has several meanings")]
    Abbreviation,
    /// The name begins with `GMT+` or `GMT-`, but no valid hours and minutes follow.
    #[error("h, hh, h:mm, hh:mm or hhmm must follow the sign")]
    NoOffset,
    /// The offset has more than 23 hours or more than 59 minutes.
    #[error("an offset has at most 23 hours and 59 minutes")]
    OffsetTooLarge,
}
