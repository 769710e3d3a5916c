//! The harness itself: real workers on each real registry, one of them killed.

use crate::support;

use checker::{History, Verdict, check};
use verify::cluster::RealBackend;

async fn play(backend: RealBackend, run: &str) {
    let cluster = support::cluster(backend, run).await;
    let records = verify::smoke::play(Box::new(cluster)).await.expect("the scenario ends");
    let report = check(&History::from_records(records), &verify::run::real_options());
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_worker_loses_no_run_and_the_history_is_valid() {
    play(RealBackend::Zookeeper, "smoke").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_worker_on_a_file_loses_no_run_and_the_history_is_valid() {
    play(RealBackend::Sqlite, "smoke-on-a-file").await;
}
