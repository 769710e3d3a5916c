//! Files with users or tokens, read again when they change.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use outbound::read_text;
use parking_lot::Mutex;
use tokio::time::Instant;

/// Shortest time between two looks at a file.
const INTERVAL: Duration = Duration::from_secs(1);

/// Longest time that a request waits for a file, such as one of a network drive.
const READ_DEADLINE: Duration = Duration::from_secs(5);

/// Maximum size of a file, in KiB.
const MAX_KIB: u64 = 4 * 1024;

/// Most bytes of the name of a user, a group or a token. An audit record takes a name of this size.
const MAX_NAME_BYTES: usize = 128;

/// A parsed file.
pub(super) struct WatchedFile<T> {
    path: PathBuf,
    parse: fn(&str) -> Result<T, String>,
    state: Mutex<State<T>>,
}

struct State<T> {
    current: Arc<T>,
    /// Of the last version, also if it is broken.
    stamp: Option<Stamp>,
    looked_at: Instant,
    /// A file of a network drive may hang. Then no second thread waits for it.
    is_reading: bool,
}

/// Distinguishes two versions of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    len: u64,
    #[cfg(unix)]
    changed: (u64, i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            modified: metadata.modified().ok(),
            len: metadata.len(),
            #[cfg(unix)]
            changed: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl<T: Send + Sync + 'static> WatchedFile<T> {
    pub(super) fn open(path: &Path, parse: fn(&str) -> Result<T, String>) -> Result<Self, String> {
        let (text, stamp) = read(path)?;
        let current = Arc::new(parse(&text)?);
        let looked_at = Instant::now();
        let state = State { current, stamp: Some(stamp), looked_at, is_reading: false };
        Ok(Self { path: path.to_owned(), parse, state: Mutex::new(state) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the content. Keeps the previous one if the file is broken or missing.
    pub(super) async fn current(self: &Arc<Self>) -> Arc<T> {
        {
            let mut state = self.state.lock();
            if state.is_reading || state.looked_at.elapsed() < INTERVAL {
                return Arc::clone(&state.current);
            }
            // Other requests use the previous content until the file has been read.
            (state.looked_at, state.is_reading) = (Instant::now(), true);
        }
        let reading = Reading(Arc::clone(self));
        let reading = tokio::task::spawn_blocking(move || reading.run());
        match tokio::time::timeout(READ_DEADLINE, reading).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.report(&format!("is not read: {error}")),
            Err(_) => self.report("is not read within 5 s"),
        }
        Arc::clone(&self.state.lock().current)
    }

    fn refresh(&self) {
        let stamp = fs::metadata(&self.path).ok().map(|metadata| Stamp::of(&metadata));
        if stamp == self.state.lock().stamp {
            return;
        }
        let read = read(&self.path);
        let stamp = read.as_ref().map_or(stamp, |(_, stamp)| Some(stamp.clone()));
        let parsed = read.and_then(|(text, _)| (self.parse)(&text));
        let mut state = self.state.lock();
        state.stamp = stamp;
        match parsed {
            Ok(content) => {
                state.current = Arc::new(content);
                tracing::info!(target: super::log::TARGET, path = %self.path.display(), "file read");
            }
            Err(reason) => {
                drop(state);
                self.report(&reason);
            }
        }
    }

    fn report(&self, reason: &str) {
        tracing::error!(
            target: super::log::TARGET,
            path = %self.path.display(),
            reason,
            "file cannot be used; its previous content stays in force"
        );
    }
}

/// A read of a file, which ends when this is dropped, also by a panic.
struct Reading<T>(Arc<WatchedFile<T>>);

impl<T: Send + Sync + 'static> Reading<T> {
    fn run(self) {
        self.0.refresh();
    }
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        self.0.state.lock().is_reading = false;
    }
}

impl<T> fmt::Debug for WatchedFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedFile").field("path", &self.path).finish_non_exhaustive()
    }
}

fn read(path: &Path) -> Result<(String, Stamp), String> {
    let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    // Of the open file, so that it cannot be replaced between the check and the reading.
    let metadata = file.metadata().map_err(|error| format!("cannot be examined: {error}"))?;
    check_mode(&metadata)?;
    let text = read_text(file, MAX_KIB).map_err(|error| format!("cannot be read: {error}"))?;
    Ok((text, Stamp::of(&metadata)))
}

