//! Why a text names no time zone.

/// A name that is no time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "time zone `{name}` {reason} Valid are names of the IANA database, such as `Europe/London` or \
     `UTC`, and offsets from `GMT-23:59` to `GMT+23:59`"
)]
#[non_exhaustive]
pub struct ZoneError {
    /// The name as it was given.
    pub name: String,
    /// What is wrong with it.
    pub reason: ZoneErrorReason,
}

/// What is wrong with the name of a time zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ZoneErrorReason {
    /// It is not in the database.
    #[error("is unknown.")]
    Unknown,
    /// It is not in the database, but it is the last part of a name that is.
    #[error("is unknown; did you mean `{0}`?")]
    DidYouMean(String),
    /// It begins with `GMT+` or `GMT-`, but no hours, or hours and minutes, follow.
    #[error("is no offset: `h`, `hh`, `h:mm`, `hh:mm` or `hhmm` must follow the sign.")]
    NoOffset,
    /// The offset has more than 23 hours or more than 59 minutes.
    #[error("is no offset: it has more than 23 hours or more than 59 minutes.")]
    OffsetTooLarge,
}
