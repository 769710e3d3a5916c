//! The external resource of the jobs: it keeps the highest token of each slot of an item and
//! rejects lower ones.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use checker::history::{Fact, Record, RunId};
use serde::{Deserialize, Serialize};

use crate::clock::{monotonic_ns, wall_ms};
use crate::journal;

/// Name of the resource in a history.
const PROCESS: &str = "resource";

/// Access to the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// A run announces its token before it reads anything.
    Begin,
    /// A run writes.
    Effect,
}

/// A line of the resource's log, which is all that it stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Kind of access.
    #[serde(rename = "act")]
    pub access: Access,
    /// The run.
    pub run: RunId,
    /// True if the resource accepted it.
    pub accepted: bool,
    /// Time on the monotonic clock of the machine.
    pub mt: u64,
    /// Time by the wall clock of the run's process.
    pub wt: i64,
}

/// Handle to the resource. Every process has its own, to the same file.
///
/// The file is a log under a lock. An access is one line, and the highest tokens follow from the
/// lines before it. So an access happens completely or not at all, and the lines are in the order
/// of the accesses. If a process is stopped while it holds the lock, all others wait until it
/// continues. It holds the lock for some microseconds of each run.
#[derive(Debug)]
pub struct Resource {
    file: File,
    read_to: u64,
    highest: BTreeMap<(String, u32, u32), u64>,
}

impl Resource {
    /// Opens the resource, and creates it if it is missing.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        Ok(Self { file, read_to: 0, highest: BTreeMap::new() })
    }

    /// Requests an access. Returns false if the token is lower than one that the resource has seen
    /// for the slot of the item.
    ///
    /// # Errors
    /// Returns the error of the operating system; the access has then not happened.
    pub fn ask(&mut self, access: Access, run: &RunId) -> io::Result<bool> {
        self.file.lock()?;
        let asked = self.ask_locked(access, run);
        self.file.unlock()?;
        asked
    }

    fn ask_locked(&mut self, access: Access, run: &RunId) -> io::Result<bool> {
        self.catch_up()?;
        let key = (run.job.clone(), run.item, run.slot);
        let accepted = self.highest.get(&key).is_none_or(|highest| run.token >= *highest);
        let entry = Entry { access, run: run.clone(), accepted, mt: monotonic_ns(), wt: wall_ms() };
        let line = journal::line(&entry)?;
        self.file.write_all(&line)?;
        self.take(&entry, line.len());
        Ok(accepted)
    }

    /// Reads the lines that other processes have written since the last access.
    fn catch_up(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.read_to))?;
        let mut news = String::new();
        self.file.read_to_string(&mut news)?;
        for line in news.split_inclusive('\n') {
            match serde_json::from_str::<Entry>(line) {
                Ok(entry) if line.ends_with('\n') => self.take(&entry, line.len()),
                // The writer was killed in the middle of the line, so that its access has not
                // happened.
                Ok(_) | Err(_) => return self.file.set_len(self.read_to),
            }
        }
        Ok(())
    }

    fn take(&mut self, entry: &Entry, n_bytes: usize) {
        self.read_to += n_bytes as u64;
        if entry.accepted {
            let Entry { run, .. } = entry;
            self.highest.insert((run.job.clone(), run.item, run.slot), run.token);
        }
    }
}

/// Converts lines of the log into records: one per access, in the order of the log.
///
/// It converts line by line, so that a history can be followed while it is written.
#[derive(Debug, Default)]
pub struct Effects {
    n_accesses: u64,
}

impl Effects {
    /// Returns the record of a line.
    ///
    /// # Errors
    /// Returns an error if the line is not one of the resource's log.
    pub fn record(&mut self, line: &str) -> Result<Record, serde_json::Error> {
        let Entry { access, run, accepted, mt, wt } = serde_json::from_str(line)?;
        let rseq = self.n_accesses;
        self.n_accesses += 1;
        let fact = match access {
            Access::Begin => Fact::Announced { run, accepted, rseq },
            Access::Effect => Fact::Effect { run, accepted, rseq },
        };
        Ok(Record { p: PROCESS.to_owned(), inc: 0, seq: rseq, mt, wt, fact })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(item: u32, token: u64) -> RunId {
        RunId { job: "job".to_owned(), item, slot: 0, fire: 1000, token }
    }

    #[test]
    fn token_below_the_highest_is_rejected_for_every_handle() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resource.log");
        let (mut old, mut new) = (Resource::open(&path).unwrap(), Resource::open(&path).unwrap());
        assert!(old.ask(Access::Begin, &run(0, 4)).unwrap());
        assert!(new.ask(Access::Begin, &run(0, 5)).unwrap());
        assert!(!old.ask(Access::Effect, &run(0, 4)).unwrap(), "its token is stale");
        assert!(old.ask(Access::Effect, &run(1, 1)).unwrap(), "another item");
        assert!(new.ask(Access::Effect, &run(0, 5)).unwrap());
        let mut later = Resource::open(&path).unwrap();
        assert!(!later.ask(Access::Effect, &run(0, 4)).unwrap(), "the highest token is stored");

        let mut effects = Effects::default();
        let text = std::fs::read_to_string(&path).unwrap();
        let records = text.lines().map(|line| effects.record(line).unwrap());
        let seen: Vec<_> = records
            .map(|record| {
                let (Fact::Effect { run, accepted, rseq }
                | Fact::Announced { run, accepted, rseq }) = record.fact
                else {
                    panic!("{record:?}")
                };
                (rseq, run.item, run.token, accepted)
            })
            .collect();
        let announced = [(0, 0, 4, true), (1, 0, 5, true)];
        let written = [(2, 0, 4, false), (3, 1, 1, true), (4, 0, 5, true), (5, 0, 4, false)];
        assert_eq!(seen, [&announced[..], &written[..]].concat());
    }

    #[test]
    fn torn_access_has_not_happened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resource.log");
        let mut resource = Resource::open(&path).unwrap();
        assert!(resource.ask(Access::Begin, &run(0, 1)).unwrap());
        let complete = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&complete[..], &complete[..20]].concat()).unwrap();
        assert!(Resource::open(&path).unwrap().ask(Access::Begin, &run(0, 2)).unwrap());
        assert!(!resource.ask(Access::Effect, &run(0, 1)).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
