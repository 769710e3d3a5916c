//! The feed: a snapshot of a subtree, then its changes, in order and without gaps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::sync::Mutex;
use crate::{Node, NodePath, Revision};

/// One element of a [`Feed`].
///
/// A feed is `Init, Entry…, Ready` and then `Put` and `Gone`, until another `Init` begins a new
/// snapshot. At `Ready`, a node that was known before and had no `Entry` is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A snapshot begins: keep the known nodes until [`Change::Ready`], then replace them.
    Init,
    /// A node of the snapshot.
    Entry(Node),
    /// The snapshot is complete.
    Ready,
    /// The newest state of a node. Versions may have been skipped. If
    /// [`created`](crate::Stat::created) differs from the known one, the node was deleted and
    /// created in between.
    Put(Node),
    /// A node was deleted. The reader may not know it: a node that was created and deleted before
    /// its creation was delivered, or by one transaction, has only this change. It may be delivered
    /// twice.
    Gone {
        /// The deleted node.
        path: NodePath,
        /// The revision of the deletion, if the registry reports it.
        revision: Option<Revision>,
    },
}

impl Change {
    /// Returns the node of the change; `None` for the begin and the end of a snapshot.
    #[must_use]
    pub fn path(&self) -> Option<&NodePath> {
        match self {
            Self::Entry(node) | Self::Put(node) => Some(&node.path),
            Self::Gone { path, .. } => Some(path),
            Self::Init | Self::Ready => None,
        }
    }

    /// Returns the revision of the change: that of the node's last write, or of its deletion if the
    /// registry reports it.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        match self {
            Self::Entry(node) | Self::Put(node) => Some(node.stat.modified),
            Self::Gone { revision, .. } => *revision,
            Self::Init | Self::Ready => None,
        }
    }
}

/// Creates the two ends of a feed.
///
/// The buffer between them holds at most one undelivered change per node. A newer change replaces
/// the older one *and takes the newest place in the order*. A slow reader thus skips states but
/// never sees an effect before its cause. A new [`Change::Init`] replaces all undelivered changes.
#[must_use]
pub fn channel() -> (FeedSender, Feed) {
    let buffer = Arc::new(Mutex::new(Buffer::default()));
    (FeedSender { buffer: Arc::clone(&buffer) }, Feed { buffer })
}

#[derive(Debug, Default)]
struct Buffer {
    next_seq: u64,
    pending: BTreeMap<u64, Change>,
    seq_of: BTreeMap<NodePath, u64>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    sender_gone: bool,
    reader_gone: bool,
}

impl Buffer {
    fn push(&mut self, change: Change) {
        if change == Change::Init {
            self.clear();
        }
        let seq = self.next_seq;
        self.next_seq += 1;
        if let Some(path) = change.path() {
            self.supersede(path.clone(), seq);
        }
        self.pending.insert(seq, change);
    }

    /// Drops the undelivered change of the same node. Entries of a snapshot stay, because the
    /// snapshot must be complete.
    fn supersede(&mut self, path: NodePath, seq: u64) {
        if let Some(old) = self.seq_of.insert(path, seq)
            && !matches!(self.pending.get(&old), Some(Change::Entry(_)))
        {
            self.pending.remove(&old);
        }
    }

    /// Replaces the maps, because an emptied map keeps its allocation. Most feeds are idle most of
    /// the time and should use little memory meanwhile.
    fn clear(&mut self) {
        (self.pending, self.seq_of) = (BTreeMap::new(), BTreeMap::new());
    }

    fn pop(&mut self) -> Option<Change> {
        let (seq, change) = self.pending.pop_first()?;
        if let Some(path) = change.path()
            && self.seq_of.get(path) == Some(&seq)
        {
            self.seq_of.remove(&path.clone());
        }
        if self.pending.is_empty() {
            self.clear();
        }
        Some(change)
    }
}

/// Changes that are sent together, to one or several feeds. Their readers are woken when it is
/// dropped.
///
/// A reader that waits then finds all changes of a commit. If it were woken by the first one, it
/// would decide before it sees the others.
///
/// # Examples
/// ```
/// use reg_center::{Change, NodePath, feed};
///
/// let (sender, mut reader) = feed::channel();
/// let mut batch = feed::Batch::default();
/// for path in ["/job/a", "/job/b"] {
///     let gone = Change::Gone { path: NodePath::parse(path)?, revision: None };
///     assert!(sender.send_in(&mut batch, gone), "the reader was not dropped");
/// }
/// drop(batch);
/// assert_eq!(std::iter::from_fn(|| reader.try_next()).count(), 2);
/// # Ok::<(), reg_center::PathError>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    readers: Vec<Waker>,
}

impl Drop for Batch {
    fn drop(&mut self) {
        self.readers.drain(..).for_each(Waker::wake);
    }
}

/// The sending end of a feed, for backends.
#[derive(Debug)]
pub struct FeedSender {
    buffer: Arc<Mutex<Buffer>>,
}

impl FeedSender {
    /// Appends a change. Returns false if the reader was dropped.
    pub fn send(&self, change: Change) -> bool {
        self.send_in(&mut Batch::default(), change)
    }

