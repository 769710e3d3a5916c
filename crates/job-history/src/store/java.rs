//! Runs of Java instances, in ElasticJob's table.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::write::Cells;
use super::{ColumnKind, Fault, Store, Value};
use crate::store_url::Kind;

/// Task ids of this crate, `{job}@-@{item}@-@READY@-@{ip}@-@{pid}-{suffix}`. Those of Java end with
/// the process id.
const TASK_OF_THIS_CRATE: &str = "%@-@READY@-@%@-@%-%";

/// Failed runs of one item of a Java job, since its last successful run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JavaFailures {
    /// Number of failed runs, at least 1.
    pub count: u32,
    /// End of the first one, in milliseconds since 1970 UTC.
    pub first_ms: i64,
    /// End of the last one, in milliseconds since 1970 UTC.
    pub last_ms: i64,
    /// First line of the cause of the last one, if it has one.
    pub cause: Option<String>,
}

impl Store {
    /// Returns the end of the last successful run of each item, in milliseconds since 1970 UTC, by
    /// job and item. `zone` is that of the stored times.
    pub(crate) async fn java_successes(
        &self,
        zone: &TimeZone,
    ) -> Result<BTreeMap<String, BTreeMap<u32, i64>>, Fault> {
        use ColumnKind::{Int, Text};
        let (int, text) = cast_types(self.kind());
        let sql = format!(
            "SELECT job_name, CAST(sharding_item AS {int}), CAST(MAX(complete_time) AS {text}) \
             FROM JOB_EXECUTION_LOG WHERE is_success = ? AND complete_time IS NOT NULL \
             AND task_id NOT LIKE ? GROUP BY job_name, sharding_item"
        );
        let values = [Value::Bool(true), TASK_OF_THIS_CRATE.into()];
        let mut found: BTreeMap<String, BTreeMap<u32, i64>> = BTreeMap::new();
        for row in self.rows(&sql, &values, &[Text, Int, Text]).await? {
            let mut row = Cells(row.into_iter());
            let (job, item, time) = (row.text(), row.int(), row.text());
            let ended = time.and_then(|time| instant(&time, zone));
            let item = item.and_then(|item| u32::try_from(item).ok());
            if let (Some(job), Some(item), Some(ended)) = (job, item, ended) {
                found.entry(job).or_default().insert(item, ended);
            }
        }
        Ok(found)
    }

    /// Returns the runs that failed since the last successful run of each item, by job and item.
    /// `zone` is that of the stored times.
    pub(crate) async fn java_failures(
        &self,
        zone: &TimeZone,
    ) -> Result<BTreeMap<String, BTreeMap<u32, JavaFailures>>, Fault> {
        use ColumnKind::{Int, Text};
        let (int, text) = cast_types(self.kind());
        // A run that has not ended is stored as failed without an end.
        let sql = format!(
            "SELECT l.job_name, CAST(l.sharding_item AS {int}), CAST(MAX(n.failed) AS {int}), \
             CAST(MAX(n.first_at) AS {text}), CAST(MAX(n.last_at) AS {text}), \
             CAST(MAX(l.failure_cause) AS {text}) FROM JOB_EXECUTION_LOG l JOIN (\
             SELECT f.job_name, f.sharding_item, COUNT(*) AS failed, \
             MIN(f.complete_time) AS first_at, MAX(f.complete_time) AS last_at \
             FROM JOB_EXECUTION_LOG f LEFT JOIN (\
             SELECT job_name, sharding_item, MAX(complete_time) AS ended FROM JOB_EXECUTION_LOG \
             WHERE is_success = ? AND task_id NOT LIKE ? GROUP BY job_name, sharding_item) s \
             ON s.job_name = f.job_name AND s.sharding_item = f.sharding_item \
             WHERE f.is_success = ? AND f.task_id NOT LIKE ? \
             AND (s.ended IS NULL OR f.complete_time > s.ended) \
             AND f.complete_time IS NOT NULL GROUP BY f.job_name, f.sharding_item) n \
             ON n.job_name = l.job_name AND n.sharding_item = l.sharding_item \
             AND n.last_at = l.complete_time \
             WHERE l.is_success = ? AND l.task_id NOT LIKE ? GROUP BY l.job_name, l.sharding_item"
        );
        let values = [
            Value::Bool(true),
            TASK_OF_THIS_CRATE.into(),
            Value::Bool(false),
            TASK_OF_THIS_CRATE.into(),
            Value::Bool(false),
            TASK_OF_THIS_CRATE.into(),
        ];
        let mut found: BTreeMap<String, BTreeMap<u32, JavaFailures>> = BTreeMap::new();
        for row in self.rows(&sql, &values, &[Text, Int, Int, Text, Text, Text]).await? {
            let mut row = Cells(row.into_iter());
            let (job, item, count) = (row.text(), row.int(), row.int());
            let mut time = || row.text().and_then(|time| instant(&time, zone));
            let (first_ms, last_ms) = (time(), time());
            let cause = row.text().and_then(|cause| first_line(&cause));
            let item = item.and_then(|item| u32::try_from(item).ok());
            let count = count.and_then(|count| u32::try_from(count).ok());
            if let (Some(job), Some(item), Some(count), Some(first_ms), Some(last_ms)) =
                (job, item, count, first_ms, last_ms)
            {
                let failures = JavaFailures { count, first_ms, last_ms, cause };
                found.entry(job).or_default().insert(item, failures);
            }
        }
        Ok(found)
    }
}

/// Returns the types to which a kind of store casts numbers and texts: ElasticJob's columns have
/// other types in each.
fn cast_types(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Sqlite => ("INTEGER", "TEXT"),
        Kind::Postgres => ("BIGINT", "TEXT"),
        Kind::MySql => ("SIGNED", "CHAR"),
    }
}

/// Returns the first line of a stack trace.
fn first_line(cause: &str) -> Option<String> {
    cause.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// Returns a stored time of a zone, such as `2024-02-29 12:00:00.5`.
fn instant(text: &str, zone: &TimeZone) -> Option<i64> {
    let time: DateTime = text.parse().ok()?;
    Some(zone.to_timestamp(time).ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_is_the_first_line_with_text() {
        let trace = "\njava.lang.IllegalStateException: disk full\n\tat Job.execute(Job.java:7)";
        let first = "java.lang.IllegalStateException: disk full".to_owned();
        assert_eq!((first_line(trace), first_line(" \n")), (Some(first), None));
    }

    #[test]
    fn stored_times_are_those_of_the_zone() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        // 2024-02-29T12:00:00Z.
        let noon = 1_709_208_000_000;
        let rows = [
            ("2024-02-29 12:00:00", TimeZone::UTC, Some(noon)),
            ("2024-02-29 13:00:00.250", berlin.clone(), Some(noon + 250)),
            ("2024-08-29 14:00:00", berlin, Some(noon + 182 * 86_400_000)),
            ("never", TimeZone::UTC, None),
        ];
        for (text, zone, expected) in rows {
            assert_eq!(instant(text, &zone), expected, "{text}");
        }
    }
}
