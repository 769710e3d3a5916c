//! Processes that end by SIGKILL while they write.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use reg_center::{Change, Lifetime, NodePath, RegistryCenter as _, Txn, Version};
use reg_center_sqlite::{SqliteCenter, SqliteOptions};

use crate::shared_file::{options, path, soon};

const FILE: &str = "EJOB_TEST_REGISTRY_FILE";

/// The child process: writes a counter until it is killed, and prints each acknowledged version.
#[tokio::test]
#[ignore = "another test runs it in a process of its own"]
async fn write_until_killed() {
    let file = std::env::var_os(FILE).expect("the parent names the file");
    let center = SqliteCenter::connect(SqliteOptions::new(file)).await.unwrap();
    let join = Txn::new().create(path("/instance"), "", Lifetime::Ephemeral);
    assert!(center.commit(join).await.unwrap().is_committed());
    loop {
        let write = Txn::new().put(path("/counter"), "");
        assert!(center.commit(write).await.unwrap().is_committed());
        let node = center.read(&path("/counter")).await.unwrap().expect("the counter exists");
        println!("acknowledged {}", node.stat.version.0);
    }
}

#[tokio::test]
async fn a_killed_process_loses_no_acknowledged_write_and_its_session_ends_at_once() {
    let directory = tempfile::tempdir().unwrap();
    // The timeout is long: the session ends because the process is seen to have ended.
    let options = options(&directory).session_timeout(std::time::Duration::from_secs(600));
    let center = SqliteCenter::connect(options.clone()).await.unwrap();
    let counter = Txn::new().create(path("/counter"), "", Lifetime::Persistent);
    assert!(center.commit(counter).await.unwrap().is_committed());
    let mut written = 0;
    for round in 1..=5_u32 {
        let mut feed = center.watch(&path("/instance"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed_processes::write_until_killed", "--ignored", "--nocapture"])
            .env(FILE, options.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        let mut lines = output.map_while(Result::ok);
        let numbers = lines.by_ref().filter_map(|line| {
            line.strip_prefix("acknowledged ").and_then(|number| number.parse::<u32>().ok())
        });
        for number in numbers.take(20 * usize::try_from(round).unwrap()) {
            acknowledged = number;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let node = center.read(&path("/counter")).await.unwrap().unwrap();
        assert!(acknowledged > written, "round {round}");
        assert!(node.stat.version >= Version(acknowledged), "round {round}: a write was lost");
        written = node.stat.version.0;
        let gone = async { while !matches!(feed.next().await, Some(Change::Gone { .. })) {} };
        soon("the ephemeral node goes", gone).await;
        assert_eq!(center.children(&NodePath::root()).await.unwrap().unwrap(), ["counter"]);
    }
}
