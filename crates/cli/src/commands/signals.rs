//! The signals that end a command that runs until then.

use futures_util::future::OptionFuture;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::fault::Fault;

/// SIGTERM and ctrl-c, and SIGHUP for a command that owns the terminal.
pub(in crate::commands) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Option<Signal>,
}

impl Signals {
    pub(in crate::commands) fn listen() -> Result<Self, Fault> {
        Ok(Self {
            terminate: listen_for(SignalKind::terminate())?,
            interrupt: listen_for(SignalKind::interrupt())?,
            hang_up: None,
        })
    }

    /// Listens for the end of the terminal too. Other commands keep its default, because `nohup`
    /// makes them outlast the terminal.
    pub(in crate::commands) fn listen_on_terminal() -> Result<Self, Fault> {
        Ok(Self { hang_up: Some(listen_for(SignalKind::hangup())?), ..Self::listen()? })
    }

    /// Waits for the next signal.
    pub(in crate::commands) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            Some(_) = OptionFuture::from(self.hang_up.as_mut().map(Signal::recv)) => {}
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

fn listen_for(kind: SignalKind) -> Result<Signal, Fault> {
    signal(kind).map_err(|error| Fault::refused(format!("cannot listen for signals: {error}")))
}
