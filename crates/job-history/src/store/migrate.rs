//! Creation and migration of the tables.
//!
//! The migrator of `sqlx` does not fit, for three reasons. It shares its table of versions with an
//! application in the same database. It takes no lock on SQLite. After a crash within a step on
//! MySQL, which creates tables outside of transactions, an operator must repair the version.
//!
//! Here each step can be repeated, one process at a time runs it, and an interrupted step is run
//! again.

use super::pool::Tx;
use super::{ColumnKind, Fault, FaultClass, Store};
use crate::store_url::Kind;
use crate::writer::now_ms;

/// One migration step. A released step is never changed.
struct Step {
    version: i64,
    sqlite: &'static str,
    postgres: &'static str,
    mysql: &'static str,
}

const STEPS: [Step; 7] = [
    Step {
        version: 1,
        sqlite: include_str!("../../migrations/sqlite/0001_tables.sql"),
        postgres: include_str!("../../migrations/postgres/0001_tables.sql"),
        mysql: include_str!("../../migrations/mysql/0001_tables.sql"),
    },
    Step {
        version: 2,
        sqlite: include_str!("../../migrations/sqlite/0002_gap_count.sql"),
        postgres: include_str!("../../migrations/postgres/0002_gap_count.sql"),
        mysql: include_str!("../../migrations/mysql/0002_gap_count.sql"),
    },
    Step {
        version: 3,
        sqlite: include_str!("../../migrations/sqlite/0003_fire_by_outcome.sql"),
        postgres: include_str!("../../migrations/postgres/0003_fire_by_outcome.sql"),
        mysql: include_str!("../../migrations/mysql/0003_fire_by_outcome.sql"),
    },
    Step {
        version: 4,
        sqlite: include_str!("../../migrations/sqlite/0004_completed_runs.sql"),
        postgres: include_str!("../../migrations/postgres/0004_completed_runs.sql"),
        mysql: include_str!("../../migrations/mysql/0004_completed_runs.sql"),
    },
    Step {
        version: 5,
        sqlite: include_str!("../../migrations/sqlite/0005_output.sql"),
        postgres: include_str!("../../migrations/postgres/0005_output.sql"),
        mysql: include_str!("../../migrations/mysql/0005_output.sql"),
    },
    Step {
        version: 6,
        sqlite: include_str!("../../migrations/sqlite/0006_audit.sql"),
        postgres: include_str!("../../migrations/postgres/0006_audit.sql"),
        mysql: include_str!("../../migrations/mysql/0006_audit.sql"),
    },
    Step {
        version: 7,
        sqlite: include_str!("../../migrations/sqlite/0007_past_fire.sql"),
        postgres: include_str!("../../migrations/postgres/0007_past_fire.sql"),
        mysql: include_str!("../../migrations/mysql/0007_past_fire.sql"),
    },
];

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS ejob_history_version \
                        (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)";

/// Takes an advisory lock under a number that other programs are unlikely to use.
const LOCK: &str = "SELECT 1 FROM (SELECT pg_advisory_xact_lock(7304195562340918)) AS locked";

pub(super) async fn run(store: &Store) -> Result<(), Fault> {
    let mut tx = store.begin().await?;
    match tx.kind() {
        // `BEGIN IMMEDIATE` locks the file already.
        Kind::Sqlite => {}
        Kind::Postgres => {
            // Suppresses the notices about existing tables in the log.
            tx.execute("SET LOCAL client_min_messages = warning", &[]).await?;
            tx.execute(LOCK, &[]).await?;
        }
        Kind::MySql => return with_named_lock(tx).await,
    }
    apply(&mut tx).await?;
    tx.commit().await
}

/// Applies the steps under a named lock. The lock belongs to the connection, so it is released
/// explicitly also after a failure; a broken connection loses it.
async fn with_named_lock(mut tx: Tx) -> Result<(), Fault> {
    const NAME: &str = "LEFT(CONCAT('ejob_history.', DATABASE()), 64)";
    let get = format!("SELECT CAST(GET_LOCK({NAME}, 10) AS SIGNED)");
    let release = format!("SELECT CAST(RELEASE_LOCK({NAME}) AS SIGNED)");
    let acquired = tx.rows(&get, &[], &[ColumnKind::Int]).await?;
    if acquired.concat() != [1_i64.into()] {
        let text = "another process is still migrating the tables".to_owned();
        return Err(Fault { class: FaultClass::Unreachable, text });
    }
    let applied = apply(&mut tx).await;
    tx.rows(&release, &[], &[ColumnKind::Int]).await?;
    applied?;
    tx.commit().await
}

async fn apply(tx: &mut Tx) -> Result<(), Fault> {
    tx.execute(VERSIONS, &[]).await?;
    let newest = "SELECT COALESCE(MAX(version), 0) FROM ejob_history_version";
    let rows = tx.rows(newest, &[], &[ColumnKind::Int]).await?;
    let found = rows.iter().flatten().find_map(|value| match value {
        super::Value::Int(version) => *version,
        super::Value::Text(_) | super::Value::Bool(_) => None,
    });
    let found = found.unwrap_or(0);
    let known = STEPS.last().map_or(0, |step| step.version);
    if found > known {
        let class = FaultClass::Newer { found, known };
        return Err(Fault { class, text: "the tables are newer than this program".to_owned() });
    }
    for step in STEPS.iter().filter(|step| step.version > found) {
        tx.script(match tx.kind() {
            Kind::Sqlite => step.sqlite,
            Kind::Postgres => step.postgres,
            Kind::MySql => step.mysql,
        })
        .await?;
        let note = "INSERT INTO ejob_history_version (version, applied_ms) VALUES (?, ?)";
        tx.execute(note, &[step.version.into(), now_ms().into()]).await?;
    }
    Ok(())
}
