//! Classes of failed statements, which decide about the next attempt.

use std::fmt;

/// Class of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultClass {
    /// A concurrent writer committed first: retry at once.
    Conflict,
    /// The store does not answer, is locked, full or shutting down: retry later.
    Unreachable,
    /// Wrong credentials, missing rights, or a file that is no database: an operator must act.
    Denied,
    /// The store rejects the values of a row: a retry with the same row cannot succeed.
    Rejected,
    /// The tables are newer than this program.
    Newer { found: i64, known: i64 },
}

/// Reason of a failed statement. The text is not masked yet.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) class: FaultClass,
    pub(crate) text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<sqlx::Error> for Fault {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "unknown errors are retried, so that no record is lost at once"
    )]
    fn from(error: sqlx::Error) -> Self {
        let class = match error.as_database_error() {
            Some(database) if database.is_unique_violation() => FaultClass::Conflict,
            Some(database) => {
                class_of_code(&database.code().unwrap_or_default(), mysql_number(database))
            }
            None => match &error {
                sqlx::Error::Configuration(_) | sqlx::Error::Tls(_) => FaultClass::Denied,
                sqlx::Error::Encode(_) | sqlx::Error::InvalidArgument(_) => FaultClass::Rejected,
                sqlx::Error::Io(error) if rejects_certificate(error) => FaultClass::Denied,
                _ => FaultClass::Unreachable,
            },
        };
        let text = match error {
            // The pool repeats a connection that a server refuses, and then names itself alone.
            sqlx::Error::PoolTimedOut => NO_CONNECTION.to_owned(),
            error => error.to_string(),
        };
        Self { class, text }
    }
}

const NO_CONNECTION: &str = "no connection within the connect deadline: the server refuses connections or does not \
                             answer, or this process uses all that it may have";

/// Returns true if the certificate of the server is not trusted, has expired, or is for another
/// host. The driver reports this as an error of the connection.
#[cfg(feature = "tls-rustls")]
fn rejects_certificate(error: &std::io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    matches!(error, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(not(feature = "tls-rustls"))]
fn rejects_certificate(_: &std::io::Error) -> bool {
    false
}

#[cfg(feature = "mysql")]
fn mysql_number(error: &dyn sqlx::error::DatabaseError) -> Option<u16> {
    error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().map(|error| error.number())
}

#[cfg(not(feature = "mysql"))]
fn mysql_number(_: &dyn sqlx::error::DatabaseError) -> Option<u16> {
    None
}

/// Classifies by the SQLSTATE of PostgreSQL, the number of MySQL, or the extended result code of
/// SQLite.
///
/// Unknown codes are [`FaultClass::Unreachable`], so that no record is lost before the queue is
/// full.
fn class_of_code(code: &str, mysql: Option<u16>) -> FaultClass {
    if let Some(number) = mysql {
        return match number {
            // Deadlock; lock wait timeout; duplicate key.
            1213 | 1205 | 1062 => FaultClass::Conflict,
            // No right to the database, wrong credentials, no such database, no right to the table,
            // wrong plug-in.
            1044 | 1045 | 1049 | 1142 | 1227 | 1698 => FaultClass::Denied,
            // Null, range, date, text or length that the column cannot hold; a constraint.
            1048 | 1264 | 1265 | 1292 | 1366 | 1406 | 3819 | 4025 => FaultClass::Rejected,
            _ => FaultClass::Unreachable,
        };
    }
    if let Ok(number) = code.parse::<u32>()
        && code.len() < 5
    {
        // The lowest eight bits are the primary code.
        return match number & 0xff {
            // Constraint, mismatch, too big.
            18..=20 => FaultClass::Rejected,
            // No rights, read-only, damaged, cannot be opened, no database.
            3 | 8 | 11 | 14 | 26 => FaultClass::Denied,
            _ => FaultClass::Unreachable,
        };
    }
    match code {
        // Serialization failure, deadlock, or two processes that create the same table or type.
        "40001" | "40P01" | "23505" | "42P07" | "42710" => FaultClass::Conflict,
        // No such database, no right to the table.
        "3D000" | "42501" => FaultClass::Denied,
        _ if code.starts_with("28") => FaultClass::Denied,
        _ if code.starts_with("22") || code.starts_with("23") => FaultClass::Rejected,
        _ => FaultClass::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhausted_wait_for_a_connection_names_its_possible_causes() {
        let fault = Fault::from(sqlx::Error::PoolTimedOut);
        assert_eq!(fault.class, FaultClass::Unreachable);
        assert!(fault.text.contains("the server refuses connections"), "{fault}");
    }

    #[test]
    fn error_codes_are_classified() {
        use FaultClass::{Conflict, Denied, Rejected, Unreachable};
        let rows: [(&str, Option<u16>, FaultClass); 20] = [
            ("5", None, Unreachable),   // SQLite: busy
            ("261", None, Unreachable), // busy, in recovery
            ("517", None, Unreachable), // busy, snapshot
            ("13", None, Unreachable),  // full
            ("1", None, Unreachable),   // no such table: it may have been dropped
            ("1299", None, Rejected),   // not null
            ("26", None, Denied),       // not a database
            ("14", None, Denied),       // cannot open
            ("8", None, Denied),        // read-only
            ("28P01", None, Denied),    // PostgreSQL: wrong password
            ("3D000", None, Denied),
            ("40P01", None, Conflict),
            ("22001", None, Rejected),    // too long
            ("57P01", None, Unreachable), // shutting down
            ("53100", None, Unreachable), // disk full
            ("42P01", None, Unreachable), // no such table
            ("40001", Some(1213), Conflict),
            ("28000", Some(1045), Denied),
            ("22001", Some(1406), Rejected),
            ("HY000", Some(1021), Unreachable), // disk full
        ];
        for (code, mysql, class) in rows {
            assert_eq!(class_of_code(code, mysql), class, "{code} {mysql:?}");
        }
    }
}
