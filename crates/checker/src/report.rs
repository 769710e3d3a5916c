//! What came of judging a history.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::tally::Tally;
use crate::{Property, Violation};

/// Whether a run shows that the promises hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is broken, and the run was hard enough to show it.
    Valid,
    /// A promise was broken. A failure of the harness does not erase that.
    Invalid,
    /// Nothing is known to be broken, but the harness failed, or too little happened.
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

/// How often a property was judged, and how often it was found broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// Which.
    pub property: Property,
    /// How many facts were held against it.
    pub checked: u64,
    /// How many of them break it.
    pub violations: u64,
}

/// One row of what a run has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// How often it happened and hit something.
    pub reached: u64,
    /// How often it was tried; the same as `reached` for what is not a fault.
    pub tried: u64,
    /// How often the run says it must be reached.
    pub required: u64,
}

/// What came of judging a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// In one word.
    pub verdict: Verdict,
    /// The name and the seed of the run, as far as it says.
    pub run: String,
    /// How many records were judged.
    pub records: usize,
    /// Every property.
    pub properties: Vec<Judged>,
    /// What was broken, in the order of the history.
    pub violations: Vec<Violation>,
    /// Why the run cannot be accepted even without violations: failures of the harness.
    pub problems: Vec<String>,
    /// What the run has reached, by the names that runs require it by.
    pub coverage: BTreeMap<String, Coverage>,
    /// Figures that are not promises, e.g. how many runs of one item overlapped.
    pub metrics: BTreeMap<String, u64>,
    /// What could not be judged, and why.
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
    /// The verdict in one line, then tables, then each violation with the records that show it.
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
