//! Wrapping a registry: everything goes to another one, but for what the wrapper changes.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use crate::{
    ClockReading, Feed, Limits, Node, NodePath, RegistryCenter, Result, Scope, SessionChange,
    SessionFeed, SessionId, Txn, TxnOutcome,
};

/// A registry centre that changes some calls of another one: counts them, checks access, injects
/// faults.
///
/// Implement [`inner`](Self::inner) and the methods that change; every `Delegate` is a
/// [`RegistryCenter`]. The default of each method calls the same method of `inner`, so an override
/// changes one method only. A wrapper that checks reads overrides [`read`](Self::read) *and*
/// [`read_all`](Self::read_all). One that checks feeds overrides [`watch`](Self::watch) *and*
/// [`watch_parts`](Self::watch_parts).
///
/// # Examples
/// A centre that refuses to write outside of one namespace:
/// ```
/// use async_trait::async_trait;
/// use reg_center::{
///     Delegate, Error, Lifetime, MemoryCenter, MemoryRegistry, NodePath, RegistryCenter, Result,
///     Txn, TxnOutcome,
/// };
///
/// #[derive(Debug)]
/// struct WithinNamespace {
///     center: MemoryCenter,
///     namespace: NodePath,
/// }
///
/// #[async_trait]
/// impl Delegate for WithinNamespace {
///     fn inner(&self) -> &dyn RegistryCenter {
///         &self.center
///     }
///
///     async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
///         let outside = |path: &&NodePath| !path.is_within(&self.namespace);
///         if let Some(path) = txn.ops().iter().map(|op| op.path()).find(outside) {
///             return Err(Error::NotAuthorized { path: path.clone() });
///         }
///         self.center.commit(txn).await
///     }
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// let center = MemoryRegistry::new().connect();
/// let wrapped = WithinNamespace { center, namespace: NodePath::parse("/mine")? };
/// let create = |path| {
///     let txn = Txn::new().create(NodePath::parse(path)?, "", Lifetime::Persistent);
///     Ok::<_, Box<dyn std::error::Error>>(txn)
/// };
/// // The scheduler takes it like any other registry.
/// let registry: &dyn RegistryCenter = &wrapped;
/// assert!(registry.commit(create("/mine/job")?).await?.is_committed());
/// assert!(registry.read(&NodePath::parse("/mine/job")?).await?.is_some());
/// let refused = registry.commit(create("/other/job")?).await;
/// assert!(matches!(refused, Err(Error::NotAuthorized { .. })));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).expect("the memory registry never waits").unwrap();
/// ```
#[async_trait]
pub trait Delegate: Debug + Send + Sync + 'static {
    /// Returns the centre that calls go to.
    fn inner(&self) -> &dyn RegistryCenter;

    /// Does as [`RegistryCenter::limits`].
    fn limits(&self) -> Limits {
        self.inner().limits()
    }

    /// Does as [`RegistryCenter::session`].
    fn session(&self) -> Option<SessionChange> {
        self.inner().session()
    }

    /// Does as [`RegistryCenter::session_feed`].
    fn session_feed(&self) -> SessionFeed {
        self.inner().session_feed()
    }

    /// Does as [`RegistryCenter::lease_remaining`].
    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        self.inner().lease_remaining(session)
    }

    /// Does as [`RegistryCenter::read`].
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.inner().read(path).await
    }

    /// Does as [`RegistryCenter::read_all`], without [`read`](Self::read).
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        self.inner().read_all(paths).await
    }

    /// Does as [`RegistryCenter::children`].
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        self.inner().children(path).await
    }

    /// Does as [`RegistryCenter::commit`].
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        self.inner().commit(txn).await
    }

    /// Does as [`RegistryCenter::watch`].
    fn watch(&self, root: &NodePath) -> Feed {
        self.inner().watch(root)
    }

    /// Does as [`RegistryCenter::watch_parts`], without [`watch`](Self::watch).
    fn watch_parts(&self, scope: &Scope) -> Feed {
        self.inner().watch_parts(scope)
    }

    /// Does as [`RegistryCenter::sync`].
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn sync(&self) -> Result<()> {
        self.inner().sync().await
    }

    /// Does as [`RegistryCenter::registry_time`].
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>> {
        self.inner().registry_time(probe).await
    }

    /// Does as [`RegistryCenter::clock_reading`].
    fn clock_reading(&self) -> Option<ClockReading> {
        self.inner().clock_reading()
    }

    /// Does as [`RegistryCenter::close`].
    ///
    /// # Errors
    /// [`Error`](crate::Error).
    async fn close(&self) -> Result<()> {
        self.inner().close().await
    }
}

// A method with a default that is not named here would pass by the delegate.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<D: Delegate> RegistryCenter for D {
    fn limits(&self) -> Limits {
        Delegate::limits(self)
    }

    fn session(&self) -> Option<SessionChange> {
        Delegate::session(self)
    }

    fn session_feed(&self) -> SessionFeed {
        Delegate::session_feed(self)
    }

    fn lease_remaining(&self, session: SessionId) -> Option<Duration> {
        Delegate::lease_remaining(self, session)
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        Delegate::read(self, path).await
    }

    async fn read_all(&self, paths: &[NodePath]) -> Result<Vec<Option<Node>>> {
        Delegate::read_all(self, paths).await
    }

    async fn children(&self, path: &NodePath) -> Result<Option<Vec<String>>> {
        Delegate::children(self, path).await
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        Delegate::commit(self, txn).await
    }

    fn watch(&self, root: &NodePath) -> Feed {
        Delegate::watch(self, root)
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        Delegate::watch_parts(self, scope)
    }

    async fn sync(&self) -> Result<()> {
        Delegate::sync(self).await
    }

    async fn registry_time(&self, probe: &NodePath) -> Result<Option<SystemTime>> {
        Delegate::registry_time(self, probe).await
    }

    fn clock_reading(&self) -> Option<ClockReading> {
        Delegate::clock_reading(self)
    }

    async fn close(&self) -> Result<()> {
        Delegate::close(self).await
    }
}
