//! The state of watchers in the registry, beside the jobs: who sends, which violations were
//! reported, and which are silenced.
//!
//! Only the sender writes alerts and outboxes. Each of its transactions checks the version of the
//! term, which each election changes, so that a deposed sender cannot write.

mod documents;
mod silences;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use coordination::{JobName, Layout};
use parking_lot::Mutex;
use reg_center::{Lifetime, Node, NodePath, RegistryCenter, SessionId, Txn, TxnOutcome, Version};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

pub use documents::Silence;
pub(crate) use documents::{
    Alert, JobDoc, MAX_DOCUMENT_BYTES, MessageDoc, OutboxDoc, Phase, Reported, Resolved, SenderDoc,
    SilencesDoc, TermDoc, decode, encode,
};
pub(crate) use silences::{SilenceView, watched_root};
pub use silences::{SilencedJob, Silences};

/// Deadline of one request.
const DEADLINE: Duration = Duration::from_secs(10);

/// Reason why the state of watchers cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The registry reported an error.
    #[error("{act}: {source}")]
    Registry {
        /// The request.
        act: &'static str,
        /// The error.
        source: reg_center::Error,
    },
    /// The registry did not answer in time.
    #[error("{act} took longer than {DEADLINE:?}")]
    Deadline {
        /// The request.
        act: &'static str,
    },
    /// Another watcher has become the sender, or another client has changed a document.
    #[error("{act}: another client has changed the state ({reason})")]
    Conflict {
        /// The request.
        act: &'static str,
        /// The failed precondition.
        reason: String,
    },
    /// A later version of this program wrote a document.
    #[error(
        "{path} has the format version {found}, and this program knows up to {known}; use the later program"
    )]
    Newer {
        /// Node of the document.
        path: String,
        /// Version of the document.
        found: u32,
        /// Latest version that this program reads.
        known: u32,
    },
    /// A document cannot be read.
    #[error("{path} cannot be read: {reason}; remove the node to begin anew")]
    Damaged {
        /// Node of the document.
        path: String,
        /// The fault.
        reason: String,
    },
    /// A document would be larger than its limit.
    #[error("{path} would have {bytes} bytes; valid are up to {MAX_DOCUMENT_BYTES}")]
    TooLarge {
        /// Node of the document.
        path: String,
        /// Size of the document.
        bytes: usize,
    },
}

impl StoreError {
    /// Returns true if repeating the request can succeed.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            // A registry rejects requests while it is overloaded or full, too.
            Self::Registry { source, .. } => {
                use reg_center::Error::{Closed, NotAuthorized, Path, TooLarge};
                let is_permanent =
                    matches!(source, NotAuthorized { .. } | Closed | Path(_) | TooLarge { .. });
                !is_permanent
            }
            Self::Deadline { .. } | Self::Conflict { .. } => true,
            Self::Newer { .. } | Self::Damaged { .. } | Self::TooLarge { .. } => false,
        }
    }
}

/// The right to send messages, as long as no other watcher is elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) session: SessionId,
    version: Version,
    pub(crate) number: u64,
}

/// A document with the version of its node; `None` for a node that does not exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored<T> {
    pub(crate) value: T,
    pub(crate) version: Option<Version>,
}

/// All documents that the sender writes.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    pub(crate) jobs: BTreeMap<JobName, Stored<JobDoc>>,
    pub(crate) outboxes: BTreeMap<String, Stored<OutboxDoc>>,
}

/// A write of one document: its new text, or `None` to delete it.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) path: NodePath,
    pub(crate) version: Option<Version>,
    pub(crate) data: Option<String>,
}

impl Write {
    /// Returns the size that counts against the limit of a transaction, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.path.as_str().len() + self.data.as_ref().map_or(0, String::len)
    }
}

/// Access to the state of watchers in one registry.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    registry: Arc<dyn RegistryCenter>,
    latency: Arc<Mutex<Option<Duration>>>,
}

impl Store {
    pub(crate) fn new(registry: Arc<dyn RegistryCenter>) -> Self {
        Self { registry, latency: Arc::default() }
    }

    /// Returns the duration of the last request that the registry answered.
    pub(crate) fn latency(&self) -> Option<Duration> {
        *self.latency.lock()
    }

    pub(crate) fn sender_path() -> NodePath {
        below("sender")
    }

