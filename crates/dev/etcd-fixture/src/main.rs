//! Runs one server for manual use.
//!
//! Prints its address, and stops it at SIGTERM or SIGINT.

use std::io::{self, Write};

use etcd_fixture::Server;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before the server starts: a signal during the start must stop it as well.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut server = Server::start()?;
    writeln!(io::stdout(), "{}", server.address())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(server.stop()?)
}
