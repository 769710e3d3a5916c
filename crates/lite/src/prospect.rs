//! What changes while a run goes on, for code that works through a stream.

use std::sync::Arc;

use coordination::JobConfig;
use tokio::sync::watch;

/// What a run can expect.
#[derive(Clone, Debug)]
pub(crate) struct Prospect {
    /// Whether it should come to an end at its next good point.
    pub(crate) winds_down: bool,
    /// The configuration in force now; that of the run is as it was when it began.
    pub(crate) config: Arc<JobConfig>,
}

impl Prospect {
    /// Returns what can be expected when a run begins: nothing stands against it, or it would not begin.
    pub(crate) fn at_start(config: Arc<JobConfig>) -> watch::Sender<Self> {
        watch::Sender::new(Self { winds_down: false, config })
    }
}

/// Tells a run what it can expect, if that is something new.
pub(crate) fn tell(sender: &watch::Sender<Prospect>, winds_down: bool, config: &Arc<JobConfig>) {
    sender.send_if_modified(|prospect| {
        let same = prospect.winds_down == winds_down && Arc::ptr_eq(&prospect.config, config);
        *prospect = Prospect { winds_down, config: Arc::clone(config) };
        !same
    });
}
