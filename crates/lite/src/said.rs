//! What the code of others says: errors, panics and names, which can panic themselves.

use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns what an error says, and its causes, as far as they are not in it already.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let said = catch_unwind(AssertUnwindSafe(|| joined(error)));
    said.unwrap_or_else(|panic| format!("an error whose text panics: {}", panic_text(&*panic)))
}

fn joined(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        match text.contains(&cause) {
            true => text,
            false => format!("{text}: {cause}"),
        }
    })
}

/// Returns the name that code gives itself.
pub(crate) fn name_of<'a>(name: impl FnOnce() -> &'a str) -> String {
    let name = catch_unwind(AssertUnwindSafe(name));
    name.map_or_else(|_| "whose name panics".to_owned(), ToOwned::to_owned)
}

/// Returns what a panic has said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text")
}

#[cfg(test)]
mod tests {
    use std::{fmt, io};

    use super::*;
    use crate::JobError;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start")]
    struct Outer(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start: {0}")]
    struct Repeating(#[source] io::Error);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start")]
    struct Around(#[source] Unspeakable);

    #[derive(Debug)]
    struct Unspeakable;

    impl fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("a bug")
        }
    }

    impl Error for Unspeakable {}

    #[test]
    fn causes_are_told_once() {
        let cause = || io::Error::other("no such file");
        let rows: [(&str, JobError, &str); 5] = [
            ("alone", "full".into(), "full"),
            ("with a cause", Outer(cause()).into(), "cannot start: no such file"),
            ("which it tells itself", Repeating(cause()).into(), "cannot start: no such file"),
            ("panics", Unspeakable.into(), "an error whose text panics: a bug"),
            ("whose cause panics", Around(Unspeakable).into(), "an error whose text panics: a bug"),
        ];
        for (case, error, expected) in rows {
            assert_eq!(with_causes(&*error), expected, "{case}");
        }
    }

    #[test]
    fn a_name_that_panics_is_said_to() {
        assert_eq!(name_of(|| "mail"), "mail");
        assert_eq!(name_of(|| panic!("a bug")), "whose name panics");
    }
}
