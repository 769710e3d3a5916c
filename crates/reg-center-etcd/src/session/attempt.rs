//! One attempt to connect to one server, in the session that the center holds or in a new one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_channel::mpsc;
use reg_center::NodePath;

use super::link::{Link, LinkParts};
use super::open::{self, Held};
use super::pulse::KeepAlive;
use super::watches::Watches;
use super::{Shared, pulse, read_key};
use crate::client::messages::RangeResponse;
use crate::client::{Client, DialError, Failure, Refusal, Target};
use crate::keys::{KeyRange, Keys};
use crate::{ConnectError, EtcdOptions, OptionsError};

/// The limit of a server with default settings.
const USUAL_TXN_OPS: usize = 128;
/// Operations of a request that its transaction may not use: they are left for missing parents and
/// for the check of the session.
pub(crate) const SPARE_OPS: usize = 28;
/// Enough for transactions of 5 000 operations, as on ZooKeeper.
const ENOUGH_TXN_OPS: usize = 5_000 + SPARE_OPS;
const NEEDED_TXN_OPS: usize = 64;
/// The first version without known losses of watch events.
const SAFE_VERSION: [u32; 3] = [3, 5, 18];

/// Reason why an attempt has failed.
#[derive(Debug)]
pub(super) enum AttemptError {
    Options(OptionsError),
    /// No retry helps until an operator changes something.
    Refused(ConnectError),
    /// The registry is not the continuation of the one that the center has seen.
    Replaced(String),
    Failed(String),
}

impl AttemptError {
    /// Returns the error of `connect`, if this is the last attempt.
    pub(super) fn into_connect_error(self) -> ConnectError {
        match self {
            Self::Options(error) => error.into(),
            Self::Refused(error) => error,
            Self::Replaced(cause) => ConnectError::Replaced { cause },
            Self::Failed(cause) => ConnectError::Unreachable { cause },
        }
    }

    pub(super) fn is_final(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

/// The result of a successful attempt.
pub(super) enum Attempted {
    /// A connection in the session.
    Connected(Arc<Link>, Held),
    /// The session that the center held is over.
    SessionLost,
}

/// Values of a center that all attempts use.
pub(super) struct Context<'a> {
    pub(super) options: &'a EtcdOptions,
    pub(super) keys: &'a Keys,
    pub(super) shared: &'a Arc<Shared>,
    /// The limit that the first connection has found. It stays: callers plan with the limits of
    /// their center.
    pub(super) txn_ops: Option<usize>,
}

impl Context<'_> {
    /// Connects to a server, resumes the session or opens one, and starts the tasks of the
    /// connection. Ends within the timeout of a session.
    pub(super) async fn attempt(
        &self,
        target: &Target,
        held: Option<Held>,
    ) -> Result<Attempted, AttemptError> {
        let limit = self.patience(held) / 2;
        let late = |_| AttemptError::Failed(format!("not connected within {limit:?}"));
        tokio::time::timeout(limit, self.connect(target, held)).await.map_err(late)?
    }

    async fn connect(
        &self,
        target: &Target,
        held: Option<Held>,
    ) -> Result<Attempted, AttemptError> {
        let patience = self.patience(held);
        let credentials = self.options.credentials().map_err(AttemptError::Options)?;
        let channel = target.dial(patience / 4).await.map_err(|error| match error {
            DialError::Network(cause) => AttemptError::Failed(cause),
            DialError::Tls(cause) => {
                let cause = format!("{}: {cause}", target.address());
                AttemptError::Refused(ConnectError::Tls { cause })
            }
        })?;
        let client = Client::start(channel, patience, credentials).await.map_err(failed)?;
        warn_of_version(&client, target).await;
        let stored = self.first_read(&client, held).await?;
        let held = match held {
            None => open::open(&client, self.keys, self.options.ttl()).await.map_err(failed)?,
            Some(held) => {
                let resumed = open::resume(&client, self.keys, held, stored.kvs.first()).await;
                let Some(held) = resumed.map_err(failed)? else {
                    return Ok(Attempted::SessionLost);
                };
                held
            }
        };
        let txn_ops = self.txn_ops(&client).await?;
        let link = self.start(client, held, txn_ops).await.map_err(failed)?;
        Ok(Attempted::Connected(link, held))
    }

