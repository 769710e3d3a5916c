//! Options of a registry in a PostgreSQL database.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

const CONNECT_TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(60 * 60);
const SESSION_TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_millis(500)..=Duration::from_hours(1);
const REQUEST_TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_mins(1);
const POLL_INTERVALS: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_mins(1);
/// Longest name of a schema, as PostgreSQL limits names.
const MAX_SCHEMA_BYTES: usize = 63;
const MAX_NAMESPACE_BYTES: usize = 200;

/// How a center learns of the changes of other centers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notify {
    /// By notifications of the server (`NOTIFY`), and by polling in case that one is lost. Needs a
    /// second connection, and a direct connection to the server.
    #[default]
    On,
    /// By polling alone. Works behind PgBouncer in transaction mode.
    Off,
}

/// Protection of the connection to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tls {
    /// No TLS.
    Disable,
    /// TLS if the server offers it, without a check of its certificate.
    #[default]
    Prefer,
    /// TLS. The certificate is checked only if [`PostgresOptions::tls_root_cert`] is set.
    Require,
    /// TLS, and a certificate of a trusted authority.
    VerifyCa,
    /// TLS, and a certificate of a trusted authority for the name of the host.
    VerifyFull,
}

/// Options of a registry in a PostgreSQL database.
///
/// | option | default | valid |
/// |---|---|---|
/// | [`user`](Self::user) | `PGUSER`, or the user of the process | |
/// | [`password_file`](Self::password_file) | `PGPASSWORD`, or none | a file with the password |
/// | [`namespace`](Self::namespace) | `default` | 1 to 200 letters, digits, `.`, `_`, `-` |
/// | [`schema`](Self::schema) | `ejob` | 1 to 63 of `a`–`z`, `0`–`9`, `_`, no digit first |
/// | [`create_if_missing`](Self::create_if_missing) | true | |
/// | [`connect_timeout`](Self::connect_timeout) | 15 s | 1 ms to 1 h |
/// | [`session_timeout`](Self::session_timeout) | 10 s | 500 ms to 1 h |
/// | [`request_timeout`](Self::request_timeout) | a third of the session | 100 ms to 1 min |
/// | [`notify`](Self::notify) | [`Notify::On`] | |
/// | [`poll_interval`](Self::poll_interval) | 1 s; 200 ms with [`Notify::Off`] | 10 ms to 1 min |
/// | [`tls`](Self::tls) | [`Tls::Prefer`] | |
/// | [`tls_root_cert`](Self::tls_root_cert) | the authorities of the system | a PEM file |
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use reg_center_postgres::{PostgresOptions, Tls};
///
/// let options = PostgresOptions::new("db.example.com", 5432, "jobs")
///     .user("worker")
///     .password_file("/run/secrets/db")
///     .namespace("production")
///     .session_timeout(Duration::from_secs(5))
///     .tls(Tls::VerifyFull);
/// options.validate()?;
/// # Ok::<(), reg_center_postgres::OptionsError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) user: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) namespace: String,
    pub(crate) schema: String,
    pub(crate) create_if_missing: bool,
    pub(crate) connect_timeout: Duration,
    pub(crate) session_timeout: Duration,
    pub(crate) request_timeout: Option<Duration>,
    pub(crate) notify: Notify,
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) tls: Tls,
    pub(crate) tls_root_cert: Option<PathBuf>,
}

