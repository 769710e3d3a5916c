//! Queries of a verification.

use std::collections::BTreeMap;

use sharding::InstanceId;

use super::read::reason_of_missed;
use super::write::Cells;
use super::{ColumnKind, Fault, Store, Value};

/// Time after a window within which an instance reports that it missed a fire, in milliseconds: an
/// outage may delay the report.
const REPORT_MS: i64 = 86_400_000;
/// Largest difference between the clocks of two instances, in milliseconds.
const CLOCKS_MS: i64 = 60_000;

impl Store {
    /// Returns the reasons of instances that missed a fire with all their items, by fire time and
    /// instance. `limit` is the maximum number of reports.
    pub(crate) async fn missed_by_instances(
        &self,
        job: &str,
        (from_ms, until_ms): (i64, i64),
        limit: i64,
    ) -> Result<BTreeMap<i64, BTreeMap<InstanceId, String>>, Fault> {
        let sql = "SELECT fire_ms, instance, MIN(text) FROM ejob_event WHERE at_ms >= ? AND at_ms < ? AND job = ? \
                   AND kind = 'missed' AND item IS NULL AND fire_ms >= ? AND fire_ms < ? \
                   AND instance IS NOT NULL GROUP BY fire_ms, instance ORDER BY fire_ms, instance LIMIT ?";
        let values: [Value; 6] = [
            from_ms.saturating_sub(CLOCKS_MS).into(),
            until_ms.saturating_add(REPORT_MS).into(),
            job.into(),
            from_ms.into(),
            until_ms.into(),
            limit.into(),
        ];
        let kinds = [ColumnKind::Int, ColumnKind::Text, ColumnKind::Text];
        let mut reports: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for row in self.rows(sql, &values, &kinds).await? {
            let mut row = Cells(row.into_iter());
            let (fire_ms, instance, text) = (row.int(), row.text(), row.text());
            if let (Some(fire_ms), Some(instance), Some(text)) = (fire_ms, instance, text) {
                let reason = reason_of_missed(&text).map(str::to_owned);
                let of_fire = reports.entry(fire_ms).or_default();
                of_fire.insert(InstanceId::new(instance), reason.unwrap_or(text));
            }
        }
        Ok(reports)
    }

    /// Returns the time of the first record of a job.
    pub(crate) async fn first_record(&self, job: &str) -> Result<Option<i64>, Fault> {
        let first = [
            "SELECT fire_ms FROM ejob_fire WHERE job = ? ORDER BY fire_ms LIMIT 1",
            "SELECT at_ms FROM ejob_event WHERE job = ? ORDER BY at_ms LIMIT 1",
        ];
        let mut found = Vec::new();
        for sql in first {
            let rows = self.rows(sql, &[job.into()], &[ColumnKind::Int]).await?;
            found.extend(rows.into_iter().filter_map(|row| Cells(row.into_iter()).int()));
        }
        Ok(found.into_iter().min())
    }

    /// Returns the last recorded fire of each item since a time.
    pub(crate) async fn latest_fires(
        &self,
        job: &str,
        since_ms: i64,
    ) -> Result<BTreeMap<u32, i64>, Fault> {
        let sql =
            "SELECT item, MAX(fire_ms) FROM ejob_fire WHERE fire_ms >= ? AND job = ? GROUP BY item";
        let values: [Value; 2] = [since_ms.into(), job.into()];
        let rows = self.rows(sql, &values, &[ColumnKind::Int, ColumnKind::Int]).await?;
        let latest = rows.into_iter().filter_map(|row| {
            let mut row = Cells(row.into_iter());
            let (item, fire_ms) = (row.int()?, row.int()?);
            Some((u32::try_from(item).ok()?, fire_ms))
        });
        Ok(latest.collect())
    }
}
