//! Runs one server for manual use.
//!
//! Prints its address, and stops it at SIGTERM, SIGINT, or Ctrl-D on a terminal.

use std::io::{self, IsTerminal, Read, Write};

use tokio::signal::unix::{SignalKind, signal};
use zookeeper_fixture::Server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Before the server starts: a signal during the start must stop it as well.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut server = Server::start()?;
    writeln!(io::stdout(), "{}", server.connect_string())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = end_of_terminal() => {}
    }
    Ok(server.stop()?)
}

/// Waits for Ctrl-D.
///
/// Without a terminal it never returns, because in the background of a script the standard input
/// ends at once.
async fn end_of_terminal() {
    let (sender, at_end) = tokio::sync::oneshot::channel();
    if !io::stdin().is_terminal() {
        return std::future::pending().await;
    }
    // A thread of its own: a blocking task would keep the runtime from ending.
    std::thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = sender.send(());
    });
    let _ = at_end.await;
}
