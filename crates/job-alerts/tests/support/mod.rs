//! Failures, servers on loopback, and the captured log.
#![allow(dead_code, reason = "each test file uses only a part of it")]

pub(crate) mod http;
pub(crate) mod smtp;

#[path = "../../../lite/tests/support/log.rs"]
mod log;

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use lite::{FencingToken, InstanceId, JobName, Outcome, RunFailure, RunReport, ShardingItem};

pub(crate) use log::Log;

/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(60);

/// Awaits a future, and panics after the deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited for {what} longer than {DEADLINE:?}"),
    }
}

/// Returns a failure of item 3 with this error.
pub(crate) fn failure(error: &str) -> RunFailure {
    let began: Timestamp = "2024-02-29T12:00:00Z".parse().unwrap();
    let (job, instance) = (JobName::new("report").unwrap(), InstanceId::new("10.0.0.1@-@1"));
    let mut run = RunReport::new(job, instance, ShardingItem::new(3), began);
    run.token = FencingToken(4);
    run.outcome = Outcome::Failed;
    run.cause = Some(error.to_owned());
    let mut failure = RunFailure::new(run);
    failure.attempts = 2;
    failure
}

/// Returns the texts of an error and of its causes, as `Display` and as `Debug`.
pub(crate) fn error_with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(format!("{error} {error:?}"), |text, cause| format!("{text}: {cause} {cause:?}"))
}
