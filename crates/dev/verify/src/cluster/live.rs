//! The history while it happens: the files of all processes, followed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use checker::history::Record;

use crate::clock::WallOffset;
use crate::resource::Effects;
use crate::txnlog::{LogError, LogFolder, Narrator, Owners, Union};

/// Why a history cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LiveError {
    #[error("cannot read {path}")]
    File { path: String, source: io::Error },
    #[error("{path}: {line:?} is no record")]
    Line { path: String, line: String, source: serde_json::Error },
    #[error(transparent)]
    Registry(#[from] LogError),
}

/// All records so far, in the order in which they became known.
#[derive(Debug)]
pub(super) struct Live {
    sources: Vec<Source>,
    registry: Union,
    narrator: Narrator,
    started: WallOffset,
    records: Vec<Record>,
}

/// A file that is followed.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    read_to: u64,
    /// Present for the resource's log, whose lines are no records.
    effects: Option<Effects>,
}

impl Live {
    pub(super) fn new(logs: Vec<LogFolder>, namespace: &str, started: WallOffset) -> Self {
        let (registry, narrator) = (Union::new(logs), Narrator::new(namespace));
        Self { sources: Vec::new(), registry, narrator, started, records: Vec::new() }
    }

    /// Follows a process's history.
    pub(super) fn follow(&mut self, path: &Path) {
        self.sources.push(Source { path: path.to_owned(), read_to: 0, effects: None });
    }

    /// Follows the resource.
    pub(super) fn follow_resource(&mut self, path: &Path) {
        let effects = Some(Effects::default());
        self.sources.push(Source { path: path.to_owned(), read_to: 0, effects });
    }

    /// Reads what is new, those that happened at about the same time in the order of the clock.
    pub(super) fn read_on(&mut self, owners: &Owners) -> Result<&[Record], LiveError> {
        let mut new = Vec::new();
        for source in &mut self.sources {
            source.read_on(&mut new)?;
        }
        let ends = WallOffset::measure();
        for entry in self.registry.read_on()? {
            let mt = self.started.monotonic_of(ends, entry.time_ms);
            new.extend(self.narrator.record(entry, mt, owners));
        }
        new.sort_by_key(|record| record.mt);
        self.records.append(&mut new);
        Ok(&self.records)
    }

    /// Returns how many transactions were logged by too few servers to be committed.
    pub(super) fn n_doubtful(&self) -> usize {
        self.registry.doubtful().count()
    }
}

impl Source {
    fn read_on(&mut self, new: &mut Vec<Record>) -> Result<(), LiveError> {
        let path = || self.path.display().to_string();
        let text = match read_from(&self.path, self.read_to) {
            // Its process has not come to write anything yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text.map_err(|source| LiveError::File { path: path(), source })?,
        };
        // What has no end yet is perhaps being written, or was cut short by the death of its process.
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text = String::from_utf8_lossy(&text[..whole]).into_owned();
        for line in text.lines() {
            let record = match &mut self.effects {
                None => serde_json::from_str(line),
                Some(effects) => effects.record(line),
            };
            let wrong = |source| LiveError::Line { path: path(), line: line.to_owned(), source };
            new.push(record.map_err(wrong)?);
        }
        self.read_to += whole as u64;
        Ok(())
    }
}

fn read_from(path: &Path, at: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
