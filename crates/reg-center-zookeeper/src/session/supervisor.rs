//! The task that keeps a session open: it watches the client, and replaces it when its session is
//! over.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Error, Result, SessionChange};
use tokio::sync::watch;
use tokio::time::sleep;
use zookeeper_client as zk;

use super::connect::{Ending, drop_client, end_session, open};
use super::link::{Conn, Shared};
use crate::ConnectError;

/// Requests to the leader of the ensemble in one session timeout, which extend the lease.
const BEATS_IN_A_TIMEOUT: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Time limit of the attempt to close the session by another connection, if its own connection does
/// not confirm the close.
const LAST_ATTEMPT_LIMIT: Duration = Duration::from_secs(2);

/// The handle for closing a center.
#[derive(Debug)]
pub(crate) struct Closing {
    wanted: watch::Sender<bool>,
    done: watch::Receiver<Option<Result<()>>>,
}

impl Closing {
    /// Requests the close without waiting for it.
    pub(crate) fn request(&self) {
        self.wanted.send_replace(true);
    }

    /// Requests the close and waits for it.
    pub(crate) async fn finish(&self) -> Result<()> {
        self.request();
        let mut done = self.done.clone();
        let gone = Error::Unavailable { call: "close" };
        match done.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or(Err(gone)),
            // The runtime is shutting down and has dropped the supervisor.
            Err(_) => Err(gone),
        }
    }
}

/// Starts the supervisor.
pub(crate) fn start(shared: Arc<Shared>, conn: Conn) -> Closing {
    let (wanted, close) = watch::channel(false);
    let (report, done) = watch::channel(None);
    shared.connected(&conn);
    let runtime = shared.runtime.clone();
    runtime.spawn(async move {
        let result = supervise(&shared, conn, close).await;
        shared.hub.publish(SessionChange::Closed);
        report.send_replace(Some(result));
    });
    Closing { wanted, done }
}

async fn supervise(
    shared: &Shared,
    mut conn: Conn,
    mut close: watch::Receiver<bool>,
) -> Result<()> {
    loop {
        if !serve(shared, &conn, &mut close).await {
            return close_session(shared, conn.client).await;
        }
        match renew(shared, conn.client.into_session(), &mut close).await {
            Ok(next) => conn = next,
            Err(old) => {
                shared.closing();
                return close_result(old);
            }
        }
        shared.connected(&conn);
    }
}

/// Reports the changes of the session. Returns true when the session is over, false when the center
/// is to be closed.
async fn serve(shared: &Shared, conn: &Conn, close: &mut watch::Receiver<bool>) -> bool {
    let mut states = conn.client.state_watcher();
    let mut heartbeat = pin!(send_heartbeats(shared, conn));
    // `SyncConnected` was already reported; any other state is a change since then.
    let mut change = Some(states.state()).filter(|state| *state != zk::SessionState::SyncConnected);
    loop {
        match change {
            None => {}
            // The watcher keeps only the newest state: two `SyncConnected` in a row hide a
            // disconnect in between.
            Some(zk::SessionState::SyncConnected) => shared.connected(conn),
            Some(zk::SessionState::Disconnected | zk::SessionState::ConnectedReadOnly) => {
                shared.suspended(conn);
            }
            Some(
                zk::SessionState::Expired | zk::SessionState::AuthFailed | zk::SessionState::Closed,
            ) => {
                shared.lost(conn.session);
                return true;
            }
        }
        change = tokio::select! {
            biased;
            () = close_requested(close) => return false,
            state = states.changed() => Some(state),
            never = &mut heartbeat => match never {},
        };
    }
}

async fn close_requested(close: &mut watch::Receiver<bool>) {
    // A center whose sender was dropped has requested the close as well.
    let _ = close.wait_for(|wanted| *wanted).await;
}

/// Keeps the lease: sends a request to the leader several times in each timeout. Without a
/// connection, it renews the certificates at the same interval.
///
/// The request is a `sync`, because a follower that has lost its leader still answers reads. The
/// leader, which alone expires sessions, gets no notice of those reads.
async fn send_heartbeats(shared: &Shared, conn: &Conn) -> Infallible {
    let pause = conn.client.session_timeout() / BEATS_IN_A_TIMEOUT;
    loop {
        if conn.client.state() == zk::SessionState::SyncConnected {
            let sent = Instant::now();
            if conn.client.sync("/").await.is_ok() {
                shared.acknowledged(conn, sent);
            }
        } else {
            conn.renewal.renew(&shared.options);
        }
        sleep(pause).await;
    }
}

/// Ends the old session and opens a new one, with unlimited retries.
///
/// If the center is to be closed before that, returns the ending of the old session.
async fn renew(
    shared: &Shared,
    old: zk::SessionInfo,
    close: &mut watch::Receiver<bool>,
) -> Result<Conn, Ending> {
    let mut unsettled = Some(old);
    let mut pause = FIRST_PAUSE;
    loop {
        let found = tokio::select! {
            biased;
            () = close_requested(close) => break,
            found = replace(shared, &mut unsettled) => found,
        };
        if let Some(conn) = found {
            return Ok(conn);
        }
        tokio::select! {
            () = close_requested(close) => break,
            () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
    Err(if unsettled.is_some() { Ending::Unreachable } else { Ending::Over })
}

async fn replace(shared: &Shared, unsettled: &mut Option<zk::SessionInfo>) -> Option<Conn> {
    if let Some(old) = unsettled {
        match end_session(&shared.options, old.clone()).await {
            Ending::Over | Ending::Rejected => *unsettled = None,
            Ending::Unreachable => return None,
        }
    }
    let sent = Instant::now();
    let limit = shared.options.wanted_connect_timeout();
    let opened = tokio::time::timeout(limit, open(&shared.options)).await.ok()?;
    let conn = opened.inspect_err(log_persistent_failure).ok()?;
    shared.session_opened(&conn, sent);
    Some(conn)
}

/// Logs failures that only an operator can fix, each time, because the center has no session until
/// then.
fn log_persistent_failure(error: &ConnectError) {
    match error {
        ConnectError::Registry(_) => {}
        ConnectError::Options(_)
        | ConnectError::Credentials
        | ConnectError::Tls { .. }
        | ConnectError::UnknownHosts { .. } => {
            tracing::warn!(%error, "session cannot be opened");
        }
    }
}

/// Ends the session of a client that is connected, or was until now.
async fn close_session(shared: &Shared, client: zk::Client) -> Result<()> {
    shared.closing();
    let session = client.session().clone();
    // Pending writes hold clones of the client, which keep the session open.
    let ending = match drop_client(client).await {
        Ending::Over => Ending::Over,
        Ending::Unreachable | Ending::Rejected => {
            let ended = end_session(&shared.options, session);
            tokio::time::timeout(LAST_ATTEMPT_LIMIT, ended).await.unwrap_or(Ending::Unreachable)
        }
    };
    close_result(ending)
}

/// Returns the result of `close`.
fn close_result(ending: Ending) -> Result<()> {
    match ending {
        Ending::Over => Ok(()),
        Ending::Unreachable | Ending::Rejected => Err(Error::Unavailable { call: "close" }),
    }
}
