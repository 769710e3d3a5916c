//! Opening of sessions, and closing of sessions that their client has abandoned.

use std::time::Duration;

use reg_center::{Error, NodePath};
use tokio::time::timeout;
use zookeeper_client as zk;

use super::link::Conn;
use super::prepare::PreparedClient;
use crate::ConnectError;
use crate::convert;
use crate::options::ZookeeperOptions;

pub(super) const CALL: &str = "connect";
/// Time limit for a dropped client to close its session.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// Returns the access control list of new nodes.
pub(crate) fn acls(options: &ZookeeperOptions) -> zk::Acls<'static> {
    if options.has_user() { zk::Acls::creator_all() } else { zk::Acls::anyone_all() }
}

/// Opens a session in the namespace, which is created if it is missing.
///
/// The `sync` ensures that the new client sees all earlier acknowledged writes: it may be connected
/// to another server than its predecessor.
pub(crate) async fn open(options: &ZookeeperOptions) -> Result<Conn, ConnectError> {
    let connected = PreparedClient::of(options).await?.connect().await;
    let (client, renewal) = connected.map_err(|error| {
        tracing::debug!(%error, "session cannot be opened");
        credentials_error(&error).unwrap_or(Error::Unavailable { call: CALL }.into())
    })?;
    let root = options.root()?;
    let client = enter_namespace(client, &root, acls(options)).await?;
    client.sync("/").await.map_err(|error| failure(&root, &error))?;
    Ok(Conn::new(client, renewal))
}

/// Returns the error for rejected credentials, if it is that.
fn credentials_error(error: &zk::Error) -> Option<ConnectError> {
    matches!(error, zk::Error::AuthFailed).then_some(ConnectError::Credentials)
}

fn failure(root: &NodePath, error: &zk::Error) -> ConnectError {
    credentials_error(error).unwrap_or_else(|| convert::read_error(CALL, root, error).into())
}

/// Moves the client into the namespace.
///
/// A client cannot create the root of its own namespace, so this happens before. An existing
/// namespace is not written, because the client may lack the right to write above it.
async fn enter_namespace(
    client: zk::Client,
    root: &NodePath,
    acls: zk::Acls<'_>,
) -> Result<zk::Client, ConnectError> {
    if root.is_root() {
        return Ok(client);
    }
    let failed = |error: zk::Error| failure(root, &error);
    if client.check_stat(root.as_str()).await.map_err(failed)?.is_none() {
        let persistent = zk::CreateMode::Persistent.with_acls(acls);
        client.mkdir(root.as_str(), &persistent).await.map_err(failed)?;
    }
    client.chroot(root.as_str()).map_err(|_| {
        let cause = format!("the client rejects {root} as a namespace");
        Error::Rejected { call: CALL, cause }.into()
    })
}

/// Result of an attempt to end a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The session is over, and its ephemeral nodes are gone.
    Over,
    /// The registry could not be reached; the session may live.
    Unreachable,
    /// The registry rejects the client; the session ends by its timeout.
    Rejected,
}

/// Ends a session that its client has abandoned.
///
/// A client may only have guessed that its session expired, because it got no answer for 7/5 of the
/// timeout. An ensemble without a quorum expires no session, however, and continues all of them
/// afterwards. Resuming the session shows its state, and closing it removes its ephemeral nodes at
/// once.
pub(crate) async fn end_session(options: &ZookeeperOptions, session: zk::SessionInfo) -> Ending {
    let prepared = match PreparedClient::of(options).await {
        Ok(prepared) => prepared.resuming(session),
        Err(error) => {
            tracing::warn!(%error, "old session cannot be resumed");
            return Ending::Unreachable;
        }
    };
    match timeout(options.wanted_connect_timeout(), prepared.connect()).await {
        Ok(Ok((client, _))) => drop_client(client).await,
        Ok(Err(zk::Error::SessionExpired)) => Ending::Over,
        Ok(Err(zk::Error::Timeout | zk::Error::NoHosts | zk::Error::ConnectionLoss)) | Err(_) => {
            Ending::Unreachable
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "old session cannot be resumed");
            Ending::Rejected
        }
    }
}

/// Drops a client, which closes its session, and waits until the server has confirmed that.
pub(crate) async fn drop_client(client: zk::Client) -> Ending {
    let mut states = client.state_watcher();
    drop(client);
    let terminated = async { while !states.changed().await.is_terminated() {} };
    match timeout(CLOSE_LIMIT, terminated).await {
        Ok(()) => Ending::Over,
        Err(_) => Ending::Unreachable,
    }
}
