//! The harness itself: real workers on a real ensemble, one of them killed.

use crate::support;

use checker::{History, Verdict, check};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_worker_loses_no_run_and_the_history_is_valid() {
    let cluster = support::cluster("smoke").await;
    let records = verify::smoke::play(Box::new(cluster)).await.unwrap();
    let report = check(&History::from_records(records), &verify::run::real_options());
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
}
