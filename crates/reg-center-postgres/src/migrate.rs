//! The schema: its check at each connection, and its creation.

use sqlx::Row as _;

use crate::connection::Connection;
use crate::error::{Failure, NO_RIGHT};
use crate::{OpenError, PostgresOptions};

/// The format that this program writes.
const FORMAT: i32 = 1;
/// Tables, functions, and the rights of both.
const SCHEMA: &str = concat!(
    include_str!("schema.sql"),
    include_str!("functions.sql"),
    include_str!("changes.sql"),
    include_str!("commit.sql"),
    include_str!("rights.sql"),
);

/// The encoding of the database. Others cannot store every name.
const ENCODING: &str = "UTF8";
/// SQLSTATE of a missing table or schema.
const MISSING: [&str; 2] = ["42P01", "3F000"];

/// Checks that the server takes writes and that the schema has the right format. Creates the schema
/// if it is missing and the options allow it.
pub(crate) async fn prepare(
    connection: Connection,
    options: &PostgresOptions,
) -> Result<Connection, OpenError> {
    let mut connection = connection;
    let server = "SELECT pg_is_in_recovery(), current_setting('server_encoding')";
    let rows = connection.read(server).await.map_err(unreachable(options))?;
    if first(&rows, 0).map_err(unreachable(options))? {
        return Err(OpenError::Standby { server: options.server() });
    }
    let found: String = first(&rows, 1).map_err(unreachable(options))?;
    if found != ENCODING {
        return Err(OpenError::Encoding { server: options.server(), found });
    }
    match format(&mut connection, options).await {
        Ok(found) => check(found, options)?,
        Err(failure) if MISSING.contains(&failure.code()) && !options.create_if_missing => {
            let (server, schema) = (options.server(), options.schema.clone());
            return Err(OpenError::NoSchema { server, schema });
        }
        Err(failure) if MISSING.contains(&failure.code()) => {
            create(&mut connection, options).await?;
        }
        Err(failure) if failure.code() == NO_RIGHT => return Err(refused(&failure, options)),
        Err(failure) => return Err(unreachable(options)(failure)),
    }
    Ok(connection)
}

async fn format(
    connection: &mut Connection,
    options: &PostgresOptions,
) -> crate::error::Result<i32> {
    let sql = format!("SELECT version FROM \"{}\".format", options.schema);
    first(&connection.read(&sql).await?, 0)
}

fn check(found: i32, options: &PostgresOptions) -> Result<(), OpenError> {
    if found > FORMAT {
        let (server, schema) = (options.server(), options.schema.clone());
        return Err(OpenError::LaterFormat { server, schema, found, known: FORMAT });
    }
    Ok(())
}

/// Creates the schema, unless another process has just created it.
async fn create(connection: &mut Connection, options: &PostgresOptions) -> Result<(), OpenError> {
    // Processes that start together create the schema one after the other. The name of the lock is
    // the name of the schema.
    let lock = format!("SELECT pg_advisory_xact_lock(hashtextextended('{}', 0))", options.schema);
    let schema = format!("\"{}\"", options.schema);
    let tables = SCHEMA.replace("{schema}", &schema);
    let exists = format!(
        "SELECT EXISTS (SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{}' AND c.relname = 'format')",
        options.schema
    );
    // An owner of the schema need not have the right to create others, which `IF NOT EXISTS` would
    // check.
    let has_schema =
        format!("EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '{}')", options.schema);
    let statements = format!(
        "{lock}; DO $migration$ BEGIN IF NOT ({exists}) THEN \
         IF NOT {has_schema} THEN CREATE SCHEMA {schema}; END IF; \
         EXECUTE $tables${tables}$tables$; END IF; END $migration$"
    );
    let created = connection.write(&statements).await;
    created.map_err(|failure| match failure {
        Failure::Refused { .. } => refused(&failure, options),
        Failure::NotDone(_) | Failure::Unknown(_) | Failure::SessionOver => {
            unreachable(options)(failure)
        }
    })?;
    tracing::info!(schema = options.schema, format = FORMAT, "created the schema of the registry");
    Ok(())
}

fn refused(failure: &Failure, options: &PostgresOptions) -> OpenError {
    OpenError::Schema {
        server: options.server(),
        schema: options.schema.clone(),
        cause: failure.cause().to_owned(),
    }
}

fn unreachable(options: &PostgresOptions) -> impl Fn(Failure) -> OpenError + '_ {
    |failure| OpenError::Unreachable { server: options.server(), cause: failure.cause().to_owned() }
}

fn first<T>(rows: &[sqlx::postgres::PgRow], column: usize) -> crate::error::Result<T>
where
    T: for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    let row = rows.first().ok_or_else(|| Failure::not_done("the server returned no row"))?;
    row.try_get(column).map_err(|error| Failure::not_done(error.to_string()))
}
