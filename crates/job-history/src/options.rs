//! Options of a history.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::store_url::{Kind, StoreUrl};
use crate::{Error, Result};

/// Location of a history, and its settings.
///
/// | option | default | range |
/// |---|---|---|
/// | [`queue_capacity`](Self::queue_capacity) | 10 000 records | 1 to 1 000 000 |
/// | [`batch_size`](Self::batch_size) | 256 records | 1 to 10 000 |
/// | [`keep_for`](Self::keep_for) | no rows are deleted | at least 1 minute |
/// | [`prune_every`](Self::prune_every) | 1 hour | at least 1 second |
/// | [`prune_chunk`](Self::prune_chunk) | 1 000 rows | 1 to 100 000 |
/// | [`connect_deadline`](Self::connect_deadline) | 10 s | at most 1 hour |
/// | [`max_connections`](Self::max_connections) | 4 | 2 to 100 |
/// | [`host_name`](Self::host_name) | the host name of the operating system | 1 to 255 characters |
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use job_history::HistoryOptions;
///
/// let options = HistoryOptions::sqlite("history.db").keep_for(Duration::from_secs(30 * 86_400));
/// assert!(format!("{options:?}").contains("history.db"));
/// let error = HistoryOptions::url("oracle://db/jobs").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "url: its scheme is not valid, it must be \
///      sqlite:PATH, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE"
/// );
/// ```
#[derive(Clone)]
pub struct HistoryOptions {
    pub(crate) url: StoreUrl,
    password: Option<String>,
    pub(crate) queue_capacity: usize,
    pub(crate) batch_size: usize,
    pub(crate) keep_for: Option<Duration>,
    pub(crate) prune_every: Duration,
    pub(crate) prune_chunk: u32,
    pub(crate) connect_deadline: Duration,
    pub(crate) max_connections: u32,
    pub(crate) host_name: String,
}

impl HistoryOptions {
    /// Stores the history in a file. A missing file is created; its folder must exist.
    ///
    /// Several processes of one host can share the file. It must not be on a network file system.
    pub fn sqlite(path: impl Into<PathBuf>) -> Self {
        Self::of(StoreUrl::File(path.into()))
    }

    /// Stores the history at a URL: `sqlite:PATH`, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`,
    /// or `mysql://…` for MySQL and MariaDB.
    ///
    /// The kind of store must be among the enabled features of this crate.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] describes the invalid part without repeating the URL.
    pub fn url(url: &str) -> Result<Self> {
        Ok(Self::of(StoreUrl::parse(url)?))
    }

    fn of(url: StoreUrl) -> Self {
        let host_name = gethostname::gethostname().to_string_lossy().into_owned();
        Self {
            url,
            password: None,
            queue_capacity: 10_000,
            batch_size: 256,
            keep_for: None,
            prune_every: Duration::from_secs(3_600),
            prune_chunk: 1_000,
            connect_deadline: Duration::from_secs(10),
            max_connections: 4,
            host_name: if host_name.is_empty() { "localhost".to_owned() } else { host_name },
        }
    }

    /// Sets the password, so that it need not be in the URL. It is never shown.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Sets the maximum number of queued records. Further records are dropped and counted.
    #[must_use]
    pub fn queue_capacity(mut self, records: usize) -> Self {
        self.queue_capacity = records;
        self
    }

    /// Sets the maximum number of records in one transaction. The writer takes the queued records,
    /// and does not wait for a full batch.
    #[must_use]
    pub fn batch_size(mut self, records: usize) -> Self {
        self.batch_size = records;
        self
    }

    /// Sets how long rows are kept, counted from the time of the fire or event. In the tables of
    /// ElasticJob it also applies to the rows of Java instances.
    #[must_use]
    pub fn keep_for(mut self, age: Duration) -> Self {
        self.keep_for = Some(age);
        self
    }

    /// Sets the interval of the deletion of old rows.
    #[must_use]
    pub fn prune_every(mut self, interval: Duration) -> Self {
        self.prune_every = interval;
        self
    }

    /// Sets the maximum number of rows that one transaction deletes. Queued records are written in
    /// between.
    #[must_use]
    pub fn prune_chunk(mut self, rows: u32) -> Self {
        self.prune_chunk = rows;
        self
    }

