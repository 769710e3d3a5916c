//! The harness itself: real workers on a real ensemble, one of them killed, and nothing lost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use testkit::scenario::Cluster;
use verify::cluster::{ZkCluster, ZkOptions};

fn options(run: &str) -> ZkOptions {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{run}-{}", std::process::id()));
    ZkOptions {
        folder,
        worker: PathBuf::from(env!("CARGO_BIN_EXE_ejob-worker")),
        run: run.to_owned(),
        require: BTreeMap::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_is_killed_and_its_items_are_run_elsewhere() {
    let cluster = ZkCluster::start(options("smoke")).await.unwrap();
    let records = verify::smoke::play(Box::new(cluster)).await.unwrap();
    assert!(records.len() > 100, "{}", records.len());
}
