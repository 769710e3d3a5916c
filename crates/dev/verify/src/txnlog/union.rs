//! What an ensemble has committed, from the logs of its servers.

use std::collections::BTreeMap;

use super::{Entry, LogError, LogFolder};

/// The logs of all servers of an ensemble.
///
/// A server logs a proposal before it is committed, so that one log alone may have what never happened: a leader that
/// dies has perhaps told nobody. What a majority has logged is committed.
#[derive(Debug)]
pub struct Union {
    logs: Vec<LogFolder>,
    /// By zxid: the entry, and which servers have it.
    seen: BTreeMap<i64, (Entry, Vec<usize>)>,
    told_to: i64,
}

impl Union {
    /// Takes the logs of all servers, those that do not run included.
    #[must_use]
    pub fn new(logs: Vec<LogFolder>) -> Self {
        Self { logs, seen: BTreeMap::new(), told_to: i64::MIN }
    }

    /// Returns what is newly known to be committed, in order.
    ///
    /// # Errors
    /// [`LogError`]
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
        let newer = self.seen.range(self.told_to.saturating_add(1)..);
        let committed: Vec<Entry> = newer
            .filter(|(_, (_, servers))| servers.len() >= majority)
            .map(|(_, (entry, _))| entry.clone())
            .collect();
        if let Some(last) = committed.last() {
            self.told_to = last.zxid;
        }
        Ok(committed)
    }

    /// Returns the transactions that too few servers have logged to be committed.
    pub fn doubtful(&self) -> impl Iterator<Item = &Entry> {
        let majority = self.logs.len() / 2 + 1;
        self.seen
            .values()
            .filter(move |(_, servers)| servers.len() < majority)
            .map(|(entry, _)| entry)
    }
}
