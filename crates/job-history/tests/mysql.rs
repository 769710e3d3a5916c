//! The suite for all stores, on a MariaDB server of its own, or on the server of the variable
//! `EJOB_TEST_MYSQL_URL`, such as a MySQL.
#![cfg(feature = "mysql")]

use std::sync::OnceLock;

use crate::support;

use job_history::HistoryOptions;
use mariadb_fixture::{Server, ServerOptions};
use sqlx::{AssertSqlSafe, Row};
use support::server;
use support::suite::{self, Dump, Execute, TestStore};

/// URL of a database on another server, with a user who may create databases.
const VARIABLE: &str = "EJOB_TEST_MYSQL_URL";
const PASSWORD: &str = "s3cret";

/// Returns the URL of a database on the server of most tests.
fn admin_url() -> String {
    static SERVER: OnceLock<Server> = OnceLock::new();
    if let Ok(url) = std::env::var(VARIABLE) {
        return url;
    }
    let server = SERVER.get_or_init(|| {
        let options = ServerOptions::default().password(PASSWORD);
        Server::start_with(&options).expect("a MariaDB server is needed")
    });
    format!("mysql://root:{PASSWORD}@{}/mysql", server.address())
}

/// Reads a table directly, through its own connection.
fn dump(url: String) -> Dump {
    Box::new(move |table, columns| {
        let url = url.clone();
        Box::pin(async move {
            let pool = sqlx::MySqlPool::connect(&url).await.unwrap();
            let list: Vec<_> = columns
                .iter()
                .map(|column| format!("COALESCE(CAST({column} AS CHAR), 'NULL')"))
                .collect();
            let sql = format!("SELECT {} FROM {table} ORDER BY 1, 2", list.join(", "));
            let sql = if columns.len() == 1 { sql.replace(", 2", "") } else { sql };
            let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(&pool).await.unwrap();
            pool.close().await;
            rows.iter().map(|row| (0..columns.len()).map(|n| row.get(n)).collect()).collect()
        })
    })
}

async fn run_raw(url: &str, sql: String) {
    let pool = sqlx::MySqlPool::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&pool).await.unwrap();
    pool.close().await;
}

fn execute(url: String) -> Execute {
    Box::new(move |sql| {
        let url = url.clone();
        Box::pin(async move { run_raw(&url, sql).await })
    })
}

/// Times in these tables have whole seconds.
fn time(time: &str) -> String {
    format!("2024-02-29 {}", time.split('.').next().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB; `cargo xtask ci` runs it"]
async fn mysql_server_passes_the_store_suite() {
    let (admin, database) = (admin_url(), server::database());
    run_raw(&admin, format!("CREATE DATABASE {database}")).await;
    let url = server::with_database(&admin, &database);
    suite::all(&TestStore {
        options: HistoryOptions::url(&url)
            .unwrap()
            .host_name("host-7")
            .connect_deadline(support::DEADLINE),
        execute: execute(url.clone()),
        dump: dump(url.clone()),
        time,
        truth: |truth| u8::from(truth).to_string(),
    })
    .await;
    run_raw(&admin, format!("DROP DATABASE {database}")).await;
}

/// The tables as ElasticJob 3.0.5 creates them: with an `auto_id`, and states without `source`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB; `cargo xtask ci` runs it"]
async fn tables_of_a_java_instance_are_used_as_they_are() {
    let (admin, database) = (admin_url(), server::database());
    run_raw(&admin, format!("CREATE DATABASE {database}")).await;
    let url = server::with_database(&admin, &database);
    let create_table = "CREATE TABLE JOB_STATUS_TRACE_LOG (auto_id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, \
                id VARCHAR(40) NOT NULL, \
                job_name VARCHAR(100) NOT NULL, original_task_id VARCHAR(255) NOT NULL, \
                task_id VARCHAR(255) NOT NULL, slave_id VARCHAR(50) NOT NULL, execution_type VARCHAR(20) NOT NULL, \
                sharding_item VARCHAR(100) NOT NULL, state VARCHAR(20) NOT NULL, message VARCHAR(4000) NULL, \
                creation_time TIMESTAMP NULL) ENGINE = InnoDB";
    run_raw(&url, create_table.to_owned()).await;
    suite::states_without_source(
        HistoryOptions::url(&url).unwrap().connect_deadline(support::DEADLINE),
        &dump(url.clone()),
    )
    .await;
    run_raw(&admin, format!("DROP DATABASE {database}")).await;
}

#[tokio::test]
#[ignore = "needs MariaDB; `cargo xtask ci` runs it"]
async fn wrong_password_is_reported_at_once_and_not_shown() {
    suite::wrong_password_is_not_shown(&admin_url()).await;
}

async fn connections(admin: &str, database: &str) -> Vec<i64> {
    let pool = sqlx::MySqlPool::connect(admin).await.unwrap();
    let sql = "SELECT CAST(id AS SIGNED) FROM information_schema.processlist WHERE db = ?";
    let rows = sqlx::query(sql).bind(database).fetch_all(&pool).await.unwrap();
    pool.close().await;
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB; `cargo xtask ci` runs it"]
async fn killed_connections_lose_no_record() {
    let (admin, database) = (admin_url(), server::database());
    run_raw(&admin, format!("CREATE DATABASE {database}")).await;
    let url = server::with_database(&admin, &database);
    let history = support::open(
        HistoryOptions::url(&url).unwrap().batch_size(5).connect_deadline(support::DEADLINE),
    )
    .await;
    for round in 0..5 {
        suite::claim_twenty(&history, round);
        for id in connections(&admin, &database).await {
            // A connection may have ended by itself in the meantime.
            let pool = sqlx::MySqlPool::connect(&admin).await.unwrap();
            let cut = sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}"))).execute(&pool).await;
            let is_gone = |error: sqlx::Error| error.to_string().contains("Unknown thread id");
            assert!(cut.map_err(is_gone).err().unwrap_or(true));
            pool.close().await;
        }
    }
    suite::all_claimed(&history, 5).await;
    history.close(support::DEADLINE).await.unwrap();
    run_raw(&admin, format!("DROP DATABASE {database}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB; `cargo xtask ci` runs it"]
async fn killed_server_loses_no_record() {
    let mut server = Server::start().unwrap();
    server.query("CREATE DATABASE jobs").unwrap();
    let url = format!("mysql://root@{}/jobs", server.address());
    suite::killed_server_loses_no_record(&url, |runs| {
        if runs { server.restart() } else { server.kill() }.unwrap();
    })
    .await;
}

#[cfg(feature = "tls-rustls")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB; `cargo xtask ci` runs it"]
async fn server_with_tls_is_used_only_with_its_authority() {
    let [authority, other] = ["the test's own", "another"].map(mariadb_fixture::Authority::new);
    let server = Server::start_with(&ServerOptions::default().tls(&authority)).unwrap();
    server.query("CREATE DATABASE jobs").unwrap();
    let url = format!("mysql://root@{}/jobs?ssl-mode=VERIFY_IDENTITY&ssl-ca=", server.address());
    suite::only_with_the_authority(&url, authority.pem(), other.pem()).await;
}
