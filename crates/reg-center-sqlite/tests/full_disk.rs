//! A disk that is full while the write-ahead log is written.
#![expect(clippy::unwrap_used, reason = "a test that fails should panic")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use reg_center::{Error, Lifetime, RegistryCenter as _, SessionChange, Txn};
use reg_center_sqlite::{SqliteCenter, SqliteOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::shared_file::{options, path, soon};

const FILE: &str = "EJOB_TEST_FULL_DISK";
/// Bytes of the log that still have space, for each round: none, and parts of frames.
const SPACE: [u64; 3] = [0, 2_000, 10_000];

/// Limits the size of the files that this process writes. Writes beyond it fail.
fn limit_file_size(bytes: Option<u64>) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: bytes.or(maximum), maximum }).unwrap();
}

/// The child process, whose limit of the file size stands for a full disk.
#[tokio::test]
#[ignore = "another test runs it in a process of its own"]
async fn write_to_a_full_disk() {
    let file = PathBuf::from(std::env::var_os(FILE).expect("the parent names the file"));
    // The session does not end in the time without space.
    let options = SqliteOptions::new(&file).session_timeout(Duration::from_secs(600));
    let center = SqliteCenter::connect(options).await.unwrap();
    let mut sessions = center.session_feed();
    let connected = sessions.next().await;
    let Some(SessionChange::Connected { session, .. }) = connected else {
        panic!("the center is connected: {connected:?}")
    };
    let log = file.with_file_name("registry.db-wal");
    let create = |name: String, data: String| {
        let (a, b) = (path(&format!("/{name}/a")), path(&format!("/{name}/b")));
        Txn::new().create(a, data.clone(), Lifetime::Persistent).create(
            b,
            data,
            Lifetime::Persistent,
        )
    };
    for (round, space) in SPACE.iter().enumerate() {
        let kept = create(format!("kept{round}"), String::new());
        assert!(center.commit(kept).await.unwrap().is_committed());
        limit_file_size(Some(fs::metadata(&log).unwrap().len() + space));
        let answer = center.commit(create(format!("large{round}"), "x".repeat(100_000))).await;
        let is_failed = matches!(answer, Err(Error::Unavailable { .. } | Error::Unknown { .. }));
        assert!(is_failed, "round {round}: {answer:?}");
        let suspended = sessions.next().await;
        assert_eq!(suspended, Some(SessionChange::Suspended { session }), "round {round}");

        limit_file_size(None);
        let back = soon("the session comes back", sessions.next()).await;
        let is_same = matches!(back, Some(SessionChange::Connected { session: same, .. })
            if same == session);
        assert!(is_same, "round {round}: {back:?}");
        let after = create(format!("after{round}"), "x".repeat(100_000));
        assert!(center.commit(after).await.unwrap().is_committed());
        check(&center, round).await;
    }
    println!("went on after the disk was full");
}

/// Checks that the acknowledged writes until this round are there, and no failed one in part.
async fn check(center: &SqliteCenter, last: usize) {
    for round in 0..=last {
        for name in ["kept", "large", "after"] {
            let pair = ["a", "b"].map(|node| path(&format!("/{name}{round}/{node}")));
            let nodes = center.read_all(&pair).await.unwrap();
            assert_eq!(nodes[0].is_some(), nodes[1].is_some(), "{name}{round}: half of it");
            assert!(nodes[0].is_some() || name == "large", "{name}{round} was lost");
        }
    }
}

#[tokio::test]
async fn a_full_disk_under_the_log_loses_nothing_and_the_registry_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(&directory);
    // Without the trap, the signal of the limit would end the process.
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::write_to_a_full_disk", "--ignored", "--nocapture"])
        .env(FILE, options.path())
        .output()
        .unwrap();
    let output = format!(
        "{}{}",
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr)
    );
    assert!(child.status.success(), "{output}");
    assert!(output.contains("went on after the disk was full"), "{output}");
    let center = SqliteCenter::connect(options).await.unwrap();
    check(&center, SPACE.len() - 1).await;
}
