//! Writing down what happens: one line per record, whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use checker::history::{Fact, Record};
use parking_lot::Mutex;

use crate::clock::monotonic_ns;

/// The wall clock of the process that writes.
pub type WallClock = Box<dyn Fn() -> i64 + Send + Sync>;

/// The records of one life of one process, in a file of its own.
///
/// Each record is one `write` to a file that is open for appending: whoever is killed loses the record that he was
/// about to write, and no other.
pub struct Journal {
    process: String,
    life: u32,
    wall: WallClock,
    lines: Mutex<Lines>,
}

struct Lines {
    file: File,
    seq: u64,
}

impl Journal {
    /// Begins the records of life `life` of `process` in a new file.
    ///
    /// # Errors
    /// Those of the operating system; also if the file exists.
    pub fn create(path: &Path, process: &str, life: u32, wall: WallClock) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        let lines = Mutex::new(Lines { file, seq: 0 });
        Ok(Self { process: process.to_owned(), life, wall, lines })
    }

    /// Writes a record and returns it. When this returns, it stays whatever becomes of the process.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn write(&self, fact: Fact) -> io::Result<Record> {
        let mut lines = self.lines.lock();
        let record = Record {
            p: self.process.clone(),
            inc: self.life,
            seq: lines.seq,
            mt: monotonic_ns(),
            wt: (self.wall)(),
            fact,
        };
        lines.file.write_all(&line(&record)?)?;
        lines.seq += 1;
        Ok(record)
    }
}

/// Returns a record as a line, its end included.
///
/// # Errors
/// Never for a record that can be read again; the format's library has them.
pub(crate) fn line<T: serde::Serialize>(record: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (process, life) = (&self.process, self.life);
        f.debug_struct("Journal").field("process", process).field("life", &life).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_numbered_lines_that_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let journal = Journal::create(&path, "a", 2, Box::new(|| 77)).unwrap();
        let written = [Fact::Healed, Fact::End].map(|fact| journal.write(fact).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let read: Vec<Record> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read, written);
        assert_eq!(
            read.iter().map(|r| (r.inc, r.seq, r.wt)).collect::<Vec<_>>(),
            [(2, 0, 77), (2, 1, 77)]
        );
        let again = Journal::create(&path, "a", 2, Box::new(|| 77));
        assert!(again.is_err(), "two lives must not share a file");
    }
}
