//! Several centers on one file.
#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use reg_center::{
    Change, Error, Lifetime, NodePath, RegistryCenter as _, SessionChange, SessionFeed, SessionId,
    Txn,
};
use reg_center_sqlite::{Durability, SqliteCenter, SqliteOptions};

pub(crate) fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("the path is valid")
}

pub(crate) fn options(directory: &tempfile::TempDir) -> SqliteOptions {
    SqliteOptions::new(directory.path().join("registry.db")).durability(Durability::Normal)
}

/// Fails the test if the future takes longer than a minute.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, future).await.unwrap_or_else(|_| panic!("{what}: not in {limit:?}"))
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let center = SqliteCenter::connect(options(&directory)).await.unwrap();
    let write = Txn::new().create(path("/job/config"), "kept", Lifetime::Persistent).create(
        path("/job/instance"),
        "",
        Lifetime::Ephemeral,
    );
    assert!(center.commit(write).await.unwrap().is_committed());
    let before = center.read(&path("/job/config")).await.unwrap();
    center.close().await.unwrap();

    let center = SqliteCenter::connect(options(&directory)).await.unwrap();
    assert_eq!(center.read(&path("/job/config")).await.unwrap(), before);
    assert_eq!(center.read(&path("/job/instance")).await.unwrap(), None);
}

#[tokio::test]
async fn centers_that_create_the_same_file_at_the_same_moment_all_connect() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let connects = (0..8).map(|_| SqliteCenter::connect(options(&directory)));
        let connects = futures_util::future::join_all(connects);
        for (index, center) in soon("all connect", connects).await.into_iter().enumerate() {
            let center = center.unwrap_or_else(|error| panic!("center {index}: {error}"));
            center.close().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_file_that_vanishes_suspends_the_session_until_it_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let (here, away) = (directory.path().join("registry.db"), directory.path().join("away.db"));
    let center = SqliteCenter::connect(options(&directory)).await.unwrap();
    let mut sessions = center.session_feed();
    let Some(SessionChange::Connected { session, .. }) = sessions.next().await else {
        panic!("the center is connected")
    };
    std::fs::rename(&here, &away).unwrap();
    let write = || Txn::new().put(NodePath::root(), "x");
    let answer = center.commit(write()).await;
    assert_eq!(answer, Err(Error::Unavailable { call: "commit" }), "nothing was written");
    assert_eq!(sessions.next().await, Some(SessionChange::Suspended { session }));
    // Several attempts to open the file again fail meanwhile.
    let waits = tokio::time::timeout(Duration::from_millis(300), sessions.next()).await;
    assert!(waits.is_err(), "the session stays suspended: {waits:?}");
    assert!(!here.exists(), "no empty registry takes the place of the file");
    std::fs::rename(&away, &here).unwrap();
    let back = soon("the session comes back", sessions.next()).await;
    assert!(
        matches!(back, Some(SessionChange::Connected { session: same, .. }) if same == session)
    );
    assert!(center.commit(write()).await.unwrap().is_committed());
}

#[tokio::test]
async fn a_center_moves_to_the_file_that_replaces_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let replacement = SqliteCenter::connect(options(&other)).await.unwrap();
    let create = Txn::new().create(path("/replacement"), "", Lifetime::Persistent);
    assert!(replacement.commit(create).await.unwrap().is_committed());
    replacement.close().await.unwrap();

    let center = SqliteCenter::connect(options(&directory)).await.unwrap();
    let mut feed = center.watch(&NodePath::root());
    let mut sessions = center.session_feed();
    sessions.next().await;
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _ = std::fs::remove_file(directory.path().join(name));
    }
    std::fs::rename(other.path().join("registry.db"), directory.path().join("registry.db"))
        .unwrap();
    soon("the session is suspended", sessions.next()).await;
    let found = async {
        loop {
            if let Some(Change::Entry(node)) = feed.next().await
                && node.path == path("/replacement")
            {
                return;
            }
        }
    };
    soon("the feed shows the new file", found).await;
}

#[tokio::test]
async fn a_session_of_a_deleted_file_is_lost_although_the_next_file_has_a_session_too() {
    let directory = tempfile::tempdir().unwrap();
    let center = SqliteCenter::connect(options(&directory)).await.unwrap();
    let mut sessions = center.session_feed();
    let Some(SessionChange::Connected { session: old, .. }) = sessions.next().await else {
        panic!("the center is connected")
    };
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        let _ = std::fs::remove_file(directory.path().join(name));
    }
    let other = SqliteCenter::connect(options(&directory)).await.unwrap();
    let mut theirs = other.session_feed();
    let lost = async {
        while sessions.next().await.unwrap() != (SessionChange::Lost { session: old }) {}
        sessions.next().await.unwrap()
    };
    let Some(SessionChange::Connected { session: first, .. }) = theirs.next().await else {
        panic!("the center is connected")
    };
    let SessionChange::Connected { session, .. } = soon("the session is lost", lost).await else {
        panic!("a new session begins")
    };
    assert_ne!(session, first);
}

/// Claims a node under the session, and returns the session.
async fn claim(center: &SqliteCenter, sessions: &mut SessionFeed, name: &str) -> SessionId {
    let Some(SessionChange::Connected { session, .. }) = sessions.next().await else {
        panic!("the center is connected")
    };
    let claim = Txn::new().create(path(name), "", Lifetime::Ephemeral).in_session(session);
    assert!(center.commit(claim).await.unwrap().is_committed());
    session
}