    /// Appends a change of a batch. Returns false if the reader was dropped.
    pub fn send_in(&self, batch: &mut Batch, change: Change) -> bool {
        let mut buffer = self.buffer.lock();
        if buffer.reader_gone {
            return false;
        }
        buffer.push(change);
        batch.readers.extend(buffer.reader.take());
        true
    }

    /// Returns true if the reader was dropped.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.buffer.lock().reader_gone
    }

    /// Waits until the reader is dropped.
    ///
    /// # Cancel safety
    /// No state is lost if the future is dropped; the method can be called again.
    pub async fn closed(&self) {
        std::future::poll_fn(|cx| {
            let mut buffer = self.buffer.lock();
            if buffer.reader_gone {
                return Poll::Ready(());
            }
            buffer.writer = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Drop for FeedSender {
    fn drop(&mut self) {
        let waker = {
            let mut buffer = self.buffer.lock();
            buffer.sender_gone = true;
            buffer.reader.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The receiving end of a feed. Dropping it ends the subscription.
#[derive(Debug)]
pub struct Feed {
    buffer: Arc<Mutex<Buffer>>,
}

impl Feed {
    /// Waits for the next change; `None` after the center was closed.
    ///
    /// # Cancel safety
    /// No change is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Change> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Returns the next pending change, or `None` without waiting.
    pub fn try_next(&mut self) -> Option<Change> {
        self.buffer.lock().pop()
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Change>> {
        let mut buffer = self.buffer.lock();
        match buffer.pop() {
            Some(change) => Poll::Ready(Some(change)),
            None if buffer.sender_gone => Poll::Ready(None),
            None => {
                buffer.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let waker = {
            let mut buffer = self.buffer.lock();
            buffer.reader_gone = true;
            buffer.clear();
            buffer.writer.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Stat, Version};

    fn node(name: &str, version: u32) -> Node {
        let stat = Stat {
            version: Version(version),
            created: Revision(1),
            modified: Revision(u64::from(version) + 1),
            modified_at: None,
            owner: None,
        };
        Node { path: NodePath::root().join(name).unwrap(), data: Bytes::new(), stat }
    }

    fn gone(name: &str) -> Change {
        Change::Gone { path: NodePath::root().join(name).unwrap(), revision: None }
    }

    fn drain(feed: &mut Feed) -> Vec<Change> {
        std::iter::from_fn(|| feed.try_next()).collect()
    }

    #[test]
    fn a_slow_reader_gets_the_newest_state_of_each_node_in_causal_order() {
        let (sender, mut feed) = channel();
        for change in
            [Change::Put(node("a", 0)), Change::Put(node("b", 0)), Change::Put(node("a", 1))]
        {
            sender.send(change);
        }
        assert_eq!(drain(&mut feed), [Change::Put(node("b", 0)), Change::Put(node("a", 1))]);
    }

    #[test]
    fn a_deletion_replaces_the_undelivered_state() {
        let (sender, mut feed) = channel();
        sender.send(Change::Put(node("a", 0)));
        sender.send(gone("a"));
        assert_eq!(drain(&mut feed), [gone("a")]);
    }

    #[test]
    fn a_snapshot_keeps_its_entries_and_later_changes() {
        let (sender, mut feed) = channel();
        let all = [
            Change::Init,
            Change::Entry(node("a", 0)),
            Change::Ready,
            Change::Put(node("a", 1)),
            Change::Put(node("a", 2)),
        ];
        for change in all.clone() {
            sender.send(change);
        }
        let expected = [all[0].clone(), all[1].clone(), all[2].clone(), all[4].clone()];
        assert_eq!(drain(&mut feed), expected);
    }

    #[test]
    fn a_new_snapshot_replaces_everything_undelivered() {
        let (sender, mut feed) = channel();
        for change in [Change::Init, Change::Entry(node("a", 0)), Change::Put(node("b", 3))] {
            sender.send(change);
        }
        sender.send(Change::Init);
        sender.send(Change::Ready);
        assert_eq!(drain(&mut feed), [Change::Init, Change::Ready]);
    }

    #[test]
    fn a_waiting_reader_is_woken_once_for_a_batch() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        use std::task::Wake;

        #[derive(Default)]
        struct Wakes(AtomicUsize);

        impl Wake for Wakes {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }

        let (sender, mut feed) = channel();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        assert!(feed.poll_next(&mut Context::from_waker(&waker)).is_pending());
        let mut batch = Batch::default();
        assert!(sender.send_in(&mut batch, gone("a")) && sender.send_in(&mut batch, gone("b")));
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0, "the batch goes on");
        drop(batch);
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert_eq!(drain(&mut feed), [gone("a"), gone("b")]);
    }

    #[test]
    fn each_end_notices_that_the_other_was_dropped() {
        let (sender, feed) = channel();
        drop(feed);
        assert!(sender.is_closed());
        assert!(!sender.send(Change::Ready));
        let (sender, mut feed) = channel();
        sender.send(Change::Ready);
        drop(sender);
        let rest = futures_util::FutureExt::now_or_never(feed.next()).unwrap();
        assert_eq!(rest, Some(Change::Ready));
        assert_eq!(futures_util::FutureExt::now_or_never(feed.next()), Some(None));
    }
}