/// Refuses a file that other users of the machine can read or change.
#[cfg(unix)]
fn check_mode(metadata: &Metadata) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o026 != 0 {
        return Err(format!(
            "has the mode {mode:03o}, so that other users can read or change it; valid are 600, \
             640 and less (chmod 600)"
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Metadata) -> Result<(), String> {
    Ok(())
}

/// Checks the name of a user, a group or a token.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_valid = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.trim() == name
        && !name.chars().any(char::is_control);
    if is_valid {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
    Err(format!(
        "name is {shown:?}; valid are 1 to {MAX_NAME_BYTES} bytes without control characters and \
         without spaces at the ends"
    ))
}

/// Checks a pattern of job names.
pub(super) fn check_jobs(jobs: &str) -> Result<(), String> {
    let is_valid = (1..=256).contains(&jobs.len()) && !jobs.chars().any(char::is_control);
    let valid = "valid are 1 to 256 bytes: a job name in which * stands for any text";
    if is_valid { Ok(()) } else { Err(format!("jobs is {jobs:?}; {valid}")) }
}

/// Returns the pattern of all jobs.
pub(super) fn all_jobs() -> String {
    "*".to_owned()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn length(text: &str) -> Result<usize, String> {
        assert!(!text.starts_with("panic"), "on purpose");
        if text.starts_with("broken") {
            Err("begins with broken".to_owned())
        } else {
            Ok(text.len())
        }
    }

    #[cfg(unix)]
    fn write(path: &Path, text: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn changed_file_is_read_and_a_broken_one_keeps_the_old_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        write(&path, "one", 0o600);
        let file = Arc::new(WatchedFile::open(&path, length).unwrap());
        for (text, mode, expected) in [
            ("three", 0o600, 5),
            ("broken", 0o600, 5),
            ("panic", 0o600, 5),
            ("four", 0o600, 4),
            ("readable by others", 0o604, 4),
            ("eleven letters", 0o640, 14),
        ] {
            write(&path, text, mode);
            tokio::time::advance(INTERVAL).await;
            assert_eq!(*file.current().await, expected, "{text}");
        }
        fs::remove_file(&path).unwrap();
        tokio::time::advance(INTERVAL).await;
        assert_eq!(*file.current().await, 14);
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn file_that_hangs_is_read_by_one_thread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        write(&path, "one", 0o600);
        let file = Arc::new(WatchedFile::open(&path, length).unwrap());
        fs::remove_file(&path).unwrap();
        // Opening a pipe waits for its writer.
        let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&path).status();
        assert!(made.unwrap().success());
        tokio::time::advance(INTERVAL).await;
        let mut first = Box::pin(file.current());
        assert!(first.as_mut().now_or_never().is_none(), "the file is being read");
        tokio::time::advance(2 * READ_DEADLINE).await;
        assert_eq!(*first.await, 3);
        let next = file.current().now_or_never();
        assert_eq!(next.as_deref(), Some(&3), "the first read goes on");
        fs::write(&path, "three").unwrap();
        let patience = std::time::Instant::now() + Duration::from_secs(60);
        while file.state.lock().is_reading {
            assert!(std::time::Instant::now() < patience, "the read has not ended");
            tokio::task::yield_now().await;
        }
        assert_eq!(*file.state.lock().current, 5);
    }

    #[cfg(unix)]
    #[test]
    fn file_that_others_can_read_or_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        for (mode, is_valid) in [
            (0o600, true),
            (0o640, true),
            (0o400, true),
            (0o644, false),
            (0o602, false),
            (0o620, false),
        ] {
            write(&path, "x", mode);
            let opened = WatchedFile::open(&path, length);
            assert_eq!(opened.is_ok(), is_valid, "{mode:o}");
        }
    }

    #[test]
    fn names_and_patterns_are_checked() {
        for (name, is_valid) in
            [("anna", true), ("安娜", true), ("", false), (" anna", false), ("an\nna", false)]
        {
            assert_eq!(check_name(name).is_ok(), is_valid, "{name:?}");
        }
        assert!(check_name(&"x".repeat(129)).is_err());
        assert!(check_jobs("").is_err());
        assert!(check_jobs("report-*").is_ok());
    }
}
