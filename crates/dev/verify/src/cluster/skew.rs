//! Methods of skewing the wall clock of a worker.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use tokio::process::Command;

/// Path of the library in Linux distributions; the variant for programs with threads.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";
const LIBRARY_FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/homebrew/lib",
];

/// Folder of named shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// Method of skewing, depending on the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SkewMethod {
    /// The system clock as the process sees it, by a preloaded library. It reads the offset from a
    /// file at each clock reading.
    Library(PathBuf),
    /// The clock of the scheduler. All other code of the process sees the true time.
    Clock,
}

impl SkewMethod {
    pub(super) fn of_this_machine() -> Self {
        let candidates = LIBRARY_FOLDERS.iter().map(|folder| Path::new(folder).join(LIBRARY));
        match candidates.into_iter().find(|path| path.is_file()) {
            Some(path) => Self::Library(path),
            None => Self::Clock,
        }
    }

    /// Returns the name of the method for records.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Library(_) => "libfaketime",
            Self::Clock => "clock",
        }
    }

    /// Prepares a process that may be skewed later.
    pub(super) fn prepare(&self, command: &mut Command, file: &Path) {
        if let Self::Library(library) = self {
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME_TIMESTAMP_FILE", file)
                .env("FAKETIME_NO_CACHE", "1")
                // All processes of the run share the monotonic clock.
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
                .env("DONT_FAKE_MONOTONIC", "1");
        }
    }

    /// Removes the library's shared memory of killed processes, including those of other runs.
    pub(super) fn clean_up(&self) {
        let Self::Library(_) = self else { return };
        let Ok(entries) = std::fs::read_dir(SHARED_MEMORY) else { return };
        for entry in entries.flatten() {
            if owner_of(&entry.file_name().to_string_lossy()).is_some_and(|pid| !is_alive(pid)) {
                // Another run may have removed the file first.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Writes the file with the offset, if the method has one.
    pub(super) fn write(&self, file: &Path, ms: i64) -> io::Result<()> {
        match self {
            Self::Library(_) => {
                // Replaced by a rename, so that no process reads half of it.
                let new = file.with_extension("new");
                std::fs::write(&new, offset(ms))?;
                std::fs::rename(&new, file)
            }
            Self::Clock => Ok(()),
        }
    }
}

/// Returns the process of a name in shared memory; `None` if the name is not the library's.
fn owner_of(name: &str) -> Option<i32> {
    let prefixes = ["faketime_shm_", "sem.faketime_sem_"];
    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)?.parse().ok())
}

fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// Formats an offset for the library: seconds with a sign.
fn offset(ms: i64) -> String {
    let sign = if ms < 0 { '-' } else { '+' };
    format!("{sign}{}.{:03}\n", ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_named_after_its_process() {
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
