//! Accepts connections while the mode allows it.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{Mode, Shared, connection};
use crate::Error;
use crate::loopback::stop_listening;

/// Pause after a failed accept.
const FAILURE_PAUSE: Duration = Duration::from_millis(100);

/// Listens on the proxy's address.
pub(super) async fn bind(shared: &Shared) -> Result<TcpListener, Error> {
    let address = shared.address.client_address();
    let bound = TcpListener::bind(address).await;
    let outcome = bound.as_ref().map(|_| true).map_err(|error| error.kind());
    shared.counters.send_modify(|counters| counters.set_listening(outcome));
    bound.map_err(|source| Error::Listen { address, source })
}

/// Accepts connections until it is aborted. Its connections end with it.
pub(super) async fn run(shared: Arc<Shared>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    let mut orders = shared.orders.subscribe();
    let mut listener = Some(listener);
    loop {
        match &listener {
            Some(open) => tokio::select! {
                _ = orders.wait_for(|orders| !orders.mode.listens()) => {
                    stop_listening(open);
                    listener = None;
                    shared.counters.send_modify(|counters| counters.set_listening(Ok(false)));
                }
                client = accept(open) => {
                    let mut number = 0;
                    shared.counters.send_modify(|counters| number = counters.accept());
                    connections.spawn(connection::run(shared.clone(), client, number));
                },
                Some(_) = connections.join_next() => {}
            },
            None => {
                // Fails only if the proxy was dropped, which also aborts this task.
                let _ = orders.wait_for(|orders| orders.mode != Mode::Refuse).await;
                // The counters record a failure, and the call that switched the mode returns it.
                listener = bind(&shared).await.ok();
                if listener.is_none() {
                    return;
                }
            }
        }
    }
}

/// Accepts the next client.
///
/// Without free file descriptors every attempt fails at once, so that it pauses after a failure.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((client, _)) => return client,
            Err(_) => tokio::time::sleep(FAILURE_PAUSE).await,
        }
    }
}
