//! One connection to the server. Each request on it has a deadline.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgRow, PgSeverity, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};

use crate::error::{Failure, NO_DATABASE, NO_RIGHT, Result};
use crate::{Notify, OpenError, PostgresOptions, Tls};

/// Modes of transactions, because the defaults of the database may be others.
const WRITE: &str = "ISOLATION LEVEL READ COMMITTED READ WRITE";
const READ: &str = "ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// A connection. It is dropped after a failure, because an answer may still be under way. It can be
/// used again only after [`Failure::Refused`].
///
/// It never sends a cancel request: a commit that waits for a standby would count as done although
/// the standby does not have it.
pub(crate) struct Connection {
    inner: PgConnection,
    limit: Duration,
    /// Statements that begin each transaction.
    settings: String,
}

impl Connection {
    pub(crate) async fn open(options: &PostgresOptions) -> std::result::Result<Self, OpenError> {
        let limit = options.requests();
        // The server gives up first, so that the answer usually is an error and not unknown.
        let timeout = limit.as_millis() * 4 / 5;
        let settings = format!(
            // No statement is long enough to be worth a compilation.
            "SET {local} statement_timeout = {timeout}; SET {local} lock_timeout = {timeout}; \
             SET {local} jit = off;",
            // Behind a pooler each transaction may have another connection to the server.
            local = if options.notify == Notify::On { "SESSION" } else { "LOCAL" },
        );
        let connect = async {
            let mut inner = server_options(options)?.connect().await.map_err(failed(options))?;
            if options.notify == Notify::On {
                let set = sqlx::raw_sql(AssertSqlSafe(settings.clone()));
                set.execute(&mut inner).await.map_err(failed(options))?;
            }
            Ok::<_, OpenError>(inner)
        };
        let late = |_| OpenError::Unreachable {
            server: options.server(),
            cause: format!("no connection within {limit:?}"),
        };
        let inner = tokio::time::timeout(limit, connect).await.map_err(late)??;
        let settings = if options.notify == Notify::On { String::new() } else { settings };
        Ok(Self { inner, limit, settings })
    }

    /// Executes a transaction that writes, in one round trip.
    pub(crate) async fn write(&mut self, statements: &str) -> Result<Vec<PgRow>> {
        self.execute(WRITE, &[statements], Failure::Unknown).await
    }

    /// Executes two transactions that write, in one round trip. The second one is executed only if
    /// the first one commits.
    pub(crate) async fn write_both(&mut self, first: &str, second: &str) -> Result<Vec<PgRow>> {
        self.execute(WRITE, &[first, second], Failure::Unknown).await
    }

    /// Executes a transaction that only reads, in one round trip.
    pub(crate) async fn read(&mut self, statements: &str) -> Result<Vec<PgRow>> {
        self.execute(READ, &[statements], Failure::not_done).await
    }

    async fn execute(
        &mut self,
        mode: &str,
        transactions: &[&str],
        unanswered: impl FnOnce(String) -> Failure,
    ) -> Result<Vec<PgRow>> {
        let settings = &self.settings;
        let begun =
            transactions.iter().map(|body| format!("BEGIN {mode};{settings}{body};COMMIT;"));
        let sql: String = begun.collect();
        let request = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut self.inner);
        match tokio::time::timeout(self.limit, request).await {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => match definite(&error) {
                Some(code) => Err(self.roll_back(error.to_string(), code).await),
                None => Err(unanswered(error.to_string())),
            },
            Err(_) => Err(unanswered(format!("no answer within {:?}", self.limit))),
        }
    }

    /// Ends the transaction that the server has aborted.
    async fn roll_back(&mut self, cause: String, code: String) -> Failure {
        let request = sqlx::raw_sql("ROLLBACK").execute(&mut self.inner);
        match tokio::time::timeout(self.limit, request).await {
            Ok(Ok(_)) => Failure::Refused { cause, code },
            Ok(Err(_)) | Err(_) => Failure::NotDone(cause),
        }
    }

    /// Ends the connection in an orderly way.
    pub(crate) async fn close(self) {
        // An unanswered goodbye has no effect.
        let _ = tokio::time::timeout(self.limit, self.inner.close()).await;
    }
}

/// Returns the code of an error after which the server has certainly rolled back.
///
/// An error that ends the connection may come while a commit waits for a standby.
fn definite(error: &sqlx::Error) -> Option<String> {
    let error = error.as_database_error()?.try_downcast_ref::<PgDatabaseError>()?;
    (error.severity() == PgSeverity::Error).then(|| error.code().to_owned())
}

/// Returns the options of a connection, with the present password.
pub(crate) fn server_options(
    options: &PostgresOptions,
) -> std::result::Result<PgConnectOptions, OpenError> {
    // The driver uses the cryptography provider of the process, and fails if the build has several
    // and none is installed. A program that wants another one installs it before.
    if options.tls != Tls::Disable {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let mut server = PgConnectOptions::new_without_pgpass()
        .host(&options.host)
        .port(options.port)
        .database(&options.database)
        .application_name("ejob")
        .statement_cache_capacity(0)
        // A pooler refuses settings that it does not know.
        .extra_float_digits(None)
        .ssl_mode(match options.tls {
            Tls::Disable => PgSslMode::Disable,
            Tls::Prefer => PgSslMode::Prefer,
            Tls::Require => PgSslMode::Require,
            Tls::VerifyCa => PgSslMode::VerifyCa,
            Tls::VerifyFull => PgSslMode::VerifyFull,
        })
        // The statements have the data of nodes.
        .disable_statement_logging();
    if let Some(user) = &options.user {
        server = server.username(user);
    }
    if let Some(path) = &options.password_file {
        let password = std::fs::read_to_string(path).map_err(|error| OpenError::File {
            option: "password_file",
            path: path.clone(),
            cause: error.to_string(),
        })?;
        server = server.password(password.trim_end_matches(['\r', '\n']));
    }
    if let Some(path) = &options.tls_root_cert {
        if let Err(error) = std::fs::metadata(path) {
            let (path, cause) = (path.clone(), error.to_string());
            return Err(OpenError::File { option: "sslrootcert", path, cause });
        }
        server = server.ssl_root_cert(path);
    }
    Ok(server)
}

/// Returns true if the handshake of TLS failed, which a repeat does not change.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other error is one of TLS")]
fn is_tls(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

fn failed(options: &PostgresOptions) -> impl Fn(sqlx::Error) -> OpenError + '_ {
    |error| {
        let server = options.server();
        let reported = error.as_database_error();
        let cause = reported.map_or_else(|| error.to_string(), |error| error.message().to_owned());
        let code = reported.and_then(|error| error.code());
        match code {
            Some(code) if code.starts_with("28") || code == NO_RIGHT => {
                OpenError::Refused { server, cause }
            }
            Some(code) if code == NO_DATABASE => OpenError::NoDatabase { server, cause },
            None if is_tls(&error) => OpenError::Tls { server, cause },
            _ => OpenError::Unreachable { server, cause },
        }
    }
}
