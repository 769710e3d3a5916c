//! A server for manual use, until a signal.

use std::error::Error;
use std::io::{self, Write as _};

use tokio::signal::unix::{SignalKind, signal};

/// Starts a server, prints its address, and stops it at SIGTERM or SIGINT.
///
/// # Errors
/// Those of `start` and `stop`, and of the operating system.
pub async fn serve_until_signal<S, E: Error + 'static>(
    start: impl FnOnce() -> Result<S, E>,
    address: impl FnOnce(&S) -> String,
    stop: impl FnOnce(&mut S) -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    // Before the server starts: a signal during the start must stop it as well.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut server = start()?;
    writeln!(io::stdout(), "{}", address(&server))?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(stop(&mut server)?)
}
