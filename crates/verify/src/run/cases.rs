//! What can be played.

use checker::history::Record;
use checker::{History, Options, Verdict, check};
use futures_util::future::BoxFuture;
use testkit::scenario::{Cluster, ClusterError};

use crate::smoke;

/// A scenario, as the runner knows it.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Whether it is played each time, and not only at night.
    pub(super) quick: bool,
    pub(super) play: Play,
}

/// Plays a scenario on a cluster with a seed, and judges it.
type Play = fn(Box<dyn Cluster>, u64, Options) -> BoxFuture<'static, Result<Judged, ClusterError>>;

/// A history that was judged.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// The judgement in words.
    pub(super) details: String,
    pub(super) records: Vec<Record>,
}

/// All scenarios, in order.
pub(super) const CASES: [Case; 1] = [Case {
    id: "S00",
    title: "the harness itself: one of three workers is killed in the middle of its items",
    quick: true,
    play: |cluster, _seed, options| Box::pin(smoke(cluster, options)),
}];

async fn smoke(cluster: Box<dyn Cluster>, options: Options) -> Result<Judged, ClusterError> {
    let records = smoke::play(cluster).await?;
    let report = check(&History::from_records(records.clone()), &options);
    Ok(Judged { verdict: report.verdict, details: report.to_string(), records })
}
