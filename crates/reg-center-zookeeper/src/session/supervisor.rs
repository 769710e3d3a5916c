//! The task that keeps a centre in a session: it watches the client, and replaces it when its session is over.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reg_center::{Error, Result, SessionChange};
use tokio::sync::watch;
use tokio::time::sleep;
use zookeeper_client as zk;

use super::connect::{Ending, end_session, let_go, open};
use super::link::{Conn, Shared};
use crate::ConnectError;

/// Requests to the leader of the ensemble in one session timeout, for the lease.
const BEATS_IN_A_TIMEOUT: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long closing tries another connection if its own does not confirm.
const LAST_ATTEMPT_LIMIT: Duration = Duration::from_secs(2);

/// The two ends of closing a centre.
#[derive(Debug)]
pub(crate) struct Closing {
    wanted: watch::Sender<bool>,
    done: watch::Receiver<Option<Result<()>>>,
}

impl Closing {
    /// Asks for the end without waiting for it.
    pub(crate) fn ask(&self) {
        self.wanted.send_replace(true);
    }

    /// Asks for the end and waits for it.
    pub(crate) async fn finish(&self) -> Result<()> {
        self.ask();
        let mut done = self.done.clone();
        let gone = Error::Unavailable { act: "close" };
        match done.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or(Err(gone)),
            // The runtime is shutting down and has dropped the supervisor.
            Err(_) => Err(gone),
        }
    }
}

/// Starts the task.
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
            return say_goodbye(shared, conn.client).await;
        }
        match renew(shared, conn.client.into_session(), &mut close).await {
            Ok(next) => conn = next,
            Err(old) => {
                shared.closing();
                return told(old);
            }
        }
        shared.connected(&conn);
    }
}

/// Tells what becomes of the session. Returns true when it is over, false when the centre shall be closed.
async fn serve(shared: &Shared, conn: &Conn, close: &mut watch::Receiver<bool>) -> bool {
    let mut states = conn.client.state_watcher();
    let mut beating = pin!(beat(shared, conn));
    // That it is connected was told before; what happened since then was not.
    let mut news = Some(states.state()).filter(|state| *state != zk::SessionState::SyncConnected);
    loop {
        match news {
            None => {}
            // The watcher keeps the newest state only: connected twice in a row was gone in between.
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
        news = tokio::select! {
            biased;
            () = asked(close) => return false,
            state = states.changed() => Some(state),
            never = &mut beating => match never {},
        };
    }
}

async fn asked(close: &mut watch::Receiver<bool>) {
    // A centre whose sender is gone has asked as well.
    let _ = close.wait_for(|wanted| *wanted).await;
}

/// Keeps the lease: asks the leader for an answer several times in each timeout. While there is no connection, looks as often
/// whether the certificates for the next one have been renewed.
///
/// A `sync` rather than a read: a follower that has lost its leader still answers reads, and the leader, which alone
/// ends sessions, has not heard of them.
async fn beat(shared: &Shared, conn: &Conn) -> Infallible {
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

/// Makes sure that the old session is over and opens a new one, however long it takes; if the centre shall be closed
/// before, what became of the old one.
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
            () = asked(close) => break,
            found = replace(shared, &mut unsettled) => found,
        };
        if let Some(conn) = found {
            return Ok(conn);
        }
        tokio::select! {
            () = asked(close) => break,
            () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
    Err(if unsettled.is_some() { Ending::Unreachable } else { Ending::Over })
}

async fn replace(shared: &Shared, unsettled: &mut Option<zk::SessionInfo>) -> Option<Conn> {
    if let Some(old) = unsettled {
        match end_session(&shared.options, old.clone()).await {
            Ending::Over | Ending::Refused => *unsettled = None,
            Ending::Unreachable => return None,
        }
    }
    let sent = Instant::now();
    let limit = shared.options.wanted_connect_timeout();
    let opened = tokio::time::timeout(limit, open(&shared.options)).await.ok()?;
    let conn = opened.inspect_err(tell).ok()?;
    shared.begun(&conn, sent);
    Some(conn)
}

/// What only somebody else can mend is told, each time: nothing works until then.
fn tell(error: &ConnectError) {
    match error {
        ConnectError::Registry(_) => {}
        ConnectError::Options(_)
        | ConnectError::Credentials
        | ConnectError::Tls { .. }
        | ConnectError::UnknownHosts { .. } => {
            tracing::warn!(%error, "no session");
        }
    }
}

/// Ends the session of a client that works, or has done so until now.
async fn say_goodbye(shared: &Shared, client: zk::Client) -> Result<()> {
    shared.closing();
    let session = client.session().clone();
    // Writes that wait for an answer keep clones of the client, and with them the session.
    let ending = match let_go(client).await {
        Ending::Over => Ending::Over,
        Ending::Unreachable | Ending::Refused => {
            let ended = end_session(&shared.options, session);
            tokio::time::timeout(LAST_ATTEMPT_LIMIT, ended).await.unwrap_or(Ending::Unreachable)
        }
    };
    told(ending)
}

/// Returns what to tell the one who closes.
fn told(ending: Ending) -> Result<()> {
    match ending {
        Ending::Over => Ok(()),
        Ending::Unreachable | Ending::Refused => Err(Error::Unavailable { act: "close" }),
    }
}
