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

impl Store {
    /// Returns the end of the last successful run of each item, in milliseconds since 1970 UTC, by
    /// job and item. `zone` is that of the stored times.
    pub(crate) async fn java_successes(
        &self,
        zone: &TimeZone,
    ) -> Result<BTreeMap<String, BTreeMap<u32, i64>>, Fault> {
        use ColumnKind::{Int, Text};
        let (int, text) = match self.kind() {
            Kind::Sqlite => ("INTEGER", "TEXT"),
            Kind::Postgres => ("BIGINT", "TEXT"),
            Kind::MySql => ("SIGNED", "CHAR"),
        };
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
