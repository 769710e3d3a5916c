//! Reports of a launcher to its worker, one line each.

use std::fmt;

/// A report. A launcher sends `Started` and `Ended`, or only `Failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Report {
    /// The script runs. Its process and its group have this id.
    Started(i32),
    /// The script could not be started, with this `errno`.
    Failed(i32),
    /// The script has ended with this status (as of `wait`). Its descendants may still run.
    Ended(i32),
}

impl Report {
    /// Parses a line; `None` if it is no report.
    pub(in crate::script) fn parse(line: &str) -> Option<Self> {
        let (kind, number) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        match kind {
            "started" => Some(Self::Started(number)),
            "failed" => Some(Self::Failed(number)),
            "ended" => Some(Self::Ended(number)),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number) = match self {
            Self::Started(number) => ("started", number),
            Self::Failed(number) => ("failed", number),
            Self::Ended(number) => ("ended", number),
        };
        write!(f, "{kind} {number}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_round_trip_and_other_lines_are_rejected() {
        for report in [Report::Started(7), Report::Failed(2), Report::Ended(256)] {
            assert_eq!(Report::parse(&report.to_string()), Some(report));
        }
        for line in ["", "started", "started x", "gone 1", "error: unrecognized subcommand"] {
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }
}