    /// Reads the key of the session, or that of the root, and checks that the registry is the one
    /// of the earlier connections.
    async fn first_read(
        &self,
        client: &Client,
        held: Option<Held>,
    ) -> Result<RangeResponse, AttemptError> {
        let key = match held {
            Some(held) => self.keys.session(held.id),
            None => self.keys.node(&NodePath::root()),
        };
        let read = client.range(read_key(key)).await.map_err(failed)?;
        self.shared.newest.check(read.header.as_ref()).map_err(AttemptError::Replaced)?;
        Ok(read)
    }

    async fn txn_ops(&self, client: &Client) -> Result<usize, AttemptError> {
        if let Some(known) = self.txn_ops {
            return Ok(known);
        }
        let key = self.keys.node(&NodePath::root());
        let found = open::max_txn_ops(client, &key, USUAL_TXN_OPS, ENOUGH_TXN_OPS).await;
        let limit = found.map_err(failed)?;
        if limit < NEEDED_TXN_OPS {
            let error = ConnectError::MaxTxnOps { limit, needed: NEEDED_TXN_OPS };
            return Err(AttemptError::Refused(error));
        }
        Ok(limit)
    }

    /// Opens the streams of the connection and starts its tasks.
    async fn start(
        &self,
        client: Client,
        held: Held,
        txn_ops: usize,
    ) -> Result<Arc<Link>, Failure> {
        let keep_alive = KeepAlive::begin(&client, held.id).await?;
        let (requests, receiver) = mpsc::unbounded();
        let watches = Watches::new(requests);
        let (route, session_key) = tokio::sync::mpsc::unbounded_channel();
        let range = KeyRange { begin: self.keys.session(held.id), end: Bytes::new() };
        watches.open(range, held.guard + 1, route);
        let answers = client.watch(receiver).await?;
        let parts = LinkParts {
            keys: self.keys.clone(),
            session: held.id,
            guard: held.guard,
            watches,
            txn_ops,
            patience: held.timeout,
            newest: Arc::clone(&self.shared.newest),
        };
        let link = Arc::new(Link::new(client, parts));
        let shared = Arc::clone(self.shared);
        tokio::spawn(pulse::keep_alive(Arc::clone(&link), shared, held.timeout, keep_alive));
        tokio::spawn(pulse::watch(Arc::clone(&link), held.timeout, answers, session_key));
        Ok(link)
    }

    fn patience(&self, held: Option<Held>) -> Duration {
        let wanted = Duration::from_secs(u64::try_from(self.options.ttl()).unwrap_or(2));
        held.map_or(wanted, |held| held.timeout)
    }
}

fn failed(failure: Failure) -> AttemptError {
    match failure {
        Failure::Refused(Refusal::Credentials | Refusal::Token, cause) => {
            AttemptError::Refused(ConnectError::Credentials { cause })
        }
        Failure::Refused(Refusal::Permission, _) => {
            let path = NodePath::root();
            AttemptError::Refused(ConnectError::Registry(reg_center::Error::NotAuthorized { path }))
        }
        Failure::Refused(_, cause) | Failure::NotSent(cause) | Failure::Unknown(cause) => {
            AttemptError::Failed(cause)
        }
    }
}

/// Logs a warning if the server has a version that is known to lose watch events.
async fn warn_of_version(client: &Client, target: &Target) {
    // The answer is only used for the warning; a user may lack the permission.
    let Ok(status) = client.status().await else { return };
    if is_older(&status.version) {
        tracing::warn!(
            server = target.address(),
            version = status.version,
            "this version of etcd can lose changes of a feed; 3.5.18 and later have the fixes"
        );
    }
}

fn is_older(version: &str) -> bool {
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    !numbers.is_empty() && numbers.as_slice() < SAFE_VERSION.as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_with_known_losses_are_warned_of() {
        for (version, older) in
            [("3.4.23", true), ("3.5.17", true), ("3.5.18", false), ("3.6.0", false), ("", false)]
        {
            assert_eq!(is_older(version), older, "{version}");
        }
    }
}