impl PostgresOptions {
    /// Returns options for a database on a server.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16, database: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port,
            database: database.into(),
            user: None,
            password_file: None,
            namespace: "default".to_owned(),
            schema: "ejob".to_owned(),
            create_if_missing: true,
            connect_timeout: Duration::from_secs(15),
            session_timeout: Duration::from_secs(10),
            request_timeout: None,
            notify: Notify::On,
            poll_interval: None,
            tls: Tls::Prefer,
            tls_root_cert: None,
        }
    }

    /// Sets the user.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets the file with the password. It is read at each connection, so that the password can
    /// change. A line feed at its end is ignored.
    ///
    /// Without a file the environment variable `PGPASSWORD` has the password.
    #[must_use]
    pub fn password_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.password_file = Some(path.into());
        self
    }

    /// Sets the name of the registry in the schema. Registries of other names are separate.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets the schema of the tables.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets whether a missing schema is created. If it is not, opening a center fails with
    /// [`OpenError::NoSchema`](crate::OpenError::NoSchema).
    #[must_use]
    pub fn create_if_missing(mut self, create: bool) -> Self {
        self.create_if_missing = create;
        self
    }

    /// Sets the limit of the wait for a server that cannot be reached, or that is starting, until
    /// opening a center fails. An opened center reconnects without a limit.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time after which other centers end the session of a center that has stopped.
    #[must_use]
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// Sets the limit of each request to the server, also for its wait for locks and for a
    /// synchronous standby. It must be at most half of the session timeout. The default is a third
    /// of the session timeout, at most 3 s.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = Some(timeout);
        self
    }

    /// Sets how the center learns of the changes of other centers.
    #[must_use]
    pub fn notify(mut self, notify: Notify) -> Self {
        self.notify = notify;
        self
    }

    /// Sets the interval at which the center looks for the changes of other centers. The default is
    /// 200 ms without notifications.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval);
        self
    }

    /// Sets the protection of the connection.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets the file with the certificates of trusted authorities.
    #[must_use]
    pub fn tls_root_cert(mut self, path: impl Into<PathBuf>) -> Self {
        self.tls_root_cert = Some(path.into());
        self
    }

    /// Returns the limit of each request.
    pub(crate) fn requests(&self) -> Duration {
        let default = (self.session_timeout / 3).min(Duration::from_secs(3));
        self.request_timeout.unwrap_or(default)
    }

    /// Returns the interval of polls.
    pub(crate) fn polls(&self) -> Duration {
        let default = match self.notify {
            Notify::On => Duration::from_secs(1),
            Notify::Off => Duration::from_millis(200),
        };
        self.poll_interval.unwrap_or(default)
    }

    /// Returns the server and the database, for messages.
    pub(crate) fn server(&self) -> String {
        format!("postgres://{}:{}/{}", self.host, self.port, self.database)
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`OptionsError`] with the option, its value and the valid values.
    pub fn validate(&self) -> Result<(), OptionsError> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let schema = &self.schema;
        let rows = [
            ("host", &self.host, !self.host.is_empty(), "the name or address of a host"),
            ("database", &self.database, !self.database.is_empty(), "the name of a database"),
            (
                "namespace",
                &self.namespace,
                (1..=MAX_NAMESPACE_BYTES).contains(&self.namespace.len())
                    && self.namespace.chars().all(is_word),
                "1 to 200 of the letters, digits, '.', '_' and '-'",
            ),
            (
                "schema",
                schema,
                (1..=MAX_SCHEMA_BYTES).contains(&schema.len())
                    && schema.chars().all(is_name)
                    && !schema.starts_with(|c: char| c.is_ascii_digit())
                    && !schema.starts_with("pg_"),
                "1 to 63 of a-z, 0-9 and '_', not beginning with a digit or pg_",
            ),
        ];
        for (option, value, is_valid, valid) in rows {
            if !is_valid {
                return Err(OptionsError::new(option, value, valid));
            }
        }
        let (requests, polls) = (self.requests(), self.polls());
        let rows = [
            ("connect_timeout", self.connect_timeout, CONNECT_TIMEOUTS, "1 ms to 1 h"),
            ("session_timeout", self.session_timeout, SESSION_TIMEOUTS, "500 ms to 1 h"),
            ("request_timeout", requests, REQUEST_TIMEOUTS, "100 ms to 1 min"),
            ("poll_interval", polls, POLL_INTERVALS, "10 ms to 1 min"),
        ];
        for (option, value, range, valid) in rows {
            if !range.contains(&value) {
                return Err(OptionsError::new(option, &format!("{value:?}"), valid));
            }
        }
        if requests > self.session_timeout / 2 {
            let value = format!("{requests:?}");
            let valid = "at most half of the session timeout";
            return Err(OptionsError::new("request_timeout", &value, valid));
        }
        Ok(())
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("server", &self.server())
            .field("user", &self.user)
            .field("namespace", &self.namespace)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// An invalid option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {value:?} is invalid, valid is {valid}")]
pub struct OptionsError {
    option: &'static str,
    value: String,
    valid: &'static str,
}

impl OptionsError {
    pub(crate) fn new(option: &'static str, value: &str, valid: &'static str) -> Self {
        Self { option, value: value.to_owned(), valid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_option_is_named_with_its_value_and_the_valid_values() {
        let options = || PostgresOptions::new("h", 5432, "d");
        assert_eq!(options().validate(), Ok(()));
        let ms = Duration::from_millis;
        let rows = [
            (PostgresOptions::new("", 1, "d"), "host: \"\" is invalid, valid is the name"),
            (options().namespace("a/b"), "namespace: \"a/b\" is invalid, valid is 1 to 200"),
            (options().schema("Jobs"), "schema: \"Jobs\" is invalid, valid is 1 to 63 of a-z"),
            (options().schema("pg_x"), "schema: \"pg_x\" is invalid"),
            (options().schema("a\"; DROP"), "schema: \"a\\\"; DROP\" is invalid"),
            (options().connect_timeout(ms(0)), "connect_timeout: \"0ns\" is invalid"),
            (options().session_timeout(ms(499)), "session_timeout: \"499ms\" is invalid"),
            (options().request_timeout(ms(99)), "request_timeout: \"99ms\" is invalid"),
            (options().poll_interval(ms(1)), "poll_interval: \"1ms\" is invalid"),
            (
                options().session_timeout(ms(5_000)).request_timeout(ms(3_000)),
                "request_timeout: \"3s\" is invalid, valid is at most half of the session timeout",
            ),
        ];
        for (options, expected) in rows {
            let error = options.validate().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
