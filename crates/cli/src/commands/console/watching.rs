//! Watchers that run beside the console, so that it shows the states of all expectations.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use job_watch::{HistoryByJob, WatchFile, WatchView, Watcher};
use reg_center::RegistryCenter;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::commands::watch_expectations::{file_fault, watcher_name};
use crate::fault::Fault;

/// Time without contact after which another watcher sends, as `ejob watch` has by default.
pub(super) const SESSION_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for messages that are being sent at the end, with a reserve for their records.
const LEAVE: Duration = Duration::from_secs(15);

/// Expectations, and the session of their watcher.
pub(super) struct Watched {
    pub(super) file: WatchFile,
    pub(super) center: Arc<dyn RegistryCenter>,
    /// Successes of Java instances.
    pub(super) java: Option<watch::Receiver<HistoryByJob>>,
}

/// The running watchers.
#[derive(Default)]
pub(super) struct Watching {
    stop: CancellationToken,
    tasks: Vec<JoinHandle<()>>,
}

/// Reads a file of expectations.
pub(super) fn read(path: &Path) -> Result<WatchFile, Fault> {
    WatchFile::read(path).map_err(|error| file_fault(path, &error))
}

impl Watching {
    /// Starts the watcher of a namespace. If it ends, the console goes on, and
    /// its pages and `/health` show the reason.
    pub(super) fn start(&mut self, namespace: &str, watched: Watched) -> WatchView {
        let Watched { file, center, java } = watched;
        let mut watcher = Watcher::new(file, center, watcher_name());
        if let Some(successes) = java {
            watcher = watcher.history(successes);
        }
        let (view, stop, namespace) = (watcher.view(), self.stop.clone(), namespace.to_owned());
        self.tasks.push(tokio::spawn(async move {
            if let Err(error) = watcher.run(stop).await {
                tracing::error!(namespace, %error, "the watcher of the namespace ended");
            }
        }));
        view
    }

    /// Stops the watchers.
    pub(super) async fn end(self) {
        self.stop.cancel();
        if tokio::time::timeout(LEAVE, join_all(self.tasks)).await.is_err() {
            tracing::warn!("a watcher did not end in time");
        }
    }
}
