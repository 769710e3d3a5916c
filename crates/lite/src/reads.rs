//! Reads of a job's nodes apart from its feed, at a bounded rate for the whole process.

use std::sync::Arc;
use std::time::Duration;

use reg_center::{Change, Feed, Node, Scope};
use tokio::select;
use tokio::sync::Semaphore;

use crate::inbox::{Answer, Answers};
use crate::seams::Seams;

/// Pause after each read. With more jobs than seconds in the interval, the interval grows, and not
/// the load on the registry.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum time of a read. The next interval brings another one.
const DEADLINE: Duration = Duration::from_secs(30);

/// Turns of the jobs of a process: one of them reads at a time.
#[derive(Clone, Debug)]
pub(crate) struct ReadTurns(Arc<Semaphore>);

impl Default for ReadTurns {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl ReadTurns {
    /// Waits for a turn, reads all nodes of the scope and answers with them. The answer has none if
    /// the registry did not deliver them in time.
    pub(crate) async fn read(self, scope: Scope, seams: Seams, answers: Answers) {
        let read = async {
            // The semaphore is never closed.
            let Ok(_turn) = self.0.acquire().await else { return };
            let deadline = seams.clock.monotonic() + DEADLINE;
            let snapshot = snapshot(seams.registry.watch_parts(&scope));
            let nodes = seams.until(deadline, snapshot).await.ok().flatten();
            if nodes.is_none() {
                tracing::debug!(?DEADLINE, "nodes of the job could not be read in time");
            }
            answers.send(Answer::Read(nodes));
            seams.clock.sleep_until(seams.clock.monotonic() + PAUSE).await;
        };
        select! {
            () = read => {}
            () = answers.closed() => {}
        }
    }
}

/// Returns the nodes of the first complete snapshot; `None` if the feed has ended.
async fn snapshot(mut feed: Feed) -> Option<Vec<Node>> {
    let mut nodes = Vec::new();
    loop {
        match feed.next().await? {
            Change::Init => nodes.clear(),
            Change::Entry(node) => nodes.push(node),
            Change::Ready => return Some(nodes),
            // Not before the snapshot is complete.
            Change::Put(_) | Change::Gone { .. } => {}
        }
    }
}
