//! The text of a failed case: the guarantee, the finding, and the usual mistake of a backend.
//!
//! The cases state each finding with the macros of this file, so that every message has the
//! expected and the found value.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

/// Short names of the guarantees, as on the front page; the first one is guarantee 1.
const GUARANTEES: [&str; 11] = [
    "Error is never absence",
    "All or nothing",
    "Detached writes",
    "Versions and revisions",
    "Missing parents are created",
    "Ephemeral nodes",
    "Sessions in order",
    "Lease",
    "Feed",
    "Read your writes",
    "Limits are checked before sending",
];

/// Hint for a sequence that the registry and the reference answer differently.
pub(super) const SEQUENCE_MISTAKE: &str = "the backend evaluates operations by its own rules. \
    Use `evaluate`, store exactly its changes, and deliver exactly these to the feeds. If the \
    sequence ends with flap, expire or close, look at the session and at the snapshot after it";

/// A guarantee that a registry does not keep, or that cannot be judged because of a panic.
///
/// Its text has several lines: the guarantee, the case, the expected and the found value, and the
/// mistake that backends usually make there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The number of the guarantee; `None` for a sequence, which concerns most of them.
    pub guarantee: Option<u8>,
    /// The name of the case, or the steps of the sequence.
    pub case: String,
    /// The check with the expected and the found value, or the text of another panic.
    pub finding: String,
    /// The usual mistake; `None` if the backend or its harness panicked.
    pub mistake: Option<&'static str>,
}

impl Failure {
    pub(super) fn new(
        guarantee: Option<u8>,
        case: String,
        finding: Finding,
        mistake: &'static str,
    ) -> Self {
        let (finding, mistake) = match finding {
            Finding::Check(text) => (text, Some(mistake)),
            Finding::Panic(text) => (format!("the backend or its harness panicked: {text}"), None),
        };
        Self { guarantee, case, finding, mistake }
    }

    /// Returns the short name of the guarantee, as on the [front page](crate).
    #[must_use]
    pub fn guarantee_name(&self) -> Option<&'static str> {
        let index = usize::from(self.guarantee?).checked_sub(1)?;
        GUARANTEES.get(index).copied()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.guarantee, self.guarantee_name()) {
            (Some(number), Some(name)) => {
                let verdict = self.mistake.map_or("cannot be judged", |_| "is broken");
                writeln!(f, "guarantee {number} {verdict}: {name}")?;
            }
            _ if self.mistake.is_none() => writeln!(f, "the sequence cannot be judged")?,
            _ => writeln!(f, "the registry differs from the reference")?,
        }
        writeln!(f, "case: {}", self.case.trim_end())?;
        f.write_str(&self.finding)?;
        self.mistake.map_or(Ok(()), |mistake| write!(f, "\nusual mistake: {mistake}."))
    }
}

impl std::error::Error for Failure {}

/// The text of a panic that has ended a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// A check of the suite.
    Check(String),
    /// A panic of the backend or of its harness, such as a server that is not installed.
    Panic(String),
}

/// Begin of the message of each check.
const CHECK: &str = "check: ";

/// Runs a case, and returns the text of its panic.
pub(super) async fn run(case: impl Future<Output = ()>) -> Result<(), Finding> {
    AssertUnwindSafe(case).catch_unwind().await.map_err(|payload| {
        let text = text_of(&*payload);
        if text.starts_with(CHECK) { Finding::Check(text) } else { Finding::Panic(text) }
    })
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a text").to_owned()
}

/// Ends the case with a finding.
#[track_caller]
pub(super) fn fail(
    check: impl fmt::Display,
    expected: impl fmt::Display,
    found: impl fmt::Display,
) -> ! {
    panic!("{CHECK}{check}\nexpected: {expected}\nfound: {found}")
}

/// Returns the value of an answer, and ends the case if the call failed.
#[track_caller]
pub(super) fn answered<T>(call: impl fmt::Display, answer: crate::Result<T>) -> T {
    answer.unwrap_or_else(|error| fail(call, "an answer", format_args!("the error: {error}")))
}

/// Checks that `found` equals `expected`: `equal!(found, expected, "the check in words")`.
macro_rules! equal {
    ($found:expr, $expected:expr $(,)?) => {
        equal!($found, $expected, "{}", stringify!($found))
    };
    ($found:expr, $expected:expr, $($check:tt)+) => {
        match (&$found, &$expected) {
            (found, expected) => {
                if *found != *expected {
                    $crate::contract::failure::fail(
                        format_args!($($check)+),
                        format_args!("{expected:?}"),
                        format_args!("{found:?}"),
                    );
                }
            }
        }
    };
}

/// Checks that `found` matches a pattern: `fits!(found, Err(Error::Closed), "the check")`.
macro_rules! fits {
    ($found:expr, $expected:pat, $($check:tt)+) => {{
        let found = &$found;
        #[allow(clippy::redundant_pattern_matching, reason = "the message shows the pattern")]
        let fits = matches!(found, $expected);
        if !fits {
            $crate::contract::failure::fail(
                format_args!($($check)+),
                stringify!($expected),
                format_args!("{found:?}"),
            );
        }
    }};
}

/// Checks a condition on `found`: `holds!(found > 3, found, "more than 3")`.
macro_rules! holds {
    ($condition:expr, $found:expr, $($expected:tt)+) => {
        if !$condition {
            $crate::contract::failure::fail(
                stringify!($condition),
                format_args!($($expected)+),
                format_args!("{:?}", $found),
            );
        }
    };
}

pub(super) use {equal, fits, holds};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_front_page() {
        let page = include_str!("../../README.md");
        let bold = |line: &str| {
            let (number, rest) = line.split_once(". **")?;
            let name = rest.split("**").next()?.trim_end_matches('.');
            Some((number.parse::<usize>().ok()?, name.to_owned()))
        };
        let names: Vec<_> = page.lines().filter_map(bold).collect();
        let expected: Vec<_> =
            GUARANTEES.iter().enumerate().map(|(n, name)| (n + 1, (*name).to_owned())).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_panic_of_any_kind_has_a_text() {
        let rows: [(&str, Box<dyn Any + Send>, &str); 3] = [
            ("a formatted text", Box::new("7 is odd".to_owned()), "7 is odd"),
            ("a fixed text", Box::new("odd"), "odd"),
            ("no text", Box::new(7), "a panic without a text"),
        ];
        for (case, payload, expected) in rows {
            assert_eq!(text_of(&*payload), expected, "{case}");
        }
    }
}
