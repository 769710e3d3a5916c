//! The harness itself: real workers on a real ensemble, one of them killed, and nothing lost.

use crate::support;

use checker::{History, Verdict, check};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_killed_worker_loses_nothing_and_the_checker_agrees() {
    let cluster = support::cluster("smoke").await;
    let records = verify::smoke::play(Box::new(cluster)).await.unwrap();
    let report = check(&History::from_records(records), &verify::run::real_options());
    assert_eq!(report.verdict, Verdict::Valid, "{report}");
}
