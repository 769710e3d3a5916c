//! Handling of fires that meet an unfinished run of their item.

use std::fmt;

/// Handling of a fire that meets an unfinished run of its item, beyond a note of the fire.
///
/// Without one, the field `misfire` alone decides.
///
/// # Examples
/// ```
/// use coordination::Overlap;
///
/// assert_eq!(Overlap::parse("cancel"), Some(Overlap::Cancel));
/// assert_eq!(Overlap::Cancel.to_string(), "cancel");
/// assert_eq!(Overlap::parse("stop"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overlap {
    /// The fire is noted, and the cancellation of the run is requested. Runs that an operator
    /// requested, and runs that stand for noted fires, continue.
    Cancel,
}

impl Overlap {
    /// Description of valid texts.
    pub const VALID: &'static str = "cancel, or none: misfire alone decides";

    /// Parses a text. `None` for texts without a meaning.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        (text == "cancel").then_some(Self::Cancel)
    }
}

impl fmt::Display for Overlap {
    /// Writes the text that [`parse`](Self::parse) reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancel => f.write_str("cancel"),
        }
    }
}
