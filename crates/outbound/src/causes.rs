//! The text of an error for a log line.

use std::error::Error;
use std::iter::successors;

/// Returns the text of an error and of its causes, the outermost first, separated by ": ".
///
/// # Examples
/// ```
/// let error = std::io::Error::other("the disk is full");
/// assert_eq!(outbound::with_causes(&error), "the disk is full");
/// ```
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
