//! What a launcher reports to its worker, one line each.

use std::fmt;

/// A report, in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Report {
    /// The script runs, with this id of the process and of its group.
    Started(i32),
    /// The script could not be started, for this reason (`errno`).
    Failed(i32),
    /// The script has ended with this status (as of `wait`); what it started may still run.
    Ended(i32),
}

impl Report {
    /// Returns `None` if the line is none that a launcher writes.
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
    fn reports_are_read_as_they_were_written() {
        for report in [Report::Started(7), Report::Failed(2), Report::Ended(256)] {
            assert_eq!(Report::parse(&report.to_string()), Some(report));
        }
        for line in ["", "started", "started x", "gone 1", "error: unrecognized subcommand"] {
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }
}
