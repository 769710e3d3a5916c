//! The outcome of a chaos run.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};

use checker::history::Record;
use checker::{History, Property, Report, Verdict};

use super::plan::ChaosPlan;

/// The outcome of a chaos run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The plan that was played.
    pub plan: ChaosPlan,
    /// The checker's report.
    pub report: Report,
    /// The history of the run.
    pub history: History,
}

impl Outcome {
    /// Returns true if every promise held and the harness worked.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.report.verdict == Verdict::Valid
    }

    /// Returns the first violated promise.
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
    /// Writes one line if the run is valid; else the seed, the violations with their records, and
    /// the command that repeats the run.
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
            writeln!(f, "  harness problem: {problem}")?;
        }
        for violation in self.report.violations.iter().take(SHOWN) {
            writeln!(f, "  {violation}")?;
            for line in &violation.window {
                writeln!(f, "      {line}")?;
            }
        }
        let more = self.report.violations.len().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(f, "  and {more} more violations")?;
        }
        let has_features = self.plan.has_features();
        let option = if has_features { " --features" } else { "" };
        write!(f, "  repeat with: cargo xtask sim --system --replay {seed}{option}")
    }
}

/// Maximum number of violations in the text.
const SHOWN: usize = 3;

/// Returns a digest of a history that is the same in every process and on every machine.
#[must_use]
pub fn digest(records: &[Record]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for record in records {
        // A record is plain data, so its serialization cannot fail.
        hasher.write(serde_json::to_string(record).unwrap_or_default().as_bytes());
        hasher.write_u8(b'\n');
    }
    hasher.finish()
}