/// Waits until the session is lost and returns the next one.
async fn next_session(sessions: &mut SessionFeed, lost: SessionId) -> SessionId {
    let lost = async {
        let mut change = sessions.next().await.unwrap();
        if matches!(change, SessionChange::Suspended { .. }) {
            change = sessions.next().await.unwrap();
        }
        assert_eq!(change, SessionChange::Lost { session: lost });
        sessions.next().await.unwrap()
    };
    let SessionChange::Connected { session, .. } = soon("the session is lost", lost).await else {
        panic!("a new session begins")
    };
    session
}

#[tokio::test]
async fn a_session_is_lost_if_an_older_copy_replaces_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let (file, backup) = (options(&directory), directory.path().join("backup.db"));
    let center = SqliteCenter::connect(file.clone()).await.unwrap();
    let mut sessions = center.session_feed();
    let lost = claim(&center, &mut sessions, "/before").await;
    rusqlite::Connection::open(file.path()).unwrap().backup("main", &backup, None).unwrap();
    // The backup has the session, but not this write.
    let write = Txn::new().create(path("/after"), "", Lifetime::Persistent);
    assert!(center.commit(write).await.unwrap().is_committed());
    for name in ["registry.db", "registry.db-wal", "registry.db-shm"] {
        std::fs::remove_file(directory.path().join(name)).unwrap();
    }
    std::fs::rename(&backup, file.path()).unwrap();

    let next = next_session(&mut sessions, lost).await;
    assert!(next > lost, "{next} is a number of the backup: guards would not see the difference");
    assert_eq!(center.read(&path("/after")).await, Ok(None));
    let late = Txn::new().put(path("/before"), "").in_session(lost);
    assert_eq!(center.commit(late).await, Err(Error::SessionLost { session: lost }));
}

#[tokio::test]
async fn a_session_is_lost_if_a_backup_is_restored_into_the_file() {
    // Another writer may raise the revision again before the center looks.
    for writes_after in [0, 2] {
        let directory = tempfile::tempdir().unwrap();
        let (file, backup) = (options(&directory), directory.path().join("backup.db"));
        // Only the counter of the session shows the backup after the writes. It is raised four
        // times per timeout.
        let file = file.session_timeout(Duration::from_secs(2));
        let center = SqliteCenter::connect(file.clone()).await.unwrap();
        let mut sessions = center.session_feed();
        let lost = claim(&center, &mut sessions, "/before").await;
        let mut db = rusqlite::Connection::open(file.path()).unwrap();
        db.backup("main", &backup, None).unwrap();
        let write = Txn::new().create(path("/after"), "", Lifetime::Persistent);
        assert!(center.commit(write).await.unwrap().is_committed());
        let beats = "SELECT beat FROM session";
        let beats = |db: &rusqlite::Connection| db.query_row(beats, [], |row| row.get::<_, i64>(0));
        let before = beats(&db).unwrap();
        let raised = async {
            while beats(&db).unwrap() == before {
                tokio::task::yield_now().await;
            }
        };
        soon("the counter is raised", raised).await;

        db.restore("main", &backup, None::<fn(rusqlite::backup::Progress)>).unwrap();
        db.execute("UPDATE registry SET revision = revision + ?1", [writes_after]).unwrap();
        let next = next_session(&mut sessions, lost).await;
        assert!(next > lost, "{next}");
        assert_eq!(center.read(&path("/after")).await, Ok(None));
    }
}

#[tokio::test]
async fn a_writer_that_stops_in_its_transaction_delays_others_only_for_the_lock_timeout() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(&directory).lock_timeout(Duration::from_millis(50));
    let center = SqliteCenter::connect(options.clone()).await.unwrap();
    let mut sessions = center.session_feed();
    sessions.next().await;
    let stuck = rusqlite::Connection::open(options.path()).unwrap();
    stuck.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = center.commit(Txn::new().put(NodePath::root(), "x")).await;
    assert_eq!(answer, Err(Error::Unavailable { call: "commit" }));
    assert!(matches!(sessions.next().await, Some(SessionChange::Suspended { .. })));
    stuck.execute_batch("ROLLBACK").unwrap();
    let back = soon("the session comes back", sessions.next()).await;
    assert!(matches!(back, Some(SessionChange::Connected { .. })));
}

#[tokio::test]
async fn a_full_disk_fails_the_write_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let center = SqliteCenter::connect(options(&directory)).await.unwrap();
    let data = vec![b'x'; 600_000];
    let create = |name: &str| Txn::new().create(path(name), data.clone(), Lifetime::Persistent);
    assert!(center.commit(create("/first")).await.unwrap().is_committed());
    center.close().await.unwrap();

    // The file may not grow by a further node of this size.
    let small = SqliteCenter::connect(options(&directory).max_bytes(1_000_000)).await.unwrap();
    let answer = small.commit(create("/second")).await;
    assert_eq!(answer, Err(Error::Unavailable { call: "commit" }));
    let read = async {
        loop {
            if let Ok(node) = small.read(&path("/first")).await {
                return node;
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(soon("the file can be read", read).await.unwrap().data.len(), 600_000);
}

#[tokio::test]
async fn new_files_are_for_their_owner_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("new/registry.db");
    let center = SqliteCenter::connect(SqliteOptions::new(&file)).await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&directory.path().join("new")), 0o700);
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("{}{suffix}", file.display());
        assert_eq!(mode(name.as_ref()), 0o600, "{name}");
    }
    center.close().await.unwrap();
}
