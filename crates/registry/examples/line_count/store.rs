//! A store that rejects late writers: a recipe for effects that take place once, even if processes
//! crash or pause.
//!
//! The scheduler gives each run of an item a fencing token greater than all earlier ones. It cannot
//! stop a process that was paused in the middle of a run and resumes after another process has
//! taken the item over. Only the store can:
//!
//! 1. **Begin.** A run registers its token *before* it reads anything. From then on smaller tokens
//!    are stale.
//! 2. **Write.** A result is accepted only under the greatest token, and only if there is none yet.
//!    Check and write are one step, here under a lock on the item's file. In a database they are
//!    one statement: `UPDATE result SET … WHERE item = :item AND fence = :token AND done = false`.
//!
//! | file | content |
//! |---|---|
//! | `item-3.json` | the accepted result, which appears complete and only once, by a rename |
//! | `item-3.fence` | the greatest token that has begun, and the lock |
//! | `accepted.log`, `rejected.log` | the decisions, one per line |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::count::FileCount;

/// The result of one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ItemResult {
    pub(crate) item: u32,
    pub(crate) token: u64,
    pub(crate) instance: String,
    pub(crate) source: String,
    pub(crate) total_items: u32,
    pub(crate) files: Vec<FileCount>,
}

impl ItemResult {
    pub(crate) fn lines(&self) -> u64 {
        self.files.iter().map(|file| file.lines).sum()
    }

    /// Returns the log line `item token instance source files lines`.
    fn log_line(&self) -> String {
        let Self { item, token, instance, source, files, .. } = self;
        format!("{item} {token} {instance} {source} {} {}\n", files.len(), self.lines())
    }
}

/// Answer to a run that registers its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// The run may proceed.
    Open,
    /// The item already has its result.
    Done,
    /// A run with a greater token has begun.
    Stale,
}

/// Decision about a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accepted,
    Rejected,
}

/// The results folder, shared by all workers.
#[derive(Clone, Debug)]
pub(crate) struct FencedStore {
    folder: PathBuf,
}

impl FencedStore {
    pub(crate) fn open(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Registers a token. From then on smaller tokens cannot write.
    pub(crate) fn begin(&self, item: u32, token: u64) -> io::Result<Begin> {
        let mut fence = Fence::lock(&self.path(item, "fence"))?;
        if let Some(result) = self.result(item)? {
            self.complete_log(&result)?;
            return Ok(Begin::Done);
        }
        if fence.greatest > token {
            return Ok(Begin::Stale);
        }
        fence.raise(token)?;
        Ok(Begin::Open)
    }

    /// Writes a result, unless a greater token has begun meanwhile or the item has a result.
    pub(crate) fn write(&self, result: &ItemResult) -> io::Result<Verdict> {
        let fence = Fence::lock(&self.path(result.item, "fence"))?;
        if fence.greatest != result.token || self.result(result.item)?.is_some() {
            self.append("rejected.log", &result.log_line())?;
            return Ok(Verdict::Rejected);
        }
        let whole = self.path(result.item, "json");
        let part = self.path(result.item, "part");
        let mut file = File::create(&part)?;
        file.write_all(&serde_json::to_vec(result)?)?;
        file.sync_all()?;
        // The rename is atomic: before it there is no result, after it there is the complete one.
        fs::rename(part, whole)?;
        self.append("accepted.log", &result.log_line())?;
        Ok(Verdict::Accepted)
    }

    fn result(&self, item: u32) -> io::Result<Option<ItemResult>> {
        let path = self.path(item, "json");
        let Some(json) = read_if_exists(&path)? else { return Ok(None) };
        let result = serde_json::from_slice(&json).map_err(io::Error::from);
        result.map(Some).map_err(|error| with_path(&path, &error))
    }

    /// Adds the log line of a writer that died between the rename and its line.
    fn complete_log(&self, result: &ItemResult) -> io::Result<()> {
        let line = result.log_line();
        let log = read_if_exists(&self.folder.join("accepted.log"))?.unwrap_or_default();
        if log.split(|byte| *byte == b'\n').any(|known| known == line.trim_end().as_bytes()) {
            return Ok(());
        }
        self.append("accepted.log", &line)
    }

    /// Appends a line. A short line is written in one piece.
    fn append(&self, log: &str, line: &str) -> io::Result<()> {
        let mut log = OpenOptions::new().create(true).append(true).open(self.folder.join(log))?;
        log.write_all(line.as_bytes())
    }

    fn path(&self, item: u32, kind: &str) -> PathBuf {
        self.folder.join(format!("item-{item}.{kind}"))
    }
}

/// The greatest token that has begun an item, under a lock. The lock ends when this is dropped or
/// the process dies.
struct Fence {
    file: File,
    greatest: u64,
}

impl Fence {
    fn lock(path: &Path) -> io::Result<Self> {
        Self::read(path).map_err(|error| with_path(path, &error))
    }

    fn read(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).read(true).write(true).truncate(false).open(path)?;
        file.lock()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(Self { file, greatest: greatest_token(&text)? })
    }

    fn raise(&mut self, token: u64) -> io::Result<()> {
        self.greatest = token;
        self.file.rewind()?;
        // The fixed width makes a greater number overwrite all digits of a smaller one.
        self.file.write_all(format!("{token:020}\n").as_bytes())?;
        self.file.sync_all()
    }
}

/// Parses the greatest token. Only an empty file means that no run has begun. Any other unreadable
/// content is an error, because the value 0 would admit every late writer.
fn greatest_token(text: &str) -> io::Result<u64> {
    if text.is_empty() {
        return Ok(0);
    }
    let token = text.strip_suffix('\n').and_then(|token| token.parse().ok());
    token.ok_or_else(|| {
        let reason = format!("{text:?} is not a token; valid is a whole number and a line end");
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}

/// Returns the content of a file; `None` only if it does not exist.
fn read_if_exists(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(with_path(path, &error)),
    }
}

/// Adds the path of a file to an error.
fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
