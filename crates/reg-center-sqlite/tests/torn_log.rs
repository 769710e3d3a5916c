//! Write-ahead logs that end too early or have a wrong byte, as after a loss of power.
#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::fs;
use std::path::Path;

use reg_center::{Lifetime, NodePath, RegistryCenter as _, Txn};
use reg_center_sqlite::{Durability, SqliteCenter, SqliteOptions};

use crate::shared_file::{options, path};

const N_CHECKPOINTED: usize = 3;
const N_LOGGED: usize = 8;

/// Writes the number of the last transaction, and a node of its own for each.
async fn write(center: &SqliteCenter, numbers: std::ops::RangeInclusive<usize>) {
    for number in numbers {
        let own = path(&format!("/log/n{number:02}"));
        // The data needs pages of its own, so that each transaction has several frames.
        let txn = Txn::new().create(own, "x".repeat(6_000), Lifetime::Persistent);
        let txn = txn.put(path("/last"), number.to_string());
        assert!(center.commit(txn).await.unwrap().is_committed());
    }
}

/// Returns the number of transactions in the registry. Fails the test if one is there in part.
async fn transactions(file: &Path, case: &str) -> usize {
    let options = SqliteOptions::new(file).durability(Durability::Normal);
    let opened = SqliteCenter::connect(options).await;
    let center = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
    let last = center.read(&path("/last")).await.unwrap().unwrap();
    let last: usize = String::from_utf8(last.data.to_vec()).unwrap().parse().unwrap();
    let names = center.children(&path("/log")).await.unwrap().unwrap();
    let expected: Vec<String> = (1..=last).map(|number| format!("n{number:02}")).collect();
    assert_eq!(names, expected, "{case}");
    for name in names {
        let node = center.read(&path(&format!("/log/{name}"))).await.unwrap().unwrap();
        assert_eq!(node.data.len(), 6_000, "{case}, {name}");
    }
    // The registry goes on.
    assert!(center.commit(Txn::new().put(NodePath::root(), "x")).await.unwrap().is_committed());
    center.close().await.unwrap();
    last
}

#[tokio::test]
async fn a_damaged_log_keeps_a_prefix_of_the_commits_with_all_checkpointed_ones() {
    let directory = tempfile::tempdir().unwrap();
    // Its counter is not raised during the test.
    let options = options(&directory).session_timeout(std::time::Duration::from_secs(3_000));
    let center = SqliteCenter::connect(options.clone()).await.unwrap();
    let last = Txn::new().create(path("/last"), "0", Lifetime::Persistent);
    assert!(center.commit(last).await.unwrap().is_committed());
    write(&center, 1..=N_CHECKPOINTED).await;
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    let db = rusqlite::Connection::open(options.path()).unwrap();
    let is_busy: bool = db.query_row(checkpoint, [], |row| row.get(0)).unwrap();
    assert!(!is_busy, "the checkpoint is complete");
    let all = N_CHECKPOINTED + N_LOGGED;
    write(&center, N_CHECKPOINTED + 1..=all).await;
    let main = fs::read(options.path()).unwrap();
    let log = fs::read(directory.path().join("registry.db-wal")).unwrap();

    let damaged = tempfile::tempdir().unwrap();
    let file = damaged.path().join("registry.db");
    let place = |log: &[u8]| {
        fs::write(&file, &main).unwrap();
        fs::write(damaged.path().join("registry.db-wal"), log).unwrap();
    };
    let mut by_cut = Vec::new();
    // Not a divisor of the size of a page or a frame: all parts of them are hit.
    let offsets = (0..log.len()).step_by(1_999);
    for cut in offsets.clone().chain([log.len()]) {
        place(&log[..cut]);
        by_cut.push(transactions(&file, &format!("cut at {cut} of {}", log.len())).await);
    }
    assert!(by_cut.is_sorted(), "{by_cut:?}");
    assert_eq!((by_cut[0], by_cut.last()), (N_CHECKPOINTED, Some(&all)));
    by_cut.dedup();
    assert_eq!(by_cut.len(), N_LOGGED + 1, "each transaction has several frames: {by_cut:?}");

    for offset in offsets {
        let mut log = log.clone();
        log[offset] ^= 0x40;
        place(&log);
        let kept = transactions(&file, &format!("wrong byte at {offset}")).await;
        assert!((N_CHECKPOINTED..all).contains(&kept), "wrong byte at {offset}: {kept}");
    }
}
