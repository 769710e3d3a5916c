//! Pools, transactions and values for the three kinds of databases.

#[cfg(feature = "sqlite")]
use std::time::Duration;

#[cfg(any(feature = "postgres", feature = "mysql"))]
use sqlx::ConnectOptions;
use sqlx::{AssertSqlSafe, Row};

use super::{ColumnKind, Fault, Store, Value};
use crate::HistoryOptions;
use crate::store_url::{Kind, StoreUrl};

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
compile_error!("job-history needs one of its features: sqlite, postgres, mysql");

/// Connections to a store.
pub(super) enum Pool {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::SqlitePool),
    #[cfg(feature = "postgres")]
    Postgres(sqlx::PgPool),
    #[cfg(feature = "mysql")]
    MySql(sqlx::MySqlPool),
}

/// A transaction. It is rolled back when it is dropped.
pub(crate) struct Tx {
    inner: Inner,
    kind: Kind,
}

enum Inner {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(sqlx::Transaction<'static, sqlx::Postgres>),
    #[cfg(feature = "mysql")]
    MySql(sqlx::Transaction<'static, sqlx::MySql>),
}

/// Runs the same expression for each enabled kind.
macro_rules! each {
    ($of:ident, $value:expr, $inner:ident => $body:expr) => {
        match $value {
            #[cfg(feature = "sqlite")]
            $of::Sqlite($inner) => $body,
            #[cfg(feature = "postgres")]
            $of::Postgres($inner) => $body,
            #[cfg(feature = "mysql")]
            $of::MySql($inner) => $body,
        }
    };
}

/// Binds all values to a query of any kind.
macro_rules! bind {
    ($sql:expr, $values:expr) => {{
        let mut query = sqlx::query(AssertSqlSafe($sql));
        for value in $values {
            query = match value {
                Value::Int(number) => query.bind(*number),
                Value::Text(text) => query.bind(text.clone()),
                Value::Bool(truth) => query.bind(*truth),
            };
        }
        query
    }};
}

impl Pool {
    pub(super) fn new(options: &HistoryOptions) -> Result<Self, Fault> {
        // The drivers use the cryptography provider of the process, and fail if the build has
        // several and none is installed. A program that wants another one installs it before.
        #[cfg(feature = "tls-rustls")]
        if matches!(&options.url, StoreUrl::Server { .. }) {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        match &options.url {
            #[cfg(feature = "sqlite")]
            StoreUrl::File(path) => Ok(Self::sqlite(options, path)),
            #[cfg(feature = "postgres")]
            StoreUrl::Server { kind: Kind::Postgres, url } => {
                let connect = sqlx::postgres::PgConnectOptions::from_url(url)?;
                // The log of the application should not have the statements of a history.
                let connect = connect.disable_statement_logging();
                Ok(Self::Postgres(pool(options).connect_lazy_with(connect)))
            }
            #[cfg(feature = "mysql")]
            StoreUrl::Server { kind: Kind::MySql, url } => {
                let connect = sqlx::mysql::MySqlConnectOptions::from_url(url)?;
                let connect = connect.disable_statement_logging();
                Ok(Self::MySql(pool(options).connect_lazy_with(connect)))
            }
            #[allow(unreachable_patterns, reason = "which kinds there are depends on the features")]
            other => unreachable!("the options were checked: {other}"),
        }
    }

    /// Returns a pool for a file that several processes share. In WAL mode readers and the writer
    /// do not wait for each other.
    #[cfg(feature = "sqlite")]
    fn sqlite(options: &HistoryOptions, path: &std::path::Path) -> Self {
        use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

        let connect = SqliteConnectOptions::new()
            .filename(path)
            // `file::create` creates it with restricted permissions.
            .create_if_missing(false)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(Duration::from_millis(500));
        let connect = sqlx::ConnectOptions::disable_statement_logging(connect);
        // SQLite rolls back by itself when the disk is full or fails. The driver does not notice,
        // because it counts transactions itself: on such a connection no transaction can begin.
        let pool = pool(options).before_acquire(|connection, _| {
            let is_clean = !sqlx::Connection::is_in_transaction(connection);
            Box::pin(std::future::ready(Ok(is_clean)))
        });
        Self::Sqlite(pool.connect_lazy_with(connect))
    }

    pub(super) async fn close(&self) {
        each!(Self, self, pool => pool.close().await);
    }

    async fn begin(&self) -> Result<Inner, sqlx::Error> {
        Ok(match self {
            // `IMMEDIATE`: otherwise a transaction that reads and then writes fails if another
            // process has written in between.
            #[cfg(feature = "sqlite")]
            Self::Sqlite(pool) => Inner::Sqlite(pool.begin_with("BEGIN IMMEDIATE").await?),
            #[cfg(feature = "postgres")]
            Self::Postgres(pool) => Inner::Postgres(pool.begin().await?),
            #[cfg(feature = "mysql")]
            Self::MySql(pool) => Inner::MySql(pool.begin().await?),
        })
    }
}

fn pool<D: sqlx::Database>(options: &HistoryOptions) -> sqlx::pool::PoolOptions<D> {
    sqlx::pool::PoolOptions::new()
        .max_connections(options.max_connections)
        .acquire_timeout(options.connect_deadline.max(std::time::Duration::from_millis(100)))
}

impl Store {
    /// Begins a transaction that writes.
    pub(super) async fn begin(&self) -> Result<Tx, Fault> {
        Ok(Tx { inner: self.pool.begin().await?, kind: self.kind() })
    }

    /// Runs one statement that reads.
    pub(super) async fn rows(
        &self,
        sql: &str,
        values: &[Value],
        columns: &[ColumnKind],
    ) -> Result<Vec<Vec<Value>>, Fault> {
        let sql = numbered(sql, self.kind());
        each!(Pool, &self.pool, pool => {
            let rows = bind!(sql, values).fetch_all(pool).await?;
            rows.iter().map(|row| values_of(row, columns)).collect()
        })
    }
}

impl Tx {
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Runs a statement, and returns the number of changed rows.
    pub(super) async fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Fault> {
        let sql = numbered(sql, self.kind);
        Ok(each!(Inner, &mut self.inner, tx => {
            bind!(sql, values).execute(&mut **tx).await?.rows_affected()
        }))
    }

    pub(super) async fn rows(
        &mut self,
        sql: &str,
        values: &[Value],
        columns: &[ColumnKind],
    ) -> Result<Vec<Vec<Value>>, Fault> {
        let sql = numbered(sql, self.kind);
        each!(Inner, &mut self.inner, tx => {
            let rows = bind!(sql, values).fetch_all(&mut **tx).await?;
            rows.iter().map(|row| values_of(row, columns)).collect()
        })
    }

    /// Runs several statements without values.
    pub(super) async fn script(&mut self, sql: &'static str) -> Result<(), Fault> {
        each!(Inner, &mut self.inner, tx => {
            sqlx::raw_sql(sql).execute(&mut **tx).await?;
        });
        Ok(())
    }

    pub(super) async fn commit(self) -> Result<(), Fault> {
        each!(Inner, self.inner, tx => tx.commit().await?);
        Ok(())
    }
}

fn values_of<R: Row>(row: &R, columns: &[ColumnKind]) -> Result<Vec<Value>, Fault>
where
    usize: sqlx::ColumnIndex<R>,
    for<'r> i64: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
    for<'r> String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    let value = |(n, kind): (usize, &ColumnKind)| match kind {
        ColumnKind::Int => row.try_get(n).map(Value::Int),
        ColumnKind::Text => row.try_get(n).map(Value::Text),
    };
    Ok(columns.iter().enumerate().map(value).collect::<Result<_, _>>()?)
}

/// Replaces `?` by numbered parameters for PostgreSQL.
fn numbered(sql: &str, kind: Kind) -> String {
    if kind != Kind::Postgres {
        return sql.to_owned();
    }
    let mut numbered = String::with_capacity(sql.len() + 32);
    for (n, part) in sql.split('?').enumerate() {
        if n > 0 {
            numbered.push_str(&format!("${n}"));
        }
        numbered.push_str(part);
    }
    numbered
}

#[cfg(all(test, feature = "sqlite"))]
impl Store {
    /// Limits the size of the file, in pages, on all present and future connections. It simulates a
    /// full disk; the limit is never below the present size.
    #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    pub(crate) async fn limit_pages(&self, pages: u32) {
        #[allow(irrefutable_let_patterns, reason = "which kinds there are depends on the features")]
        let Pool::Sqlite(pool) = &self.pool else { panic!("only a file has pages") };
        let connect = (*pool.connect_options()).clone();
        pool.set_connect_options(connect.pragma("max_page_count", pages.to_string()));
        let mut all = Vec::new();
        for _ in 0..pool.options().get_max_connections() {
            let mut connection = pool.acquire().await.unwrap();
            let pragma = format!("PRAGMA max_page_count = {pages}");
            sqlx::raw_sql(AssertSqlSafe(pragma)).execute(&mut *connection).await.unwrap();
            all.push(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_for_postgres() {
        let sql = "a = ? AND b < CAST(? AS TIMESTAMP)";
        assert_eq!(numbered(sql, Kind::Postgres), "a = $1 AND b < CAST($2 AS TIMESTAMP)");
        assert_eq!(numbered(sql, Kind::MySql), sql);
    }
}
