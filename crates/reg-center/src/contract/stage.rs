//! Tools of the cases: clients whose every wait has a deadline and names the awaited condition.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{Either, select};

use super::failure::{answered, fail};
use super::{Client, Faults, Harness};
use crate::{
    Committed, Feed, Node, NodePath, RegistryCenter, Result, SessionChange, SessionFeed, SessionId,
    Txn, TxnOutcome,
};

/// The environment of one case.
pub(super) struct Stage<'h> {
    harness: &'h dyn Harness,
}

impl std::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl<'h> Stage<'h> {
    pub(super) fn new(harness: &'h dyn Harness) -> Self {
        Self { harness }
    }

    pub(super) async fn actor(&self) -> Actor<'_> {
        let Client { center, faults } =
            self.within("a client connects", self.harness.connect()).await;
        Actor { stage: self, center, faults }
    }

    /// Awaits a future that must complete in time, and ends the case if it does not.
    pub(super) async fn within<T>(&self, what: &str, future: impl Future<Output = T>) -> T {
        let late = |Late(patience)| {
            let check = format_args!("a wait of at most {patience:?}");
            fail(check, what, "it did not happen in time")
        };
        self.in_time(future).await.unwrap_or_else(late)
    }

    /// Awaits a future that should complete in time.
    pub(super) async fn in_time<T>(&self, future: impl Future<Output = T>) -> Result<T, Late> {
        let patience = self.harness.patience();
        match select(pin!(future), self.harness.sleep(patience)).await {
            Either::Left((value, _)) => Ok(value),
            Either::Right(_) => Err(Late(patience)),
        }
    }

    pub(super) async fn sleep(&self, duration: Duration) {
        self.harness.sleep(duration).await;
    }

    pub(super) fn now(&self) -> Duration {
        self.harness.now()
    }
}

/// A wait that has reached its deadline, with its length.
#[derive(Debug)]
pub(super) struct Late(pub(super) Duration);

/// Yields once, so that the other futures of the same task run.
pub(super) async fn yield_once() {
    let mut polled = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            Poll::Ready(())
        } else {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Parses a path that the suite itself has written.
pub(super) fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("a path of the suite")
}

/// Returns a child that the registry has listed.
fn child(parent: &NodePath, name: &str) -> NodePath {
    let invalid = |error| fail(format_args!("list {parent}"), "names of children", error);
    parent.join(name).unwrap_or_else(invalid)
}

/// One client of a case.
pub(super) struct Actor<'s> {
    pub(super) stage: &'s Stage<'s>,
    pub(super) center: Arc<dyn RegistryCenter>,
    pub(super) faults: Arc<dyn Faults>,
}

