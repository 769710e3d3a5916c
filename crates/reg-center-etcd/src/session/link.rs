//! One connection in one session, and the state of its end.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reg_center::SessionId;
use tokio_util::sync::CancellationToken;

use super::watches::Watches;
use crate::client::messages::{Header, RangeRequest, RangeResponse, TxnRequest, TxnResponse};
use crate::client::{Client, Failure};
use crate::keys::Keys;

/// The newest revision that a center has seen, and the cluster that it belongs to.
#[derive(Debug, Default)]
pub(crate) struct Newest(Mutex<Option<(u64, i64)>>);

impl Newest {
    fn saw(&self, header: Option<&Header>) {
        let Some(header) = header else { return };
        let mut newest = self.0.lock();
        let revision = newest.map_or(0, |(_, revision)| revision).max(header.revision);
        *newest = Some((header.cluster_id, revision));
    }

    /// Checks the answer to a linearizable read, the first one on a connection.
    ///
    /// # Errors
    /// The reason, if the registry is another one or has lost writes: its data was restored from a
    /// backup, or removed. Watches and comparisons would be wrong.
    pub(crate) fn check(&self, header: Option<&Header>) -> Result<(), String> {
        let Some(Header { cluster_id, revision }) = header.copied() else {
            return Err("the server's answer has no header".to_owned());
        };
        if let Some((cluster, newest)) = *self.0.lock()
            && (cluster != cluster_id || revision < newest)
        {
            return Err(format!(
                "cluster {cluster_id:x} at revision {revision} is not the continuation of cluster \
                 {cluster:x}, which had revision {newest}: data was lost or replaced; restart \
                 this process to accept that"
            ));
        }
        self.saw(header);
        Ok(())
    }
}

/// A connection that serves calls in one session.
///
/// It ends with the first request whose outcome is unknown, and with the first sign that the server
/// cannot be used. Then no further request is sent on it, and all pending ones end as unknown. The
/// next connection of the session changes the guard before it is used. Whatever is still on its way
/// fails its compare from then on.
#[derive(Debug)]
pub(crate) struct Link {
    client: Client,
    pub(crate) keys: Keys,
    pub(crate) session: SessionId,
    /// Revision of the last write of the session's key. Each transaction demands it.
    pub(crate) guard: i64,
    pub(crate) watches: Watches,
    /// Maximum number of operations in one request.
    pub(crate) txn_ops: usize,
    /// Time limit of a call.
    pub(crate) patience: Duration,
    newest: Arc<Newest>,
    end: CancellationToken,
    cause: Mutex<Option<String>>,
}

/// The parts of a link that its session determines.
#[derive(Debug)]
pub(crate) struct LinkParts {
    pub(crate) keys: Keys,
    pub(crate) session: SessionId,
    pub(crate) guard: i64,
    pub(crate) watches: Watches,
    pub(crate) txn_ops: usize,
    pub(crate) patience: Duration,
    pub(crate) newest: Arc<Newest>,
}

impl Link {
    pub(crate) fn new(client: Client, parts: LinkParts) -> Self {
        let LinkParts { keys, session, guard, watches, txn_ops, patience, newest } = parts;
        Self {
            client,
            keys,
            session,
            guard,
            watches,
            txn_ops,
            patience,
            newest,
            end: CancellationToken::new(),
            cause: Mutex::default(),
        }
    }

    pub(crate) async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Failure> {
        let answer = self.while_open(self.client.range(request)).await?;
        self.newest.saw(answer.header.as_ref());
        Ok(answer)
    }

    pub(crate) async fn txn(&self, request: TxnRequest) -> Result<TxnResponse, Failure> {
        let answer = self.while_open(self.client.txn(request)).await?;
        self.newest.saw(answer.header.as_ref());
        Ok(answer)
    }

    /// Ends the session, and deletes its nodes.
    ///
    /// The watch of the session's key may end the link before the answer comes, which does not
    /// matter here.
    pub(crate) async fn end_session(&self) -> Result<(), Failure> {
        self.client.lease_revoke(self.session.0).await
    }

    /// Replaces the token by an invalid one, as if it were over.
    #[cfg(test)]
    pub(crate) fn spoil_token(&self) {
        self.client.spoil_token();
    }

    async fn while_open<T>(
        &self,
        exchange: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        if self.end.is_cancelled() {
            return Err(Failure::NotSent(self.cause()));
        }
        let answer = tokio::select! {
            // First, so that no answer is reported after another request's outcome is unknown.
            biased;
            () = self.end.cancelled() => Err(Failure::Unknown(self.cause())),
            answer = exchange => answer,
        };
        if let Err(failure @ (Failure::NotSent(_) | Failure::Unknown(_))) = &answer {
            self.fail(failure.cause());
        }
        answer
    }

    /// Ends the connection. The first cause is kept.
    pub(crate) fn fail(&self, cause: &str) {
        self.cause.lock().get_or_insert_with(|| cause.to_owned());
        self.end.cancel();
    }

    /// Waits for the end of the connection.
    pub(crate) async fn ended(&self) {
        self.end.cancelled().await;
    }

    /// Returns the cause of the end.
    pub(crate) fn cause(&self) -> String {
        self.cause.lock().clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_went_back_or_was_replaced_is_refused() {
        let newest = Newest::default();
        let header = |cluster_id, revision| Some(Header { cluster_id, revision });
        assert!(newest.check(None).is_err());
        assert_eq!(newest.check(header(7, 100).as_ref()), Ok(()));
        newest.saw(header(7, 105).as_ref());
        newest.saw(header(7, 101).as_ref());
        assert_eq!(newest.check(header(7, 105).as_ref()), Ok(()));
        for (case, other) in [("restored", header(7, 104)), ("another one", header(8, 900))] {
            let error = newest.check(other.as_ref()).unwrap_err();
            assert!(error.contains("cluster 7, which had revision 105"), "{case}: {error}");
        }
    }
}
