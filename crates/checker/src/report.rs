//! Report about a history.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::tally::Tally;
use crate::{Property, Violation};

/// Verdict about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No promise was broken, and the run reached its required coverage.
    Valid,
    /// A promise was broken. A failure of the harness does not change that.
    Invalid,
    /// No broken promise is known, but the harness failed or too little happened.
    Unknown,
}

impl Verdict {
    /// Returns the exit code of the program for this verdict: 0, 1 or 2.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Valid => 0,
            Self::Invalid => 1,
            Self::Unknown => 2,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
        })
    }
}

/// Counts of one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The property.
    pub property: Property,
    /// Number of facts that were judged.
    pub checked: u64,
    /// Number of facts that break the promise.
    pub violations: u64,
}

/// One row of the coverage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Number of times that it happened and hit a target.
    pub reached: u64,
    /// Number of attempts; the same as `reached` for rows other than faults.
    pub tried: u64,
    /// Number of times that the run requires.
    pub required: u64,
}

/// Report about a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Verdict.
    pub verdict: Verdict,
    /// Name, seed and backend of the run, as far as recorded.
    pub run: String,
    /// Number of judged records.
    pub records: usize,
    /// Counts of every property.
    pub properties: Vec<Judged>,
    /// Violations in the order of the history.
    pub violations: Vec<Violation>,
    /// Failures of the harness: with any of them the run is not acceptable, even without
    /// violations.
    pub problems: Vec<String>,
    /// Coverage by the names that runs require it by.
    pub coverage: BTreeMap<String, Coverage>,
    /// Figures that are not promises, e.g. the number of overlapping runs of one item.
    pub metrics: BTreeMap<String, u64>,
    /// Subjects that could not be judged, with the reason.
    pub notes: Vec<String>,
}

impl Report {
    pub(crate) fn judged(tally: &Tally, violations: &[Violation]) -> Vec<Judged> {
        let of = |property| violations.iter().filter(|v| v.property == property).count() as u64;
        Property::all()
            .map(|property| {
                let violations = of(property);
                Judged { property, checked: tally.of(property).max(violations), violations }
            })
            .collect()
    }

    /// Returns the violations of one property.
    pub fn violations_of(&self, property: Property) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(move |violation| violation.property == property)
    }
}

impl fmt::Display for Report {
    /// Writes the verdict in one line, then tables, then each violation with the records that show
    /// it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {} records", self.verdict, self.run, self.records)?;
        match self.violations.as_slice() {
            [] => {}
            [one] => write!(f, ", {} is broken", one.property)?,
            several => write!(f, ", {} violations", several.len())?,
        }
        writeln!(f, "\n\n{:5} {:>9} {:>7}  promise", "", "checked", "broken")?;
        for Judged { property, checked, violations } in &self.properties {
            let promise = property.promise();
            writeln!(f, "{property:5} {checked:>9} {violations:>7}  {promise}")?;
        }
        if !self.coverage.is_empty() {
            writeln!(f, "\n{:24} {:>9} {:>9} {:>9}", "coverage", "reached", "tried", "required")?;
        }
        for (name, row) in &self.coverage {
            let Coverage { reached, tried, required } = row;
            writeln!(f, "{name:24} {reached:>9} {tried:>9} {required:>9}")?;
        }
        for (name, value) in &self.metrics {
            writeln!(f, "{name}: {value}")?;
        }
        for note in &self.notes {
            writeln!(f, "not judged: {note}")?;
        }
        for problem in &self.problems {
            writeln!(f, "not acceptable: {problem}")?;
        }
        for violation in &self.violations {
            writeln!(f, "\n{violation}")?;
            for line in &violation.window {
                writeln!(f, "    {line}")?;
            }
        }
        Ok(())
    }
}