    pub(crate) fn job_path(job: &JobName) -> NodePath {
        below("jobs").join(job.as_str()).expect("a job name is a valid node name")
    }

    pub(crate) fn outbox_path(channel: &str) -> NodePath {
        below("outbox").join(channel).expect("the name of a channel is a valid node name")
    }

    /// Makes this watcher the sender, unless another one is. Begins a new term.
    pub(crate) async fn elect(
        &self,
        session: SessionId,
        watcher: &str,
    ) -> Result<Option<Term>, StoreError> {
        let (sender_path, term_path) = (Self::sender_path(), below("term"));
        let sender = self.read(&sender_path).await?;
        let txn = Txn::new().in_session(session).labelled("elect sender");
        let txn = match sender {
            Some(node) if node.stat.owner != Some(session) => return Ok(None),
            Some(node) => txn.check_version(sender_path, node.stat.version),
            None => {
                let doc = SenderDoc { watcher: watcher.to_owned() };
                txn.create(sender_path, encode(&doc), Lifetime::Ephemeral)
            }
        };
        let (txn, term) = match self.read(&term_path).await? {
            None => {
                let txn = txn.create(term_path, encode(&TermDoc { term: 1 }), Lifetime::Persistent);
                (txn, Term { session, version: Version(0), number: 1 })
            }
            Some(node) => {
                let TermDoc { term } = decode(&term_path, &node.data)?;
                let (number, version) = (term + 1, node.stat.version);
                let txn = txn.put_if(term_path, version, encode(&TermDoc { term: number }));
                (txn, Term { session, version: version.next(), number })
            }
        };
        match self.committed("electing the sender", txn).await {
            Ok(()) => Ok(Some(term)),
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads all documents of the sender. After the begin of a term no other watcher changes them.
    pub(crate) async fn load(&self) -> Result<Documents, StoreError> {
        const ACT: &str = "reading the state of watchers";
        self.within(ACT, self.registry.sync()).await?;
        let mut documents = Documents::default();
        for (name, stored) in self.children::<JobDoc>("jobs").await? {
            if let Ok(job) = JobName::new(&name) {
                documents.jobs.insert(job, stored);
            }
        }
        documents.outboxes = self.children("outbox").await?.into_iter().collect();
        Ok(documents)
    }

    async fn children<T: DeserializeOwned>(
        &self,
        folder: &str,
    ) -> Result<Vec<(String, Stored<T>)>, StoreError> {
        const ACT: &str = "reading the state of watchers";
        let folder = below(folder);
        let names = self.within(ACT, self.registry.children(&folder)).await?.unwrap_or_default();
        let paths: Vec<_> = names.iter().filter_map(|name| folder.join(name).ok()).collect();
        let nodes = self.within(ACT, self.registry.read_all(&paths)).await?;
        let found = paths.into_iter().zip(nodes).filter_map(|(path, node)| Some((path, node?)));
        let read = found.map(|(path, node)| {
            let value = decode(&path, &node.data)?;
            let version = Some(node.stat.version);
            Ok((path.name().to_owned(), Stored { value, version }))
        });
        read.collect()
    }

    /// Writes documents in one transaction, if the term is still the last one.
    pub(crate) async fn commit(
        &self,
        act: &'static str,
        term: Term,
        writes: Vec<Write>,
    ) -> Result<(), StoreError> {
        let txn = Txn::new().in_session(term.session).labelled(act);
        let txn = txn.check_version(below("term"), term.version);
        let mut all = txn;
        for Write { path, version, data } in writes {
            let bytes = data.as_ref().map_or(0, String::len);
            if bytes > MAX_DOCUMENT_BYTES {
                return Err(StoreError::TooLarge { path: path.to_string(), bytes });
            }
            all = match (version, data) {
                (Some(version), Some(data)) => all.put_if(path, version, data),
                (None, Some(data)) => all.create(path, data, Lifetime::Persistent),
                (Some(version), None) => all.delete_if(path, version),
                (None, None) => all,
            };
        }
        self.committed(act, all).await
    }

    /// Returns the numbers of documents and bytes that fit in one transaction, with a reserve.
    pub(crate) fn room(&self) -> (usize, usize) {
        let limits = self.registry.limits();
        (limits.max_ops.saturating_sub(4), limits.max_bytes / 2)
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>, StoreError> {
        self.within("reading the state of watchers", self.registry.read(path)).await
    }

    /// A commit that takes too long can still happen. The election of the next term, which follows
    /// each error, makes it conflict.
    async fn committed(&self, act: &'static str, txn: Txn) -> Result<(), StoreError> {
        match self.within(act, self.registry.commit(txn)).await? {
            TxnOutcome::Committed(_) => Ok(()),
            TxnOutcome::Conflict(conflict) => {
                Err(StoreError::Conflict { act, reason: conflict.to_string() })
            }
        }
    }

    async fn within<T>(
        &self,
        act: &'static str,
        request: impl Future<Output = reg_center::Result<T>>,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let answer = tokio::time::timeout(DEADLINE, request).await;
        if matches!(answer, Ok(Ok(_))) {
            *self.latency.lock() = Some(began.elapsed());
        }
        let answer = answer.map_err(|_| StoreError::Deadline { act })?;
        answer.map_err(|source| StoreError::Registry { act, source })
    }
}

/// Returns the job of a node with the state of a job.
pub(crate) fn watched_job(path: &NodePath) -> Option<JobName> {
    JobName::new(path.below(&below("jobs"))?).ok()
}

/// Returns a node of the state of watchers.
fn below(name: &str) -> NodePath {
    Layout::watch_state().join(name).expect("the name is fixed, and is a valid node name")
}

#[cfg(test)]
mod tests {
    use reg_center::{MemoryRegistry, SessionChange};

    use super::*;

    fn store(registry: &MemoryRegistry) -> (Store, SessionId, Arc<reg_center::MemoryCenter>) {
        let center = Arc::new(registry.connect());
        let Some(SessionChange::Connected { session, .. }) = center.session() else {
            panic!("the registry in memory is connected at once");
        };
        (Store::new(Arc::clone(&center) as Arc<dyn RegistryCenter>), session, center)
    }

    fn write(n: u64, version: Option<Version>) -> Vec<Write> {
        let doc = OutboxDoc { n, ..OutboxDoc::default() };
        vec![Write { path: Store::outbox_path("ops"), version, data: Some(encode(&doc)) }]
    }

    #[tokio::test]
    async fn deposed_sender_cannot_write() {
        let registry = MemoryRegistry::new();
        let (first, session, center) = store(&registry);
        let (second, other, _) = store(&registry);
        let term = first.elect(session, "first").await.unwrap().expect("no other watcher");
        assert_eq!(second.elect(other, "second").await.unwrap(), None, "the first one lives");
        first.commit("test", term, write(1, None)).await.unwrap();
        // The node of the sender is lost, and its session is not: the term alone protects.
        let delete = Txn::new().delete(Store::sender_path());
        assert!(center.commit(delete).await.unwrap().is_committed());
        let later = second.elect(other, "second").await.unwrap().expect("no other watcher");
        assert_eq!(later.number, term.number + 1);
        let error = first.commit("test", term, write(2, Some(Version(0)))).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { .. }), "{error}");
        second.commit("test", later, write(3, Some(Version(0)))).await.unwrap();
        let stored = first.load().await.unwrap().outboxes;
        assert_eq!(stored["ops"].value.n, 3);
    }

    #[tokio::test]
    async fn sender_begins_a_new_term_in_its_own_session() {
        let registry = MemoryRegistry::new();
        let (store, session, center) = store(&registry);
        let first = store.elect(session, "first").await.unwrap().unwrap();
        let second = store.elect(session, "first").await.unwrap().unwrap();
        assert_eq!(second.number, first.number + 1);
        assert!(store.commit("test", first, write(1, None)).await.is_err());
        store.commit("test", second, write(1, None)).await.unwrap();
        center.expire();
        assert!(store.commit("test", second, write(2, Some(Version(0)))).await.is_err());
    }

    #[tokio::test]
    async fn oversized_document_is_not_stored() {
        let registry = MemoryRegistry::new();
        let (store, session, _center) = store(&registry);
        let term = store.elect(session, "first").await.unwrap().unwrap();
        let data = Some("x".repeat(MAX_DOCUMENT_BYTES + 1));
        let write = Write { path: Store::outbox_path("ops"), version: None, data };
        let error = store.commit("test", term, vec![write]).await.unwrap_err();
        assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
        assert!(!error.is_transient());
    }
}
