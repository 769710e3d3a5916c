//! What came of a run of chaos.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};

use checker::history::Record;
use checker::{History, Property, Report, Verdict};

use super::plan::ChaosPlan;

/// What came of a run of chaos.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was played.
    pub plan: ChaosPlan,
    /// What the checker says.
    pub report: Report,
    /// What happened.
    pub history: History,
}

impl Outcome {
    /// Returns true unless a promise was broken or the harness failed.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.report.verdict == Verdict::Valid
    }

    /// Returns the first promise that was broken.
    #[must_use]
    pub fn broken(&self) -> Option<Property> {
        self.report.violations.first().map(|violation| violation.property)
    }

    /// Returns the digest of the history.
    #[must_use]
    pub fn digest(&self) -> u64 {
        digest(self.history.records())
    }
}

impl fmt::Display for Outcome {
    /// One line if all is well; else the seed, what is broken with its window, and how to see it again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChaosPlan { seed, nodes, job, faults, .. } = &self.plan;
        let (items, n_faults, n_records) = (job.items, faults.len(), self.history.records().len());
        write!(f, "seed {seed}: {}, ", self.report.verdict)?;
        write!(f, "{nodes} nodes, {items} items, {n_faults} faults, {n_records} records")?;
        if self.is_valid() {
            return Ok(());
        }
        writeln!(f)?;
        for problem in &self.report.problems {
            writeln!(f, "  not acceptable: {problem}")?;
        }
        for violation in self.report.violations.iter().take(SHOWN) {
            writeln!(f, "  {violation}")?;
            for line in &violation.window {
                writeln!(f, "      {line}")?;
            }
        }
        let more = self.report.violations.len().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(f, "  and {more} violations more")?;
        }
        write!(f, "  again: cargo xtask sim --system --replay {seed}")
    }
}

/// How many violations are shown.
const SHOWN: usize = 3;

/// Returns a number that differs for histories that differ: the same in every process and on every machine.
#[must_use]
pub fn digest(records: &[Record]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for record in records {
        // A record is plain data: it always has a line.
        hasher.write(serde_json::to_string(record).unwrap_or_default().as_bytes());
        hasher.write_u8(b'\n');
    }
    hasher.finish()
}
