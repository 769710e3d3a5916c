//! Opening a registry file: checks of the file system, the format and the content.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use rustix::fs::statfs;

use crate::{Durability, OpenError, SqliteOptions};

/// Marks the file as a registry of this program: `ejob` in ASCII.
const APPLICATION_ID: i32 = 0x656a_6f62;
/// Format of the tables. A program refuses the format of a later one.
const FORMAT: i32 = 1;
const SCHEMA: &str = include_str!("schema.sql");
/// Time between two attempts to open a file that another program has locked.
const RETRY_INTERVAL: Duration = Duration::from_millis(2);
/// File systems whose files can be open on several hosts, by the numbers of Linux.
const NETWORK_FILE_SYSTEMS: [(u64, &str); 13] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x7461_636f, "ocfs2"),
    (0x0bd0_0bd0, "lustre"),
    (0x0116_1970, "gfs2"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0x786f_4256, "vboxsf"),
];

/// The identity of a file: it changes if the file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(path: &Path) -> std::io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// Opens the file, and creates it with its directory if it is missing.
pub(crate) fn open_or_create(options: &SqliteOptions) -> Result<(Connection, FileId), OpenError> {
    let path = options.path();
    let fault = |error| file_error(path, &error);
    // Parameters of jobs may be secrets, so directory and file are for their owner alone.
    create_directories(directory_of(path)).map_err(fault)?;
    check_file_system(path)?;
    create(path).map_err(fault)?;
    open_existing(options)
}

/// Creates a directory and its missing parents. Otherwise the loss of power could take a new
/// directory with the acknowledged writes in it, because SQLite syncs only that of its file.
fn create_directories(directory: &Path) -> std::io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let parent = directory_of(directory);
    if parent != directory {
        create_directories(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Ok(()) => sync_directory(parent),
        // Another program has created it meanwhile.
        Err(_) if directory.is_dir() => sync_directory(parent),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Writes the entries of a directory to the disk. Some file systems cannot do that, and SQLite uses
/// them nevertheless.
fn sync_directory(directory: &Path) {
    if let Err(error) = fs::File::open(directory).and_then(|file| file.sync_all()) {
        tracing::debug!(path = %directory.display(), %error, "cannot sync a directory");
    }
}

/// Creates a missing file. SQLite gives the write-ahead log and its index the same permissions.
fn create(path: &Path) -> std::io::Result<()> {
    // A file that exists is not opened: closing it would release the locks of SQLite in this
    // process.
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => {
            sync_directory(directory_of(path));
            Ok(())
        }
    }
}

/// Opens the file. A missing file is an error: an empty registry in the place of one that was moved
/// away would start every job anew.
pub(crate) fn open_existing(options: &SqliteOptions) -> Result<(Connection, FileId), OpenError> {
    let path = options.path();
    check_file_system(path)?;
    let start = Instant::now();
    loop {
        match open_once(options) {
            // SQLite itself does not wait for the lock of the change to WAL, which each of several
            // programs needs that meet at a new file.
            Err(OpenError::Locked { .. }) if start.elapsed() < options.lock_timeout => {
                std::thread::sleep(RETRY_INTERVAL);
            }
            outcome => return outcome,
        }
    }
}

fn open_once(options: &SqliteOptions) -> Result<(Connection, FileId), OpenError> {
    let path = options.path();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(|e| sql_error(path, &e))?;
    prepare(&mut db, options)?;
    let id = FileId::of(path).map_err(|error| file_error(path, &error))?;
    Ok((db, id))
}

fn prepare(db: &mut Connection, options: &SqliteOptions) -> Result<(), OpenError> {
    let path = options.path();
    let sql = |error: rusqlite::Error| sql_error(path, &error);
    db.busy_timeout(options.lock_timeout).map_err(sql)?;
    let check: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sql)?;
    if check != "ok" {
        return Err(OpenError::Damaged { path: path.to_owned(), cause: check });
    }
    // The mode of the journal is stored in the file, so a file of another program is refused first.
    // One transaction reads all of it: another program may create the tables meanwhile.
    is_registry(&db.transaction().map_err(sql)?, path)?;
    let mode: String =
        db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)).map_err(sql)?;
    if mode != "wal" {
        let cause = format!("its file system does not support WAL, the journal mode stays {mode}");
        return Err(OpenError::File { path: path.to_owned(), cause });
    }
    set_durability(db, options.durability).map_err(sql)?;
    if let Some(bytes) = options.max_bytes {
        let page: u32 = db.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(sql)?;
        let pages = u32::try_from(bytes / u64::from(page)).unwrap_or(u32::MAX);
        db.pragma_update(None, "max_page_count", pages).map_err(sql)?;
    }
    let txn = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
    if is_registry(&txn, path)? {
        return Ok(());
    }
    txn.execute_batch(SCHEMA).map_err(sql)?;
    txn.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
    txn.pragma_update(None, "user_version", FORMAT).map_err(sql)?;
    txn.commit().map_err(sql)
}

