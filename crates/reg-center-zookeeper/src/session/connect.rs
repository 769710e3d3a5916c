//! Opening sessions, and ending those that a client has given up.

use std::time::Duration;

use reg_center::{Error, NodePath};
use tokio::time::timeout;
use zookeeper_client as zk;

use super::equip::Equipped;
use super::link::Conn;
use crate::ConnectError;
use crate::convert;
use crate::options::ZookeeperOptions;

pub(super) const ACT: &str = "connect";
/// How long a client that was let go may take to say goodbye.
const GOODBYE_LIMIT: Duration = Duration::from_secs(2);

/// Returns for whom nodes are created.
pub(crate) fn acls(options: &ZookeeperOptions) -> zk::Acls<'static> {
    match options.has_user() {
        true => zk::Acls::creator_all(),
        false => zk::Acls::anyone_all(),
    }
}

/// Opens a session in the namespace, which is created if it is missing.
///
/// The reads of the new client see everything that any client was answered before: it may be connected to another
/// server than the one before it.
pub(crate) async fn open(options: &ZookeeperOptions) -> Result<Conn, ConnectError> {
    let connected = Equipped::of(options).await?.connect().await;
    let (client, renewal) = connected.map_err(|error| {
        tracing::debug!(%error, "no session");
        refusal(&error).unwrap_or(Error::Unavailable { act: ACT }.into())
    })?;
    let root = options.root()?;
    let client = enter(client, &root, acls(options)).await?;
    client.sync("/").await.map_err(|error| failure(&root, &error))?;
    Ok(Conn::new(client, renewal))
}

/// Returns the registry's word that it does not believe who we are, if it is that.
fn refusal(error: &zk::Error) -> Option<ConnectError> {
    matches!(error, zk::Error::AuthFailed).then_some(ConnectError::Credentials)
}

fn failure(root: &NodePath, error: &zk::Error) -> ConnectError {
    refusal(error).unwrap_or_else(|| convert::read_error(ACT, root, error).into())
}

/// Moves the client into the namespace. A client cannot create the root of its own namespace, and who may not write
/// above an existing one may still use it.
async fn enter(
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
        let cause = format!("the client does not take {root} as a namespace");
        Error::Refused { act: ACT, cause }.into()
    })
}

/// What became of a session that was to be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is over, and its ephemeral nodes are gone.
    Over,
    /// The registry could not be reached; it may live.
    Unreachable,
    /// The registry does not let us; it ends by its timeout.
    Refused,
}

/// Ends a session whose client has given it up.
///
/// A client that says "expired" may only have guessed so: it hears nothing for 7/5 of the timeout and concludes. An
/// ensemble without a quorum ends no sessions, though, and goes on with them afterwards. Resuming the session finds
/// out, and closing it removes its ephemeral nodes at once.
pub(crate) async fn end_session(options: &ZookeeperOptions, session: zk::SessionInfo) -> Ending {
    let equipped = match Equipped::of(options).await {
        Ok(equipped) => equipped.resuming(session),
        Err(error) => {
            tracing::warn!(%error, "old session cannot be resumed");
            return Ending::Unreachable;
        }
    };
    match timeout(options.wanted_connect_timeout(), equipped.connect()).await {
        Ok(Ok((client, _))) => let_go(client).await,
        Ok(Err(zk::Error::SessionExpired)) => Ending::Over,
        Ok(Err(zk::Error::Timeout | zk::Error::NoHosts | zk::Error::ConnectionLoss)) | Err(_) => {
            Ending::Unreachable
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "old session cannot be resumed");
            Ending::Refused
        }
    }
}

/// Drops a client, which closes its session, and waits until the server has confirmed it.
pub(crate) async fn let_go(client: zk::Client) -> Ending {
    let mut states = client.state_watcher();
    drop(client);
    let terminated = async { while !states.changed().await.is_terminated() {} };
    match timeout(GOODBYE_LIMIT, terminated).await {
        Ok(()) => Ending::Over,
        Err(_) => Ending::Unreachable,
    }
}
