//! Writes of one row in a SQLite file.

use std::path::Path;

use rusqlite::{Connection, params};

use super::RECORD;
use crate::Outcome;

/// A client with a connection of its own. It blocks its thread while it writes.
pub(crate) struct Client {
    db: Connection,
    row: i64,
}

/// Opens the file with the settings of the registry file.
pub(super) fn open(path: &Path, fsync: bool, n: usize) -> Outcome<Vec<Client>> {
    (0..).take(n).map(|row| Client::open(path, fsync, row)).collect()
}

impl Client {
    fn open(path: &Path, fsync: bool, row: i64) -> Outcome<Self> {
        let db = Connection::open(path)?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", if fsync { "FULL" } else { "NORMAL" })?;
        let table = "CREATE TABLE IF NOT EXISTS raw (id INTEGER PRIMARY KEY, n INTEGER, data TEXT)";
        db.execute_batch(table)?;
        db.execute("INSERT OR IGNORE INTO raw VALUES (?1, 0, ?2)", params![row, RECORD])?;
        Ok(Self { db, row })
    }

    pub(super) fn write(&self) -> Outcome<()> {
        // The counter changes, because SQLite does not write a row that stays the same.
        let update = "UPDATE raw SET n = n + 1, data = ?2 WHERE id = ?1";
        let mut update = self.db.prepare_cached(update)?;
        update.execute(params![self.row, RECORD])?;
        Ok(())
    }
}
