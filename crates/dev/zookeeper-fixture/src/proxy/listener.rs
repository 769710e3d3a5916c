//! Accepts connections while the mode allows it.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{Mode, Shared, connection};
use crate::Error;
use crate::loopback::stop_listening;

const FAILURE_PAUSE: Duration = Duration::from_millis(100);

/// Listens on the proxy's address.
pub(super) async fn bind(shared: &Shared) -> Result<TcpListener, Error> {
    let address = shared.address.client_address();
    let bound = TcpListener::bind(address).await;
    let outcome = bound.as_ref().map(|_| true).map_err(|error| error.kind());
    shared.counters.send_modify(|counters| counters.set_listening(outcome));
    bound.map_err(|source| Error::Listen { address, source })
}

/// Serves until it is aborted. The connections are its children and end with it.
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
                // Fails only when the proxy is gone, and then this task is about to be aborted.
                let _ = orders.wait_for(|orders| orders.mode != Mode::Refuse).await;
                // A failure is in the counters, and reported by whoever switched the mode.
                listener = bind(&shared).await.ok();
                if listener.is_none() {
                    return;
                }
            }
        }
    }
}

/// Accepts the next client. Without free descriptors every attempt fails at once, hence the pause.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((client, _)) => return client,
            Err(_) => tokio::time::sleep(FAILURE_PAUSE).await,
        }
    }
}
