//! Reads histories from files and merges them into one order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::history::Record;

/// All records of a run, in one order.
///
/// Records of one process start keep their order, and so do those of the registry's log.
/// The shared clock orders records of different sources. Pass the history to
/// [`check`](crate::check).
#[derive(Clone, Debug, Default)]
pub struct History {
    records: Vec<Record>,
    problems: Vec<String>,
}

/// Failure to read a file.
#[derive(Debug, thiserror::Error)]
#[error("reading {path} failed")]
pub struct ReadError {
    /// Path of the file or directory.
    pub path: PathBuf,
    /// Cause.
    #[source]
    pub source: io::Error,
}

impl History {
    /// Merges records. The records of one source must be in the order in which the source wrote
    /// them.
    #[must_use]
    pub fn from_records(records: Vec<Record>) -> Self {
        Self { records: merge(records), problems: Vec::new() }
    }

    /// Reads files of JSON lines. Of a directory, it reads all files whose names end in `.jsonl`.
    ///
    /// A last line without a line end may be torn, because its writer was killed. Any other
    /// unreadable line is a problem and makes the run unacceptable. The other records are judged
    /// all the same.
    ///
    /// # Errors
    /// [`ReadError`] names the file or directory that cannot be read.
    pub fn read<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, ReadError> {
        let (mut records, mut problems) = (Vec::new(), Vec::new());
        for path in paths {
            for file in files(path.as_ref())? {
                let bytes = fs::read(&file).map_err(|source| error(&file, source))?;
                parse(&file.display().to_string(), &bytes, &mut records, &mut problems);
            }
        }
        Ok(Self { records: merge(records), problems })
    }

    /// Reads one source from memory. Problems are reported under `name`.
    #[must_use]
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Self {
        let (mut records, mut problems) = (Vec::new(), Vec::new());
        parse(name, bytes, &mut records, &mut problems);
        Self { records: merge(records), problems }
    }

    /// Returns the records in their merged order.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns one text per line that could not be read.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

fn error(path: &Path, source: io::Error) -> ReadError {
    ReadError { path: path.to_owned(), source }
}

/// Returns the file, or the files of a directory in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|source| error(path, source))? {
        let file = entry.map_err(|source| error(path, source))?.path();
        if file.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn parse(name: &str, bytes: &[u8], records: &mut Vec<Record>, problems: &mut Vec<String>) {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((place, line)) = lines.next() {
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice(text) {
            Ok(record) => records.push(record),
            // The writer was killed in the middle of this line.
            Err(_) if lines.peek().is_none() && !line.ends_with(b"\n") => {}
            Err(error) => problems.push(format!("{name}:{}: {error}", place + 1)),
        }
    }
}

/// Sorts by the clock without changing the order within a source.
fn merge(records: Vec<Record>) -> Vec<Record> {
    let keys = keys(&records);
    if keys.is_sorted() {
        return records;
    }
    let mut keyed: Vec<_> = keys.into_iter().zip(records).collect();
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, record)| record).collect()
}

/// Returns for each record the latest time that its source had reached.
fn keys(records: &[Record]) -> Vec<u64> {
    let mut latest: Vec<(&str, u32, u64)> = Vec::new();
    let mut keys = Vec::with_capacity(records.len());
    for record in records {
        let source = latest.iter_mut().find(|(p, inc, _)| *p == record.p && *inc == record.inc);
        match source {
            Some((_, _, mt)) => {
                *mt = (*mt).max(record.mt);
                keys.push(*mt);
            }
            None => {
                latest.push((&record.p, record.inc, record.mt));
                keys.push(record.mt);
            }
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(p: &str, seq: u64, mt: u64) -> String {
        format!(r#"{{"p":"{p}","seq":{seq},"mt":{mt},"wt":0,"ty":"healed"}}"#)
    }

    fn order(history: &History) -> Vec<(String, u64)> {
        history.records().iter().map(|record| (record.p.clone(), record.seq)).collect()
    }

    #[test]
    fn sources_are_merged_by_clock_and_keep_their_own_order() {
        let text =
            [line("a", 0, 5), line("a", 1, 3), line("a", 2, 9), line("b", 0, 4), line("b", 1, 6)];
        let history = History::from_bytes("x", text.join("\n").as_bytes());
        let expected = [("b", 0), ("a", 0), ("a", 1), ("b", 1), ("a", 2)];
        assert_eq!(order(&history), expected.map(|(p, seq)| (p.to_owned(), seq)));
    }

    #[test]
    fn only_a_last_line_may_be_torn() {
        let good = line("a", 0, 1);
        let torn = &line("a", 1, 2)[..30];
        let rows = [
            ("whole", format!("{good}\n\n"), 1, 0),
            ("whole, without a line end", good.clone(), 1, 0),
            ("torn at the end", format!("{good}\n{torn}"), 1, 0),
            ("torn and continued", format!("{good}\n{torn}\n"), 1, 1),
            ("torn in the middle", format!("{torn}\n{good}\n"), 1, 1),
            ("no record", format!("{{}}\n{good}\n"), 1, 1),
            ("nothing", String::new(), 0, 0),
        ];
        for (case, text, records, problems) in rows {
            let history = History::from_bytes("x", text.as_bytes());
            assert_eq!(history.records().len(), records, "{case}");
            assert_eq!(history.problems().len(), problems, "{case}: {:?}", history.problems());
        }
    }

    #[test]
    fn directories_are_read_by_file_and_missing_files_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("b.jsonl"), line("b", 0, 1)).unwrap();
        fs::write(dir.path().join("a.jsonl"), line("a", 0, 1)).unwrap();
        fs::write(dir.path().join("notes.txt"), "no record").unwrap();
        let history = History::read([dir.path()]).unwrap();
        assert_eq!(order(&history), [("a".to_owned(), 0), ("b".to_owned(), 0)]);
        let missing = History::read([dir.path().join("c.jsonl")]).unwrap_err();
        assert!(missing.to_string().contains("c.jsonl"), "{missing}");
    }
}
