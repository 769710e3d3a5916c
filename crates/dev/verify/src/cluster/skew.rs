//! How the wall clock of a worker is made wrong.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use tokio::process::Command;

/// Where Linux distributions put the library; the one for programs with threads.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";
const LIBRARY_FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/homebrew/lib",
];

/// Where shared memory has names.
const SHARED_MEMORY: &str = "/dev/shm";

/// The means that this machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SkewMeans {
    /// The system's clock as the process sees it, by a library that is loaded before all others. The time is shifted
    /// by what a file says, which is read at each look at the clock.
    Library(PathBuf),
    /// The clock that the scheduler is given. Whatever else the process does sees the true time.
    Clock,
}

impl SkewMeans {
    pub(super) fn of_this_machine() -> Self {
        let candidates = LIBRARY_FOLDERS.iter().map(|folder| Path::new(folder).join(LIBRARY));
        match candidates.into_iter().find(|path| path.is_file()) {
            Some(path) => Self::Library(path),
            None => Self::Clock,
        }
    }

    /// Returns a word for records.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Library(_) => "libfaketime",
            Self::Clock => "clock",
        }
    }

    /// Prepares a process that may be skewed later, by the file if that is the means.
    pub(super) fn prepare(&self, command: &mut Command, file: &Path) {
        if let Self::Library(library) = self {
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME_TIMESTAMP_FILE", file)
                .env("FAKETIME_NO_CACHE", "1")
                // The monotonic clock is shared by the whole run.
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
                .env("DONT_FAKE_MONOTONIC", "1");
        }
    }

    /// Removes what the library has left in shared memory of processes that were killed, whoever started them.
    pub(super) fn sweep(&self) {
        let Self::Library(_) = self else { return };
        let Ok(entries) = std::fs::read_dir(SHARED_MEMORY) else { return };
        for entry in entries.flatten() {
            if owner_of(&entry.file_name().to_string_lossy()).is_some_and(|pid| !is_alive(pid)) {
                // Somebody else may have been faster.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Sets the file; without a library there is none.
    pub(super) fn write(&self, file: &Path, ms: i64) -> io::Result<()> {
        match self {
            Self::Library(_) => {
                // Replaced in one step, so that nobody reads half of it.
                let new = file.with_extension("new");
                std::fs::write(&new, offset(ms))?;
                std::fs::rename(&new, file)
            }
            Self::Clock => Ok(()),
        }
    }
}

/// Returns the process that a name in shared memory is for; `None` if it is not the library's.
fn owner_of(name: &str) -> Option<i32> {
    let prefixes = ["faketime_shm_", "sem.faketime_sem_"];
    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)?.parse().ok())
}

fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Writes an offset as the library reads it: seconds with a sign.
fn offset(ms: i64) -> String {
    let sign = if ms < 0 { '-' } else { '+' };
    format!("{sign}{}.{:03}\n", ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_has_the_number_of_its_process() {
        let rows = [
            ("faketime_shm_77", Some(77)),
            ("sem.faketime_sem_77", Some(77)),
            ("faketime_shm_", None),
            ("sem.other_77", None),
        ];
        for (name, expected) in rows {
            assert_eq!(owner_of(name), expected, "{name}");
        }
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(is_alive(me) && !is_alive(i32::MAX));
    }

    #[test]
    fn offsets_are_seconds_with_a_sign() {
        let rows =
            [(0, "+0.000\n"), (-600, "-0.600\n"), (3_600_000, "+3600.000\n"), (-1_001, "-1.001\n")];
        for (ms, expected) in rows {
            assert_eq!(offset(ms), expected);
        }
    }
}
