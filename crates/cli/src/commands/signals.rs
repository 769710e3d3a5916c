//! The signals that end a command that runs until then.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::fault::Fault;

/// SIGTERM and ctrl-c.
pub(in crate::commands) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(in crate::commands) fn listen() -> Result<Self, Fault> {
        let of = |kind| {
            signal(kind)
                .map_err(|error| Fault::refused(format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    pub(in crate::commands) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for a future; returns `None` if a signal comes first.
    pub(in crate::commands) async fn unless<T>(
        &mut self,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::select! {
            biased;
            () = self.next() => None,
            done = future => Some(done),
        }
    }
}
