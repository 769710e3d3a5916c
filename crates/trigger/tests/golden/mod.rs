//! Runner of golden rows: fire times that Quartz 2.3.2 produced.
//!
//! They were produced with OpenJDK 17.0.15 and tzdata 2025a, each fire time from the previous one
//! by `getTimeAfter`, in a JVM for which the last year is 2126. Their zones have the same offsets
//! in the database of this crate, except Casablanca from September 2026 on; its rows end before
//! that. Instants are milliseconds since 1970.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;
use trigger::{CronExpression, CronSchedule, Zone};

/// Numbers of passed, failed and skipped rows, with remarks on the latter two.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// One line for each failed or skipped row.
    pub(crate) remarks: Vec<String>,
    /// Expressions of rows noted as lenient parsing that this crate accepts with Quartz's fire
    /// times.
    pub(crate) lenient: Vec<String>,
}

/// Result of one row.
enum Verdict {
    Passed,
    PassedAsLenient,
    Failed(String),
    Skipped(String),
}

impl Tally {
    /// Checks the rows of one file, one JSON object per line; blank lines are ignored.
    pub(crate) fn of(file: &str, rows: &str) -> Tally {
        let mut tally = Tally::default();
        for (line, row) in (1..).zip(rows.lines()).filter(|(_, row)| !row.trim().is_empty()) {
            let verdict = match serde_json::from_str::<Value>(row) {
                Ok(row) => check_row(&row),
                Err(why) => Verdict::Failed(why.to_string()),
            };
            tally.count(verdict, |why| format!("{file}:{line}: {why}: {row}"), row);
        }
        tally
    }

    fn count(&mut self, verdict: Verdict, remark: impl Fn(String) -> String, row: &str) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::PassedAsLenient => {
                self.passed += 1;
                let row: Value = serde_json::from_str(row).unwrap_or_default();
                self.lenient.push(row["expr"].as_str().unwrap_or_default().to_owned());
            }
            Verdict::Failed(why) => {
                self.failed += 1;
                self.remarks.push(remark(format!("failed: {why}")));
            }
            Verdict::Skipped(why) => {
                self.skipped += 1;
                self.remarks.push(remark(format!("skipped: {why}")));
            }
        }
    }

    /// Adds the rows of another file.
    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.remarks.extend(other.remarks);
        self.lenient.extend(other.lenient);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped, .. } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// A row whose fields have the right types.
struct Row<'a> {
    expression: &'a str,
    zone: &'a str,
    start: Timestamp,
    valid: bool,
    fires: Vec<Timestamp>,
    ended: bool,
    note: &'a str,
}

impl<'a> Row<'a> {
    fn read(row: &'a Value) -> Option<Row<'a>> {
        let instant = |value: &Value| Timestamp::from_millisecond(value.as_i64()?).ok();
        let valid = row["valid"].as_bool()?;
        // Rows that are not valid have no fire times, and few rows have a note.
        let is_absent = |field: &str| row[field].is_null();
        let fires = if is_absent("next") && !valid {
            Vec::new()
        } else {
            row["next"].as_array()?.iter().map(instant).collect::<Option<_>>()?
        };
        Some(Row {
            expression: row["expr"].as_str()?,
            zone: row["tz"].as_str()?,
            start: instant(&row["start"])?,
            valid,
            fires,
            ended: if is_absent("ended") && !valid { false } else { row["ended"].as_bool()? },
            note: if is_absent("note") { "" } else { row["note"].as_str()? },
        })
    }
}

fn check_row(row: &Value) -> Verdict {
    let Some(row) = Row::read(row) else {
        return Verdict::Failed("a field is missing or of another type".to_owned());
    };
    if row.note.starts_with("artefact:") {
        return Verdict::Skipped(row.note.to_owned());
    }
    let is_lenient = row.note == "quirk:lenient-parse";
    match CronExpression::parse(row.expression) {
        Err(_) if !row.valid || is_lenient => Verdict::Passed,
        Err(error) => Verdict::Failed(format!("rejected: {error}")),
        Ok(_) if !row.valid => Verdict::Failed("accepted, but Quartz rejects it".to_owned()),
        Ok(expression) => match differences(expression, &row) {
            None if is_lenient => Verdict::PassedAsLenient,
            None => Verdict::Passed,
            Some(why) => Verdict::Failed(why),
        },
    }
}

/// Describes the difference between the fire times and those of the row, if there is one.
fn differences(expression: CronExpression, row: &Row<'_>) -> Option<String> {
    let zone = match Zone::parse(row.zone) {
        Ok(zone) => zone,
        Err(error) => return Some(error.to_string()),
    };
    let wanted = row.fires.len() + usize::from(row.ended);
    let schedule = CronSchedule::new(expression, zone);
    let fires: Vec<_> = schedule.upcoming(row.start).take(wanted).collect();
    if fires != row.fires {
        return Some(format!("fires at {fires:?}, not {:?}", row.fires));
    }
    fires.iter().find(|fire| !schedule.matches(**fire)).map(|fire| format!("no match: {fire}"))
}
