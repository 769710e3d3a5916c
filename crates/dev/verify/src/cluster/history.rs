//! History of a run in progress: follows the files of all processes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use checker::history::Record;

use testkit::harness::ClusterError;

use super::NAMESPACE;
use super::registry::TestedRegistry;
use crate::clock::WallOffset;
use crate::resource::Effects;
use crate::txnlog::{Entry, LogError, Owners, RecordConverter, Union};
use crate::writelog::{LogReader, ReadError};

/// Failure to read a history.
#[derive(Debug, thiserror::Error)]
pub(super) enum FollowError {
    #[error("cannot read {path}")]
    File { path: String, source: io::Error },
    #[error("{path}: the line {line:?} is not a record")]
    Line { path: String, line: String, source: serde_json::Error },
    #[error(transparent)]
    Registry(#[from] LogError),
    #[error(transparent)]
    Log(#[from] ReadError),
}

/// The log of the registry, and its position.
#[derive(Debug)]
pub(super) enum RegistryLog {
    /// The files of the servers, which have all namespaces.
    Files(Union),
    /// The log that the clients have written.
    Nodes(LogReader),
    /// A log that was read to its end.
    Complete(Vec<(Entry, u64)>),
}

impl RegistryLog {
    /// Follows the log of a registry from its beginning.
    pub(super) async fn follow(registry: &TestedRegistry) -> Result<Self, ClusterError> {
        match registry {
            TestedRegistry::Zookeeper(servers) => Ok(Self::Files(Union::new(servers.logs()))),
            TestedRegistry::Sqlite(_) | TestedRegistry::Postgres(_) | TestedRegistry::Etcd(_) => {
                let center = registry.connect().await?;
                Ok(Self::Nodes(LogReader::start(center, registry.deletions())))
            }
        }
    }

    /// Returns the namespace of the nodes in the log.
    fn namespace(&self) -> &'static str {
        match self {
            Self::Files(_) => NAMESPACE,
            Self::Nodes(_) | Self::Complete(_) => "",
        }
    }
}

/// All records so far, in the order in which they were read.
#[derive(Debug)]
pub(super) struct HistoryFollower {
    sources: Vec<Source>,
    registry: RegistryLog,
    converter: RecordConverter,
    started: WallOffset,
    records: Vec<Record>,
}

/// A followed file.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    read_to: u64,
    /// Converter of the resource's log, whose lines are not records.
    effects: Option<Effects>,
}

impl HistoryFollower {
    pub(super) fn new(registry: RegistryLog, started: WallOffset) -> Self {
        let converter = RecordConverter::new(registry.namespace());
        Self { sources: Vec::new(), registry, converter, started, records: Vec::new() }
    }

    /// Follows the history file of a process.
    pub(super) fn follow(&mut self, path: &Path) {
        self.sources.push(Source { path: path.to_owned(), read_to: 0, effects: None });
    }

    /// Follows the log of the resource.
    pub(super) fn follow_resource(&mut self, path: &Path) {
        let effects = Some(Effects::default());
        self.sources.push(Source { path: path.to_owned(), read_to: 0, effects });
    }

    /// Reads the new records, sorted by time among themselves.
    pub(super) fn read_on(&mut self, owners: &Owners) -> Result<&[Record], FollowError> {
        let mut new = Vec::new();
        for source in &mut self.sources {
            source.read_on(&mut new)?;
        }
        let entries = match &mut self.registry {
            RegistryLog::Files(files) => {
                let ends = WallOffset::measure();
                let time = |entry: Entry| {
                    let mt = self.started.monotonic_of(ends, entry.time_ms);
                    (entry, mt)
                };
                files.read_on()?.into_iter().map(time).collect()
            }
            RegistryLog::Nodes(nodes) => nodes.read_on()?,
            RegistryLog::Complete(entries) => std::mem::take(entries),
        };
        for (entry, mt) in entries {
            new.extend(self.converter.record(entry, mt, owners));
        }
        new.sort_by_key(|record| record.mt);
        self.records.append(&mut new);
        Ok(&self.records)
    }

    /// Returns the number of transactions that too few servers have logged for a commit.
    pub(super) fn n_uncommitted(&self) -> usize {
        match &self.registry {
            RegistryLog::Files(files) => files.uncommitted().count(),
            RegistryLog::Nodes(_) | RegistryLog::Complete(_) => 0,
        }
    }

    /// Returns the owners of sessions, if the log has them.
    pub(super) fn owners(&self) -> Option<Owners> {
        match &self.registry {
            RegistryLog::Nodes(nodes) => Some(nodes.owners()),
            RegistryLog::Files(_) | RegistryLog::Complete(_) => None,
        }
    }

    /// Returns the log of the clients, if the registry has no other.
    pub(super) fn log_of_clients(&self) -> Option<&LogReader> {
        match &self.registry {
            RegistryLog::Nodes(nodes) => Some(nodes),
            RegistryLog::Files(_) | RegistryLog::Complete(_) => None,
        }
    }
}

impl Source {
    fn read_on(&mut self, new: &mut Vec<Record>) -> Result<(), FollowError> {
        let path = || self.path.display().to_string();
        let text = match read_from(&self.path, self.read_to) {
            // The process has not written anything yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text.map_err(|source| FollowError::File { path: path(), source })?,
        };
        // A last line without an end may still be in progress, or its process was killed.
        let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let text = String::from_utf8_lossy(&text[..complete]).into_owned();
        for line in text.lines() {
            let record = match &mut self.effects {
                None => serde_json::from_str(line),
                Some(effects) => effects.record(line),
            };
            let wrong = |source| FollowError::Line { path: path(), line: line.to_owned(), source };
            new.push(record.map_err(wrong)?);
        }
        self.read_to += complete as u64;
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
