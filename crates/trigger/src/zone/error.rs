//! Errors of time zone names.

/// Error for a name that is not a time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "time zone `{name}` {reason} Valid are names of the IANA database, such as `Europe/London` or \
     `UTC`, and offsets from `GMT-23:59` to `GMT+23:59`"
)]
#[non_exhaustive]
pub struct ZoneError {
    /// The invalid name.
    pub name: String,
    /// The reason.
    pub reason: ZoneErrorReason,
}

/// Reason why a name is not a time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ZoneErrorReason {
    /// The name is not in the database.
    #[error("is unknown.")]
    Unknown,
    /// The name is not in the database, but it is the last part of a name that is.
    #[error("is unknown; did you mean `{0}`?")]
    DidYouMean(String),
    /// The name begins with `GMT+` or `GMT-`, but no valid hours and minutes follow.
    #[error("is no offset: `h`, `hh`, `h:mm`, `hh:mm` or `hhmm` must follow the sign.")]
    NoOffset,
    /// The offset has more than 23 hours or more than 59 minutes.
    #[error("is no offset: it has more than 23 hours or more than 59 minutes.")]
    OffsetTooLarge,
}
