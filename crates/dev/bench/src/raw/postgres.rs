//! Writes of one row in a PostgreSQL database.

use reg_center::SessionId;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection};

use super::RECORD;
use crate::Outcome;
use crate::stage::within;

/// A client with a connection of its own.
pub(crate) struct Client {
    connection: PgConnection,
    update: String,
}

pub(super) async fn open(url: &str, n: usize) -> Outcome<Vec<Client>> {
    let mut clients = Vec::new();
    for row in 0..n {
        clients.push(within("a connection", Client::open(url, row)).await??);
    }
    Ok(clients)
}

impl Client {
    async fn open(url: &str, row: usize) -> Outcome<Self> {
        let options: PgConnectOptions = url.parse()?;
        let mut connection = options.disable_statement_logging().connect().await?;
        let table = "CREATE TABLE IF NOT EXISTS raw (id int PRIMARY KEY, data text NOT NULL)";
        sqlx::raw_sql(table).execute(&mut connection).await?;
        let insert = format!("INSERT INTO raw VALUES ({row}, '{RECORD}') ON CONFLICT DO NOTHING");
        sqlx::raw_sql(AssertSqlSafe(insert)).execute(&mut connection).await?;
        let update = format!("UPDATE raw SET data = '{RECORD}' WHERE id = {row}");
        Ok(Self { connection, update })
    }

    /// Sends the statement as the center does: as text, in one round trip.
    pub(super) async fn write(&mut self) -> Outcome<()> {
        let update = sqlx::raw_sql(AssertSqlSafe(self.update.clone()));
        update.execute(&mut self.connection).await?;
        Ok(())
    }

    /// Ends a session of a registry, as a center does that has seen no sign of life.
    pub(super) async fn end_session(&mut self, session: SessionId) -> Outcome<()> {
        let end = format!("SELECT ejob.end_session({}, -1)", session.0);
        sqlx::raw_sql(AssertSqlSafe(end)).execute(&mut self.connection).await?;
        Ok(())
    }
}
