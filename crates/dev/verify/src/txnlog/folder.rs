//! Log files of one server.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Entry, LogError};

/// Magic, format version, database.
const HEADER_BYTES: usize = 16;
/// `ZKLG`, version 2.
const HEADER_BEGIN: [u8; 8] = [b'Z', b'K', b'L', b'G', 0, 0, 0, 2];
/// Checksum and length before an entry.
const ENTRY_HEAD_BYTES: usize = 12;
/// Byte after an entry.
const END_OF_ENTRY: u8 = b'B';

/// Transaction logs in a server's folder, read as far as they are written. The folder need not
/// exist yet.
///
/// A server appends to the newest file, which it extends with zeros in advance. If a server has
/// logged a transaction that was never committed, it truncates the log when it rejoins. Entries
/// that were read before are not revoked.
#[derive(Debug)]
pub struct LogFolder {
    folder: PathBuf,
    /// Read position in each file.
    read_to: BTreeMap<PathBuf, u64>,
}

impl LogFolder {
    /// Creates a reader of the logs in `folder`, without reading yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), read_to: BTreeMap::new() }
    }

    /// Returns the entries written since the last call, in the order of the files.
    ///
    /// # Errors
    /// Returns [`LogError`]. An entry that is not complete yet is no error.
    pub fn read_on(&mut self) -> Result<Vec<Entry>, LogError> {
        let mut entries = Vec::new();
        for path in self.files()? {
            let read_to = self.read_to.get(&path).copied().unwrap_or(0);
            let new = read_from(&path, read_to).map_err(file_error(&path))?;
            let mut file = LogFile { path: &path, begins_at: read_to, bytes: &new, at: 0 };
            file.skip_header()?;
            while let Some(entry) = file.next()? {
                entries.push(entry);
            }
            let read_to = file.position();
            self.read_to.insert(path, read_to);
        }
        Ok(entries)
    }

    /// Returns the log files, the oldest first.
    fn files(&self) -> Result<Vec<PathBuf>, LogError> {
        let list = || fs::read_dir(&self.folder)?.collect::<io::Result<Vec<_>>>();
        let entries = match list() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(file_error(&self.folder))?,
        };
        let mut files: Vec<(u64, PathBuf)> = entries
            .into_iter()
            .filter_map(|entry| {
                let first = entry.file_name().to_str()?.strip_prefix("log.")?.to_owned();
                Some((u64::from_str_radix(&first, 16).ok()?, entry.path()))
            })
            .collect();
        files.sort_unstable();
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }
}

fn read_from(path: &Path, at: u64) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> LogError {
    move |source| LogError::File { path: path.display().to_string(), source }
}

/// The unread part of a log file.
struct LogFile<'a> {
    path: &'a Path,
    begins_at: u64,
    bytes: &'a [u8],
    at: usize,
}

impl LogFile<'_> {
    fn position(&self) -> u64 {
        self.begins_at + self.at as u64
    }

    fn skip_header(&mut self) -> Result<(), LogError> {
        if self.begins_at != 0 || self.bytes.len() < HEADER_BYTES {
            return Ok(());
        }
        // A server writes the header after it has reserved the space.
        if self.bytes[..HEADER_BYTES] == [0; HEADER_BYTES] {
            self.bytes = &[];
            return Ok(());
        }
        if self.bytes[..HEADER_BEGIN.len()] != HEADER_BEGIN {
            let (path, found) = (self.path.display().to_string(), self.bytes[..8].to_vec());
            return Err(LogError::Header { path, found });
        }
        self.at = HEADER_BYTES;
        Ok(())
    }

    /// Reads the next entry; `None` if there is no complete one.
    fn next(&mut self) -> Result<Option<Entry>, LogError> {
        if self.position() == 0 {
            return Ok(None);
        }
        let rest = &self.bytes[self.at..];
        let Some((head, rest)) = rest.split_at_checked(ENTRY_HEAD_BYTES) else { return Ok(None) };
        let checksum = i64::from_be_bytes(part(head, 0));
        let length = i32::from_be_bytes(part(head, 8));
        let length = usize::try_from(length)
            .map_err(|_| self.malformed("the length of the entry is negative"))?;
        // Zeros, or an entry that the server is still writing.
        if length == 0 || rest.get(length) != Some(&END_OF_ENTRY) {
            return Ok(None);
        }
        let body = &rest[..length];
        if i64::from(adler32(body)) != checksum {
            return Err(self.malformed("the checksum of the entry is wrong"));
        }
        let entry = Entry::decode(body).map_err(|error| self.malformed(&error.to_string()))?;
        self.at += ENTRY_HEAD_BYTES + length + 1;
        Ok(Some(entry))
    }

    fn malformed(&self, reason: &str) -> LogError {
        let (path, at) = (self.path.display().to_string(), self.position());
        LogError::Entry { path, at, reason: reason.to_owned() }
    }
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

/// Returns the checksum of zlib, RFC 1950.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % MODULUS;
        high = (high + low) % MODULUS;
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_that_of_zlib() {
        assert_eq!(adler32(b""), 1);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    /// Returns an entry that opens a session.
    fn opening(zxid: i64) -> Vec<u8> {
        let body = [
            &1_i64.to_be_bytes()[..],
            &0_i32.to_be_bytes(),
            &zxid.to_be_bytes(),
            &9_i64.to_be_bytes(),
            &(-10_i32).to_be_bytes(),
            &1000_i32.to_be_bytes(),
        ]
        .concat();
        let length = i32::try_from(body.len()).unwrap().to_be_bytes();
        let checksum = i64::from(adler32(&body)).to_be_bytes();
        [&checksum[..], &length, &body, b"B"].concat()
    }

    fn header() -> Vec<u8> {
        [&HEADER_BEGIN[..], &[0; 8]].concat()
    }

    #[test]
    fn log_is_followed_while_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = LogFolder::new(folder.path().join("version-2"));
        let mut zxids =
            || -> Vec<i64> { log.read_on().unwrap().into_iter().map(|entry| entry.zxid).collect() };
        assert_eq!(zxids(), [0; 0], "the server has not started");
        let path = folder.path().join("version-2");
        fs::create_dir(&path).unwrap();
        let write =
            |name: &str, parts: &[&[u8]]| fs::write(path.join(name), parts.concat()).unwrap();
        write("log.1", &[&[0; 64]]);
        assert_eq!(zxids(), [0; 0], "reserved");
        write("log.1", &[&header(), &opening(1), &[0; 64]]);
        assert_eq!(zxids(), [1]);
        let (second, third) = (opening(2), opening(3));
        write("log.1", &[&header(), &opening(1), &second, &third[..30], &[0; 64]]);
        assert_eq!(zxids(), [2], "the third is not complete");
        write("log.1", &[&header(), &opening(1), &second, &third]);
        write("log.a", &[&header(), &opening(10)]);
        write("snapshot.2", &[b"something else"]);
        assert_eq!(zxids(), [3, 10], "files in the order of their first transaction");
        assert_eq!(zxids(), [0; 0]);
    }

    #[test]
    fn invalid_log_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = {
            let mut entry = opening(1);
            entry[20] ^= 1;
            [header(), entry].concat()
        };
        for (case, bytes) in
            [("another file", b"PK and something longer".to_vec()), ("damaged", damaged)]
        {
            fs::write(folder.path().join("log.1"), bytes).unwrap();
            assert!(LogFolder::new(folder.path()).read_on().is_err(), "{case}");
        }
    }
}