    /// Sets how long [`History::open`](crate::History::open) tries to reach the store, and how long
    /// a query waits for a connection.
    #[must_use]
    pub fn connect_deadline(mut self, deadline: Duration) -> Self {
        self.connect_deadline = deadline;
        self
    }

    /// Sets the maximum number of connections; one of them writes.
    #[must_use]
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets the value of the column `hostname` in ElasticJob's table.
    #[must_use]
    pub fn host_name(mut self, name: impl Into<String>) -> Self {
        self.host_name = name.into();
        self
    }

    /// Checks all options, and inserts the password into the URL.
    pub(crate) fn checked(mut self) -> Result<Self> {
        if let StoreUrl::File(path) = &self.url {
            self.url = StoreUrl::file(path.clone())?;
        }
        if let Some(password) = self.password.take() {
            self.url.set_password(&password)?;
        }
        check_feature(self.url.kind())?;
        self.check_bounds()?;
        Ok(self)
    }

    /// Checks each option against its bounds.
    fn check_bounds(&self) -> Result<()> {
        let hour = Duration::from_secs(3_600);
        let keep_for = self.keep_for.unwrap_or(Duration::MAX);
        let is_valid_age = keep_for >= Duration::from_secs(60);
        let rows: [(&str, String, bool, &str); 8] = [
            (
                "queue_capacity",
                self.queue_capacity.to_string(),
                (1..=1_000_000).contains(&self.queue_capacity),
                "1 to 1000000 records",
            ),
            (
                "batch_size",
                self.batch_size.to_string(),
                (1..=10_000).contains(&self.batch_size),
                "1 to 10000 records",
            ),
            ("keep_for", format!("{keep_for:?}"), is_valid_age, "1 minute or longer, or left out"),
            (
                "prune_every",
                format!("{:?}", self.prune_every),
                self.prune_every >= Duration::from_secs(1),
                "1 second or longer",
            ),
            (
                "prune_chunk",
                self.prune_chunk.to_string(),
                (1..=100_000).contains(&self.prune_chunk),
                "1 to 100000 rows",
            ),
            (
                "connect_deadline",
                format!("{:?}", self.connect_deadline),
                self.connect_deadline <= hour,
                "1 hour or shorter",
            ),
            (
                "max_connections",
                self.max_connections.to_string(),
                (2..=100).contains(&self.max_connections),
                "2 to 100",
            ),
            (
                "host_name",
                format!("{:?}", self.host_name),
                (1..=255).contains(&self.host_name.chars().count()),
                "1 to 255 characters long",
            ),
        ];
        match rows.into_iter().find(|(_, _, valid, _)| !valid) {
            Some((option, value, _, expected)) => {
                Err(Error::InvalidOption { option, value, expected })
            }
            None => Ok(()),
        }
    }
}

fn check_feature(kind: Kind) -> Result<()> {
    let (is_enabled, value, expected) = match kind {
        Kind::Sqlite => (
            cfg!(feature = "sqlite"),
            "a file",
            "a server, or the feature \"sqlite\" of job-history must be on",
        ),
        Kind::Postgres => (
            cfg!(feature = "postgres"),
            "a PostgreSQL server",
            "another store, or the feature \"postgres\" of job-history must be on",
        ),
        Kind::MySql => (
            cfg!(feature = "mysql"),
            "a MySQL server",
            "another store, or the feature \"mysql\" of job-history must be on",
        ),
    };
    if is_enabled {
        return Ok(());
    }
    Err(Error::InvalidOption { option: "url", value: value.to_owned(), expected })
}

/// Shows all options but the password.
impl fmt::Debug for HistoryOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryOptions")
            .field("store", &self.url)
            .field("queue_capacity", &self.queue_capacity)
            .field("batch_size", &self.batch_size)
            .field("keep_for", &self.keep_for)
            .field("prune_every", &self.prune_every)
            .field("prune_chunk", &self.prune_chunk)
            .field("connect_deadline", &self.connect_deadline)
            .field("max_connections", &self.max_connections)
            .field("host_name", &self.host_name)
            .finish_non_exhaustive()
    }
}
