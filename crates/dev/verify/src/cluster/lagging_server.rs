//! A server with stale data.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use testkit::harness::ClusterError;
use tokio::sync::watch;
use tokio::task::{JoinHandle, block_in_place};

use super::harness;
use super::servers::{FixtureResult, Members};

/// Time that the server runs between two stops: enough to answer its clients and to catch up a
/// little.
const RUNNING: Duration = Duration::from_millis(30);

/// A server that is stopped most of the time, until the end of the lag.
///
/// Each time it continues, it is behind the others, and answers its clients with stale data before
/// it has caught up.
/// Between two stops it keeps its place among the servers, and its clients keep their sessions.
#[derive(Debug)]
pub(super) struct LaggingServer {
    enough: watch::Sender<bool>,
    task: JoinHandle<FixtureResult>,
}

impl LaggingServer {
    /// Begins the lag; each stop lasts for `stopped`.
    pub(super) fn begin(
        members: Arc<Mutex<dyn Members>>,
        server: usize,
        stopped: Duration,
    ) -> Self {
        let (enough, mut is_enough) = watch::channel(false);
        let task = tokio::spawn(async move {
            loop {
                block_in_place(|| members.lock().pause(server))?;
                let waited = tokio::time::timeout(stopped, is_enough.wait_for(|enough| *enough));
                let is_over = waited.await.is_ok();
                members.lock().resume(server)?;
                if is_over {
                    return Ok(());
                }
                tokio::time::sleep(RUNNING).await;
            }
        });
        Self { enough, task }
    }

    /// Ends the lag; the server runs when this returns.
    pub(super) async fn end(self) -> Result<(), ClusterError> {
        const ACT: &str = "end the lag of a server";
        self.enough.send_replace(true);
        let ended = self.task.await.map_err(|error| harness(ACT, error))?;
        ended.map_err(|error| harness(ACT, error))
    }
}
