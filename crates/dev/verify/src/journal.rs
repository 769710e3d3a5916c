//! Writes records, one complete line per record.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use checker::history::{Fact, Record};
use parking_lot::Mutex;

use crate::clock::monotonic_ns;

/// Wall clock of the writing process, in milliseconds since 1970 UTC.
pub type WallClock = Box<dyn Fn() -> i64 + Send + Sync>;

/// Records of one start of a process, in a file of its own.
///
/// Each record is one `write` to a file that is open for appending. A killed process loses at most
/// the record that it was about to write.
pub struct Journal {
    process: String,
    start: u32,
    wall: WallClock,
    lines: Mutex<Lines>,
}

struct Lines {
    file: File,
    seq: u64,
}

impl Journal {
    /// Creates the file for start number `start` of `process`.
    ///
    /// # Errors
    /// Returns the error of the operating system; also if the file exists.
    pub fn create(path: &Path, process: &str, start: u32, wall: WallClock) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        let lines = Mutex::new(Lines { file, seq: 0 });
        Ok(Self { process: process.to_owned(), start, wall, lines })
    }

    /// Writes a record and returns it. Once this returns, the record survives the end of the
    /// process.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn write(&self, fact: Fact) -> io::Result<Record> {
        let mut lines = self.lines.lock();
        let record = Record {
            p: self.process.clone(),
            inc: self.start,
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

/// Returns a record as a line with its end.
///
/// # Errors
/// Returns an error if the record cannot be written as JSON, which no type of this crate causes.
pub(crate) fn line<T: serde::Serialize>(record: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (process, start) = (&self.process, self.start);
        f.debug_struct("Journal").field("process", process).field("start", &start).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_numbered_lines_that_can_be_read_back() {
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
        assert!(again.is_err(), "two starts must not share a file");
    }
}