impl Actor<'_> {
    pub(super) async fn try_commit(&self, txn: Txn) -> Result<TxnOutcome> {
        self.stage.within("a transaction is answered", self.center.commit(txn)).await
    }

    /// Commits and returns the outcome. Panics if the registry answers with an error.
    pub(super) async fn outcome(&self, txn: Txn) -> TxnOutcome {
        let shown = format!("{txn:?}");
        answered(shown, self.try_commit(txn).await)
    }

    /// Commits a transaction that must not conflict.
    pub(super) async fn commit(&self, txn: Txn) -> Committed {
        let shown = format!("{txn:?}");
        match self.outcome(txn).await {
            TxnOutcome::Committed(committed) => committed,
            TxnOutcome::Conflict(conflict) => {
                fail(shown, "a commit", format_args!("a conflict: {conflict}"))
            }
        }
    }

    pub(super) async fn try_read(&self, at: &str) -> Result<Option<Node>> {
        self.stage.within("a read is answered", self.center.read(&path(at))).await
    }

    pub(super) async fn read(&self, at: &str) -> Option<Node> {
        let answer = self.try_read(at).await;
        answered(format_args!("read {at}"), answer)
    }

    /// Reads a node that must exist.
    pub(super) async fn node(&self, at: &str) -> Node {
        self.read(at).await.unwrap_or_else(|| fail(format_args!("read {at}"), "a node", "None"))
    }

    pub(super) async fn children(&self, at: &NodePath) -> Option<Vec<String>> {
        let listed = self.stage.within("a listing is answered", self.center.children(at)).await;
        answered(format_args!("list {at}"), listed)
    }

    pub(super) async fn sync(&self) {
        let synced = self.stage.within("a sync is answered", self.center.sync()).await;
        answered("sync", synced);
    }

    /// Reads `root` and all nodes below it, after all acknowledged writes.
    pub(super) async fn tree(&self, root: &str) -> Vec<Node> {
        self.sync().await;
        let mut nodes = Vec::new();
        let mut open = vec![path(root)];
        while let Some(next) = open.pop() {
            let Some(node) = self.read(next.as_str()).await else { continue };
            nodes.push(node);
            let names = self.children(&next).await.unwrap_or_default();
            open.extend(names.iter().map(|name| child(&next, name)));
        }
        nodes.sort_by(|a, b| a.path.cmp(&b.path));
        nodes
    }

    /// Reads until the node exists, which another client writes.
    pub(super) async fn await_node(&self, at: &str) -> Node {
        let look = async {
            loop {
                self.sync().await;
                if let Some(node) = self.read(at).await {
                    return node;
                }
                yield_once().await;
            }
        };
        self.stage.within(&format!("{at} appears"), look).await
    }

    pub(super) fn feed(&self, root: &str) -> Feed {
        self.center.watch(&path(root))
    }

    /// Returns the current session, which must be connected.
    pub(super) fn session(&self) -> SessionId {
        match self.center.session() {
            Some(SessionChange::Connected { session, .. }) => session,
            other @ (Some(
                SessionChange::Suspended { .. }
                | SessionChange::Lost { .. }
                | SessionChange::Closed,
            )
            | None) => fail("the session", "Connected", format_args!("{other:?}")),
        }
    }

    /// Waits for the next session change that `wanted` accepts, and skips all others.
    pub(super) async fn await_change(
        &self,
        changes: &mut SessionFeed,
        what: &str,
        wanted: impl Fn(&SessionChange) -> bool,
    ) -> SessionChange {
        let wait = async {
            loop {
                let change = changes.next().await;
                let change = change.unwrap_or_else(|| fail("the session feed", what, "its end"));
                if wanted(&change) {
                    return change;
                }
            }
        };
        self.stage.within(what, wait).await
    }

    pub(super) async fn await_suspended(&self, changes: &mut SessionFeed) {
        self.await_change(changes, "the center is suspended", |change| {
            matches!(change, SessionChange::Suspended { .. })
        })
        .await;
    }

    /// Waits until the center is connected and returns the session.
    pub(super) async fn await_connected(&self, changes: &mut SessionFeed) -> SessionId {
        let connected = self
            .await_change(changes, "the center is connected", |change| {
                matches!(change, SessionChange::Connected { .. })
            })
            .await;
        match connected {
            SessionChange::Connected { session, .. } => session,
            SessionChange::Suspended { .. }
            | SessionChange::Lost { .. }
            | SessionChange::Closed => {
                unreachable!("waited for Connected")
            }
        }
    }

    /// Cuts the connection and waits until the center notices.
    pub(super) async fn cut_off(&self, changes: &mut SessionFeed) {
        self.faults.cut().await;
        self.await_suspended(changes).await;
    }

    /// Restores the connection and waits until the center notices.
    pub(super) async fn bring_back(&self, changes: &mut SessionFeed) -> SessionId {
        self.faults.heal().await;
        self.await_connected(changes).await
    }

    /// Breaks the connection once and waits until it is restored.
    pub(super) async fn flap(&self, changes: &mut SessionFeed) -> SessionId {
        self.faults.reset().await;
        self.await_suspended(changes).await;
        self.await_connected(changes).await
    }

    /// Closes the center, which the registry answers.
    pub(super) async fn close(&self) {
        let closed = self.stage.within("close returns", self.center.close()).await;
        answered("close", closed);
    }

    /// Expires the session and waits for the next one.
    pub(super) async fn renew(&self, changes: &mut SessionFeed) -> SessionId {
        self.faults.expire().await;
        self.await_change(changes, "the session is lost", |change| {
            matches!(change, SessionChange::Lost { .. })
        })
        .await;
        self.await_connected(changes).await
    }
}
