//! Failures to tell of, servers on loopback, and what was logged.
#![allow(dead_code, reason = "every test file uses another part of it")]

pub(crate) mod http;
pub(crate) mod smtp;

#[path = "../../../lite/tests/support/log.rs"]
mod log;

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use lite::{
    FailedIn, FencingToken, FireTime, InstanceId, JobName, Outcome, RunFailure, RunReport,
    RunSource, ShardingItem,
};

pub(crate) use log::Log;

/// More than any test needs.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits for something with a deadline.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited for {what}, in vain"),
    }
}

/// A failure of item 3 with this error.
pub(crate) fn failure(error: &str) -> RunFailure {
    let began: Timestamp = "2024-02-29T12:00:00Z".parse().unwrap();
    let run = RunReport {
        job: JobName::new("report").unwrap(),
        instance: InstanceId::new("10.0.0.1@-@1"),
        item: ShardingItem::new(3),
        fire: FireTime(began.as_millisecond()),
        source: RunSource::Normal,
        token: FencingToken(4),
        began,
        ended: began,
        outcome: Outcome::Failed,
        cause: Some(error.to_owned()),
    };
    RunFailure { run, attempts: 2, failed_in: FailedIn::Code }
}

/// Returns what an error says, with its causes.
pub(crate) fn everything(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(format!("{error} {error:?}"), |text, cause| format!("{text}: {cause} {cause:?}"))
}
