//! Files that are no registry, or no longer one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use reg_center::{Lifetime, RegistryCenter as _, Txn};
use reg_center_sqlite::{OpenError, SqliteCenter, SqliteOptions};

use crate::shared_file::{options, path};

async fn error_of(file: &Path) -> OpenError {
    SqliteCenter::connect(SqliteOptions::new(file)).await.expect_err("the file is refused")
}

#[tokio::test]
async fn other_files_are_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let text = directory.path().join("notes.txt");
    fs::write(&text, "no database, but long enough to be taken for one".repeat(100)).unwrap();
    let before = fs::read(&text).unwrap();
    assert!(matches!(error_of(&text).await, OpenError::Damaged { .. }));
    assert_eq!(fs::read(&text).unwrap(), before);

    let other = directory.path().join("other.db");
    let db = rusqlite::Connection::open(&other).unwrap();
    db.execute_batch("CREATE TABLE t (x); PRAGMA application_id = 77").unwrap();
    drop(db);
    let before = fs::read(&other).unwrap();
    let error = error_of(&other).await;
    assert!(matches!(error, OpenError::OtherProgram { found: 77, .. }), "{error}");
    assert_eq!(fs::read(&other).unwrap(), before, "not even its journal mode is changed");

    let later = directory.path().join("later.db");
    SqliteCenter::connect(SqliteOptions::new(&later)).await.unwrap().close().await.unwrap();
    rusqlite::Connection::open(&later).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
    let error = error_of(&later).await;
    assert!(matches!(error, OpenError::LaterFormat { found: 9, known: 1, .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_stays_locked_is_named_after_the_lock_timeout() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(&directory).lock_timeout(Duration::from_millis(50));
    SqliteCenter::connect(options.clone()).await.unwrap().close().await.unwrap();
    let holder = rusqlite::Connection::open(options.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = SqliteCenter::connect(options.clone()).await.expect_err("the file is locked");
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    holder.execute_batch("ROLLBACK").unwrap();
    SqliteCenter::connect(options).await.unwrap().close().await.unwrap();
}

#[tokio::test]
async fn a_torn_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("registry.db");
    let center = SqliteCenter::connect(options(&directory)).await.unwrap();
    for i in 0..50 {
        let create =
            Txn::new().create(path(&format!("/n{i}")), "x".repeat(5_000), Lifetime::Persistent);
        assert!(center.commit(create).await.unwrap().is_committed());
    }
    center.close().await.unwrap();
    drop(center);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let error = error_of(&file).await;
    assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
}

#[tokio::test]
async fn a_missing_directory_is_created_and_an_impossible_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("state/ejob/registry.db");
    SqliteCenter::connect(SqliteOptions::new(&deep)).await.unwrap().close().await.unwrap();
    assert!(deep.exists());
    let below_a_file = deep.join("registry.db");
    let error = error_of(&below_a_file).await.to_string();
    assert!(error.contains(&below_a_file.display().to_string()), "{error}");
}
