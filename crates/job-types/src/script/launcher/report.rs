//! Reports of a launcher to its worker, one line each.

use std::fmt;

/// A report. A launcher sends `Process`, then `Started` and `Ended`, or `Failed`. Without a process
/// it sends only `Failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Report {
    /// The process that becomes the script, and its group, have this id. It waits until this was
    /// sent, so that the worker knows each group that may have to be killed.
    Process(i32),
    /// The script runs.
    Started,
    /// The script could not be started, with this `errno`.
    Failed(i32),
    /// The script has ended with this status (as of `wait`). Its descendants may still run.
    Ended(i32),
}

impl Report {
    /// Parses a line; `None` if it is no report.
    pub(in crate::script) fn parse(line: &str) -> Option<Self> {
        if line == "started" {
            return Some(Self::Started);
        }
        let (kind, number) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        match kind {
            "process" => Some(Self::Process(number)),
            "failed" => Some(Self::Failed(number)),
            "ended" => Some(Self::Ended(number)),
            _ => None,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, number) = match self {
            Self::Started => return f.write_str("started"),
            Self::Process(number) => ("process", number),
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
        let reports = [Report::Process(7), Report::Started, Report::Failed(2), Report::Ended(256)];
        for report in reports {
            assert_eq!(Report::parse(&report.to_string()), Some(report));
        }
        for line in
            ["", "process", "process x", "started 1", "gone 1", "error: unrecognized subcommand"]
        {
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }
}
