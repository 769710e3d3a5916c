//! The suite for all stores, in an SQLite file.
#![cfg(feature = "sqlite")]

use crate::support;

use std::path::PathBuf;

use job_history::HistoryOptions;
use sqlx::{AssertSqlSafe, Row};
use support::suite::{self, Dump, TestStore};

/// Reads a table directly, through its own connection.
fn dump(path: PathBuf) -> Dump {
    Box::new(move |table, columns| {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
        Box::pin(async move {
            let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
            let list: Vec<_> = columns
                .iter()
                .map(|column| format!("COALESCE(CAST({column} AS TEXT), 'NULL')"))
                .collect();
            let sql = format!("SELECT {} FROM {table} ORDER BY 1, 2", list.join(", "));
            let sql = if columns.len() == 1 { sql.replace(", 2", "") } else { sql };
            let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&pool).await.unwrap();
            pool.close().await;
            rows.iter().map(|row| (0..columns.len()).map(|n| row.get(n)).collect()).collect()
        })
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_file_passes_the_store_suite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    suite::all(&TestStore {
        options: HistoryOptions::sqlite(&path).host_name("host-7"),
        execute: Box::new({
            let path = path.clone();
            move |sql| {
                let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
                Box::pin(async move {
                    let pool = sqlx::SqlitePool::connect_with(options).await.unwrap();
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.unwrap();
                    pool.close().await;
                })
            }
        }),
        dump: dump(path),
        time: |time| format!("2024-02-29 {time}"),
        truth: |truth| u8::from(truth).to_string(),
    })
    .await;
}