/// Sets the durability of the following transactions. Fails within a transaction.
pub(crate) fn set_durability(db: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    db.pragma_update(None, "synchronous", synchronous)
}

/// Returns true if the database has the tables of a registry, false if it is empty.
fn is_registry(db: &Transaction<'_>, path: &Path) -> Result<bool, OpenError> {
    let sql = |error: rusqlite::Error| sql_error(path, &error);
    let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let application = pragma("application_id").map_err(sql)?;
    let format = pragma("user_version").map_err(sql)?;
    let tables = "SELECT count(*) FROM sqlite_schema";
    let tables: i64 = db.query_row(tables, [], |row| row.get(0)).map_err(sql)?;
    match application {
        APPLICATION_ID if format == FORMAT => Ok(true),
        APPLICATION_ID => {
            Err(OpenError::LaterFormat { path: path.to_owned(), found: format, known: FORMAT })
        }
        0 if tables == 0 => Ok(false),
        found => Err(OpenError::OtherProgram { path: path.to_owned(), found }),
    }
}

/// Refuses a file system that other hosts can use at the same time, as far as it can be seen.
fn check_file_system(path: &Path) -> Result<(), OpenError> {
    let at = if path.exists() { path } else { directory_of(path) };
    let found = statfs(at).map_err(|error| file_error(path, &error.into()))?;
    #[expect(clippy::cast_sign_loss, reason = "the sign is that of the number's 64th bit")]
    match network_file_system(found.f_type as u64) {
        Some(kind) => Err(OpenError::NetworkFileSystem { path: path.to_owned(), kind }),
        None => Ok(()),
    }
}

/// Returns the name of a network file system, by the type that `statfs` reports.
///
/// The integer of the type differs among platforms; the numbers have at most 32 bits.
fn network_file_system(f_type: u64) -> Option<&'static str> {
    let number = f_type & 0xffff_ffff;
    NETWORK_FILE_SYSTEMS.iter().find(|(known, _)| *known == number).map(|(_, kind)| *kind)
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

fn file_error(path: &Path, error: &std::io::Error) -> OpenError {
    OpenError::File { path: path.to_owned(), cause: error.to_string() }
}

fn sql_error(path: &Path, error: &rusqlite::Error) -> OpenError {
    let (path, cause) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::Damaged { path, cause }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked { path },
        _ => OpenError::File { path, cause },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_type() {
        let rows = [
            ("ext4", 0xef53, None),
            ("xfs", 0x5846_5342, None),
            ("btrfs", 0x9123_683e, None),
            ("zfs", 0x2fc1_2fc1, None),
            ("tmpfs", 0x0102_1994, None),
            ("overlayfs", 0x794c_7630, None),
            ("fuse", 0x6573_5546, None),
            ("nfs", 0x6969, Some("nfs")),
            ("smb", 0x517b, Some("smb")),
            ("cifs", 0xff53_4d42, Some("cifs")),
            ("cifs, where the type has 32 bits and a sign", 0xffff_ffff_ff53_4d42, Some("cifs")),
            ("smb2", 0xfe53_4d42, Some("smb2")),
            ("9p", 0x0102_1997, Some("9p")),
            ("ceph", 0x00c3_6400, Some("ceph")),
            ("afs", 0x5346_414f, Some("afs")),
            ("ocfs2", 0x7461_636f, Some("ocfs2")),
            ("lustre", 0x0bd0_0bd0, Some("lustre")),
            ("gfs2", 0x0116_1970, Some("gfs2")),
            ("gpfs", 0x4750_4653, Some("gpfs")),
            ("beegfs", 0x1983_0326, Some("beegfs")),
            ("vboxsf", 0x786f_4256, Some("vboxsf")),
        ];
        for (case, f_type, expected) in rows {
            assert_eq!(network_file_system(f_type), expected, "{case}");
        }
    }

    #[test]
    fn missing_parents_are_created_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        create_directories(&deep).unwrap();
        create_directories(&deep).unwrap();
        for directory in [&deep, &folder.path().join("a")] {
            assert_eq!(fs::metadata(directory).unwrap().mode() & 0o777, 0o700);
        }
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(create_directories(&file.join("below")).is_err());
    }
}
