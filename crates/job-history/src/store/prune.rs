//! Deleting what is too old, so many rows of one table at a time.

use super::{Fault, Store, Value};
use crate::store_url::Kind;
use crate::text::sql_time;

/// A table with a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Fires,
    Events,
    Drops,
    Executions,
    States,
}

impl Table {
    pub(crate) const ALL: [Self; 5] =
        [Self::Fires, Self::Events, Self::Drops, Self::Executions, Self::States];

    fn name_and_time(self) -> (&'static str, &'static str) {
        match self {
            Self::Fires => ("ejob_fire", "fire_ms"),
            Self::Events => ("ejob_event", "at_ms"),
            Self::Drops => ("ejob_drop", "last_ms"),
            Self::Executions => ("JOB_EXECUTION_LOG", "start_time"),
            Self::States => ("JOB_STATUS_TRACE_LOG", "creation_time"),
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Self::Fires | Self::Events | Self::Drops)
    }
}

impl Store {
    /// Deletes at most `chunk` rows of a table that are older, and returns how many.
    pub(crate) async fn prune(
        &self,
        table: Table,
        before_ms: i64,
        chunk: u32,
    ) -> Result<u64, Fault> {
        let (name, time) = table.name_and_time();
        let before: Value = if table.is_ours() {
            before_ms.into()
        } else {
            match sql_time(self.kind(), before_ms) {
                Some(time) => time.as_str().into(),
                // The column holds nothing from before 1970, nor that from after 2038.
                None if before_ms < 1_000 => return Ok(0),
                None => sql_time(self.kind(), i64::from(i32::MAX) * 1_000).as_deref().into(),
            }
        };
        let is_text = !table.is_ours() && self.kind() == Kind::Postgres;
        let than = if is_text { "CAST(? AS TIMESTAMP)" } else { "?" };
        let sql = match self.kind() {
            Kind::Sqlite => format!(
                "DELETE FROM {name} WHERE rowid IN (SELECT rowid FROM {name} WHERE {time} < {than} LIMIT ?)"
            ),
            Kind::Postgres => format!(
                "DELETE FROM {name} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {name} WHERE {time} < {than} LIMIT ?))"
            ),
            Kind::MySql => format!("DELETE FROM {name} WHERE {time} < {than} LIMIT ?"),
        };
        let mut tx = self.begin().await?;
        let deleted = tx.execute(&sql, &[before, i64::from(chunk).into()]).await?;
        tx.commit().await?;
        Ok(deleted)
    }
}
