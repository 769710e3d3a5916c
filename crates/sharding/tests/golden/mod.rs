//! Runner of golden vectors: one JSON object per line, printed by the classes of ElasticJob.
//!
//! A row with `strategy` is an assignment, with `result` (the items of each instance) or with
//! `error` (the exception that Java threw). A row with `children` is the order in which a leader
//! lists its instances.

mod assignment_row;
mod children_row;

use std::fmt;

use serde_json::Value;

/// Result of a row.
enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

/// Results of the rows of one or more files.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// Reasons of failed or skipped rows, one line each.
    pub(crate) remarks: Vec<String>,
}

impl Tally {
    /// Checks every row of a file; blank lines are not rows.
    pub(crate) fn of(source: &str, rows: &str) -> Self {
        let mut tally = Self::default();
        for (row, number) in rows.lines().zip(1..) {
            if !row.trim().is_empty() {
                tally.count(&format!("{source}:{number}"), check_row(row));
            }
        }
        tally
    }

    /// Adds the rows of another file.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.remarks.extend(other.remarks);
    }

    fn count(&mut self, place: &str, verdict: Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(why) => {
                self.failed += 1;
                self.remarks.push(format!("{place}: failed: {why}"));
            }
            Verdict::Skipped(why) => {
                self.skipped += 1;
                self.remarks.push(format!("{place}: skipped: {why}"));
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped, .. } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

fn check_row(row: &str) -> Verdict {
    match serde_json::from_str::<Value>(row) {
        Err(error) => Verdict::Failed(format!("not JSON: {error}")),
        Ok(row) if row.get("strategy").is_some() => assignment_row::check_row(&row),
        Ok(row) if row.get("children").is_some() => children_row::check_row(&row),
        Ok(_) => Verdict::Failed("the row has neither `strategy` nor `children`".to_owned()),
    }
}

impl From<Result<(), String>> for Verdict {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(why) => Self::Failed(why),
        }
    }
}

/// Returns a field of a row, converted by `read`.
fn field<'a, T>(
    row: &'a Value,
    name: &str,
    read: impl FnOnce(&'a Value) -> Option<T>,
) -> Result<T, String> {
    let value = row.get(name).ok_or_else(|| format!("`{name}` is missing"))?;
    read(value).ok_or_else(|| format!("`{name}` cannot be {value}"))
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// Returns an error with both values unless they are equal.
fn same<T: PartialEq + fmt::Debug>(what: &str, actual: T, golden: T) -> Result<(), String> {
    if actual == golden {
        Ok(())
    } else {
        Err(format!("{what}: this crate gives {actual:?}, the vector has {golden:?}"))
    }
}
