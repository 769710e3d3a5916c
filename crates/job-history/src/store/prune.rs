//! Deletion of old rows, in chunks of one table.

use super::{Fault, Store, Value};
use crate::store_url::Kind;
use crate::text::sql_time;

/// A table whose rows have a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Fires,
    Events,
    Drops,
    Output,
    Audit,
    Executions,
    States,
}

impl Table {
    pub(crate) const ALL: [Self; 7] = [
        Self::Fires,
        Self::Events,
        Self::Drops,
        Self::Output,
        Self::Audit,
        Self::Executions,
        Self::States,
    ];

    fn name_and_time(self) -> (&'static str, &'static str) {
        match self {
            Self::Fires => ("ejob_fire", "fire_ms"),
            Self::Events => ("ejob_event", "at_ms"),
            Self::Drops => ("ejob_drop", "last_ms"),
            Self::Output => ("ejob_output", "fire_ms"),
            Self::Audit => ("ejob_audit", "at_ms"),
            Self::Executions => ("JOB_EXECUTION_LOG", "start_time"),
            Self::States => ("JOB_STATUS_TRACE_LOG", "creation_time"),
        }
    }

    /// Returns true for tables of this crate, whose times are milliseconds.
    fn has_millis(self) -> bool {
        !matches!(self, Self::Executions | Self::States)
    }
}

impl Store {
    /// Deletes at most `chunk` rows of a table from before a time, and returns their number.
    pub(crate) async fn prune(
        &self,
        table: Table,
        before_ms: i64,
        chunk: u32,
    ) -> Result<u64, Fault> {
        let (name, time) = table.name_and_time();
        let before: Value = if table.has_millis() {
            before_ms.into()
        } else {
            match sql_time(self.kind(), before_ms) {
                Some(time) => time.as_str().into(),
                // On MySQL the column holds no time before 1970 or after 2038.
                None if before_ms < 1_000 => return Ok(0),
                None => sql_time(self.kind(), i64::from(i32::MAX) * 1_000).as_deref().into(),
            }
        };
        let needs_cast = !table.has_millis() && self.kind() == Kind::Postgres;
        let limit = if needs_cast { "CAST(? AS TIMESTAMP)" } else { "?" };
        let sql = match self.kind() {
            Kind::Sqlite => format!(
                "DELETE FROM {name} WHERE rowid IN \
                 (SELECT rowid FROM {name} WHERE {time} < {limit} LIMIT ?)"
            ),
            Kind::Postgres => format!(
                "DELETE FROM {name} WHERE ctid = ANY(ARRAY(\
                 SELECT ctid FROM {name} WHERE {time} < {limit} LIMIT ?))"
            ),
            Kind::MySql => format!("DELETE FROM {name} WHERE {time} < {limit} LIMIT ?"),
        };
        let mut tx = self.begin().await?;
        let deleted = tx.execute(&sql, &[before, i64::from(chunk).into()]).await?;
        tx.commit().await?;
        Ok(deleted)
    }
}
