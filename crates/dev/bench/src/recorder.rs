//! A registry centre that records every request: the moments of sending and answer, and the
//! transaction.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use parking_lot::Mutex;
use reg_center::{Delegate, Node, NodePath, RegistryCenter, Result, Txn, TxnOutcome};

/// One request to the registry.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) sent: Instant,
    pub(crate) answered: Instant,
    /// The transaction, unless it was a read.
    pub(crate) txn: Option<Txn>,
}

/// Forwards all calls to another centre and records the requests.
#[derive(Debug)]
pub(crate) struct Recorder {
    inner: Arc<dyn RegistryCenter>,
    requests: Mutex<Vec<Request>>,
}

impl Recorder {
    pub(crate) fn new(inner: Arc<dyn RegistryCenter>) -> Self {
        Self { inner, requests: Mutex::default() }
    }

    /// Returns the requests that were answered since the last call, in the order of their answers.
    pub(crate) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock())
    }

    /// Returns the inner centre, whose requests are not recorded.
    pub(crate) fn unrecorded(&self) -> &Arc<dyn RegistryCenter> {
        &self.inner
    }

    async fn note<T>(&self, txn: Option<Txn>, request: impl Future<Output = T>) -> T {
        let sent = Instant::now();
        let answer = request.await;
        self.requests.lock().push(Request { sent, answered: Instant::now(), txn });
        answer
    }
}

#[async_trait]
impl Delegate for Recorder {
    fn inner(&self) -> &dyn RegistryCenter {
        &*self.inner
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.note(None, self.inner.read(path)).await
    }

    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        self.note(None, self.inner.read_all(paths)).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        self.note(None, self.inner.children(path)).await
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        self.note(Some(txn.clone()), self.inner.commit(txn)).await
    }

    async fn sync(&self) -> Result<()> {
        self.note(None, self.inner.sync()).await
    }
}

/// Returns the length of the longest chain of `requests` in which each was sent after the answer to
/// the one before.
pub(crate) fn round_trips(requests: &[Request]) -> usize {
    let mut in_order: Vec<&Request> = requests.iter().collect();
    in_order.sort_unstable_by_key(|request| request.answered);
    let mut last: Option<Instant> = None;
    let mut chain = 0;
    for request in in_order {
        if last.is_none_or(|last| last <= request.sent) {
            chain += 1;
            last = Some(request.answered);
        }
    }
    chain
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn round_trips_are_the_longest_chain_of_requests() {
        let rows: [(&[(u64, u64)], usize); 5] = [
            (&[], 0),
            (&[(0, 4)], 1),
            (&[(0, 4), (1, 5), (2, 6)], 1),
            (&[(0, 4), (4, 8), (9, 10)], 3),
            (&[(0, 9), (1, 2), (3, 4)], 2),
        ];
        let begin = Instant::now();
        for (spans, expected) in rows {
            let at = |ms| begin + Duration::from_millis(ms);
            let request = |&(sent, answered): &(u64, u64)| Request {
                sent: at(sent),
                answered: at(answered),
                txn: None,
            };
            let requests: Vec<_> = spans.iter().map(request).collect();
            assert_eq!(round_trips(&requests), expected, "{spans:?}");
        }
    }
}
