//! Updates of a run in progress: the configuration in force, and whether the run should wind down.

use std::sync::Arc;

use coordination::JobConfig;
use tokio::sync::watch;

/// State that a run can observe while it goes on.
#[derive(Clone, Debug)]
pub(crate) struct RunUpdates {
    /// The run should end at its next suitable point.
    pub(crate) winds_down: bool,
    /// The configuration in force now. The run itself uses the one of its start.
    pub(crate) config: Arc<JobConfig>,
}

impl RunUpdates {
    /// Returns the sender with the initial state of a run.
    pub(crate) fn at_start(config: Arc<JobConfig>) -> watch::Sender<Self> {
        watch::Sender::new(Self { winds_down: false, config })
    }
}

/// Sends a run its new state, if it has changed.
pub(crate) fn publish(
    sender: &watch::Sender<RunUpdates>,
    winds_down: bool,
    config: &Arc<JobConfig>,
) {
    sender.send_if_modified(|current| {
        let same = current.winds_down == winds_down && Arc::ptr_eq(&current.config, config);
        *current = RunUpdates { winds_down, config: Arc::clone(config) };
        !same
    });
}
