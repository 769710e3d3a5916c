//! Committed transactions of an ensemble, from the logs of its servers.

use std::collections::BTreeMap;

use super::{Entry, LogError, LogFolder};

/// Logs of all servers of an ensemble.
///
/// A server logs a proposal before it is committed. A leader that dies may be the only server that
/// logged it, and then it never happened. A transaction that a majority has logged is committed.
#[derive(Debug)]
pub struct Union {
    logs: Vec<LogFolder>,
    /// Entries by zxid, with the servers that have logged them.
    seen: BTreeMap<i64, (Entry, Vec<usize>)>,
    returned_to: i64,
}

impl Union {
    /// Takes the logs of all servers, including those that do not run.
    #[must_use]
    pub fn new(logs: Vec<LogFolder>) -> Self {
        Self { logs, seen: BTreeMap::new(), returned_to: i64::MIN }
    }

    /// Returns the transactions that are newly known to be committed, in order.
    ///
    /// # Errors
    /// Returns [`LogError`] if a log cannot be read.
    pub fn read_on(&mut self) -> Result<Vec<Entry>, LogError> {
        for (server, log) in self.logs.iter_mut().enumerate() {
            for entry in log.read_on()? {
                let (_, servers) =
                    self.seen.entry(entry.zxid).or_insert_with(|| (entry, Vec::new()));
                if !servers.contains(&server) {
                    servers.push(server);
                }
            }
        }
        let majority = self.logs.len() / 2 + 1;
        let newer = self.seen.range(self.returned_to.saturating_add(1)..);
        let committed: Vec<Entry> = newer
            .filter(|(_, (_, servers))| servers.len() >= majority)
            .map(|(_, (entry, _))| entry.clone())
            .collect();
        if let Some(last) = committed.last() {
            self.returned_to = last.zxid;
        }
        Ok(committed)
    }

    /// Returns the transactions that too few servers have logged for a commit.
    pub fn uncommitted(&self) -> impl Iterator<Item = &Entry> {
        let majority = self.logs.len() / 2 + 1;
        self.seen
            .values()
            .filter(move |(_, servers)| servers.len() < majority)
            .map(|(entry, _)| entry)
    }
}
