//! Texts of errors, panics and names from user code, which can panic itself.

use std::any::Any;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the text of an error and of its causes, without causes that the text already contains.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let text = catch_unwind(AssertUnwindSafe(|| joined(error)));
    text.unwrap_or_else(|panic| format!("an error whose text panics: {}", panic_text(&*panic)))
}

fn joined(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Returns the name of a listener or handler, or a replacement if its `name` panics.
pub(crate) fn name_of<'a>(name: impl FnOnce() -> &'a str) -> String {
    let name = catch_unwind(AssertUnwindSafe(name));
    name.map_or_else(|_| "whose name panics".to_owned(), ToOwned::to_owned)
}

/// Returns the text of a panic.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is not text")
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
    struct Around(#[source] PanickingText);

    #[derive(Debug)]
    struct PanickingText;

    impl fmt::Display for PanickingText {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("a bug")
        }
    }

    impl Error for PanickingText {}

    #[test]
    fn causes_are_not_repeated() {
        let cause = || io::Error::other("no such file");
        let rows: [(&str, JobError, &str); 5] = [
            ("alone", "full".into(), "full"),
            ("with a cause", Outer(cause()).into(), "cannot start: no such file"),
            ("whose text repeats it", Repeating(cause()).into(), "cannot start: no such file"),
            ("panics", PanickingText.into(), "an error whose text panics: a bug"),
            (
                "whose cause panics",
                Around(PanickingText).into(),
                "an error whose text panics: a bug",
            ),
        ];
        for (case, error, expected) in rows {
            assert_eq!(with_causes(&*error), expected, "{case}");
        }
    }

    #[test]
    fn panicking_name_is_replaced() {
        assert_eq!(name_of(|| "mail"), "mail");
        assert_eq!(name_of(|| panic!("a bug")), "whose name panics");
    }
}
