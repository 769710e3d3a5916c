//! Options of a registry file.

use std::path::{Path, PathBuf};
use std::time::Duration;

const SESSION_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_hours(1);
const LOCK_TIMEOUTS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_mins(1);
const POLL_INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(1);

const MIN_BYTES: u64 = 64 * 1024;

/// The faults that an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// The loss of power: each commit waits for the disk (`synchronous=FULL`).
    #[default]
    Full,
    /// The end of the process, also by SIGKILL, but the last commits may be lost with the power
    /// (`synchronous=NORMAL`). They are lost from the end, never from the middle.
    Normal,
}

/// Options of a registry on a SQLite file.
///
/// | option | default | valid |
/// |---|---|---|
/// | path | – | a file on a disk of this host; it is created if it is missing |
/// | [`session_timeout`](Self::session_timeout) | 10 s | 100 ms to 1 h |
/// | [`durability`](Self::durability) | [`Durability::Full`] | |
/// | [`lock_timeout`](Self::lock_timeout) | 2 s | 1 ms to 1 min |
/// | [`poll_interval`](Self::poll_interval) | 10 ms | 1 ms to 1 s |
/// | [`max_bytes`](Self::max_bytes) | no limit but the disk | at least 64 KiB |
///
/// # Examples
/// ```
/// use std::time::Duration;
///
/// use reg_center_sqlite::{Durability, SqliteOptions};
///
/// let options = SqliteOptions::new("/var/lib/ejob/registry.db")
///     .session_timeout(Duration::from_secs(5))
///     .durability(Durability::Normal);
/// options.validate()?;
/// # Ok::<(), reg_center_sqlite::OptionsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    pub(crate) path: PathBuf,
    pub(crate) session_timeout: Duration,
    pub(crate) durability: Durability,
    pub(crate) lock_timeout: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) max_bytes: Option<u64>,
}

impl SqliteOptions {
    /// Returns options for the file at `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            session_timeout: Duration::from_secs(10),
            durability: Durability::Full,
            lock_timeout: Duration::from_secs(2),
            poll_interval: Duration::from_millis(10),
            max_bytes: None,
        }
    }

    /// Sets the time after which the other processes end the session of a process that has stopped
    /// without ending it. If they can see that the process has ended, they do not wait.
    #[must_use]
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session_timeout = timeout;
        self
    }

    /// Sets the faults that an acknowledged write survives. All processes of a file should use the
    /// same value. Addresses such as `sqlite:PATH`, and thus `ejob`, always use
    /// [`Durability::Full`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the time for which a call waits while another process holds the write lock.
    ///
    /// Transactions take milliseconds, so a longer wait means that a process was stopped in one or
    /// that another program has locked the file.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout = timeout;
        self
    }

    /// Sets the interval at which the center looks for changes by other processes.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets the maximum size of the file. A write that would exceed it fails as on a full disk.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`OptionsError`] with the option, its value and the valid values.
    pub fn validate(&self) -> Result<(), OptionsError> {
        if self.path.as_os_str().is_empty() {
            return Err(OptionsError::new("path", "", "the path of a file"));
        }
        let rows = [
            ("session_timeout", self.session_timeout, SESSION_TIMEOUTS, "100 ms to 1 h"),
            ("lock_timeout", self.lock_timeout, LOCK_TIMEOUTS, "1 ms to 1 min"),
            ("poll_interval", self.poll_interval, POLL_INTERVALS, "1 ms to 1 s"),
        ];
        for (option, value, range, valid) in rows {
            if !range.contains(&value) {
                return Err(OptionsError::new(option, &format!("{value:?}"), valid));
            }
        }
        if let Some(bytes) = self.max_bytes
            && bytes < MIN_BYTES
        {
            return Err(OptionsError::new("max_bytes", &bytes.to_string(), "at least 65536"));
        }
        Ok(())
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
    fn new(option: &'static str, value: &str, valid: &'static str) -> Self {
        Self { option, value: value.to_owned(), valid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_option_is_named_with_its_value_and_the_valid_values() {
        let options = || SqliteOptions::new("/x.db");
        assert_eq!(options().validate(), Ok(()));
        let rows = [
            (SqliteOptions::new(""), "path: \"\" is invalid, valid is the path of a file"),
            (
                options().session_timeout(Duration::from_millis(99)),
                "session_timeout: \"99ms\" is invalid, valid is 100 ms to 1 h",
            ),
            (
                options().lock_timeout(Duration::ZERO),
                "lock_timeout: \"0ns\" is invalid, valid is 1 ms to 1 min",
            ),
            (
                options().poll_interval(Duration::from_secs(2)),
                "poll_interval: \"2s\" is invalid, valid is 1 ms to 1 s",
            ),
        ];
        for (options, expected) in rows {
            assert_eq!(options.validate().unwrap_err().to_string(), expected);
        }
    }
}
