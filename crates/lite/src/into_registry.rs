//! Conversion of the argument of `Scheduler::builder` to a registry connection.

use std::sync::Arc;

use reg_center::{MemoryCenter, MemoryRegistry, RegistryCenter};

/// A connection to a registry, or a registry that makes one: the argument of
/// [`Scheduler::builder`](crate::Scheduler::builder).
///
/// | argument | the scheduler gets |
/// |---|---|
/// | [`MemoryRegistry`], or a reference to one | a session of its own in this registry |
/// | an `Arc` of a [`RegistryCenter`], as of `ZookeeperCenter::connect` | this connection, shared |
///
/// # Examples
/// ```
/// use lite::{MemoryRegistry, Scheduler};
///
/// let registry = MemoryRegistry::new();
/// let one = Scheduler::builder(&registry).build()?;
/// let two = Scheduler::builder(&registry).build()?;
/// # Ok::<(), lite::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a scheduler cannot be built on `{Self}`",
    label = "not a registry",
    note = "valid is a `lite::MemoryRegistry`, or an `Arc` of a connection such as `ZookeeperCenter::connect(..).await?`; \
            wrap a `RegistryCenter` of your own in `std::sync::Arc::new`"
)]
pub trait IntoRegistry {
    /// Returns the connection.
    fn into_registry(self) -> Arc<dyn RegistryCenter>;
}

impl IntoRegistry for Arc<dyn RegistryCenter> {
    fn into_registry(self) -> Arc<dyn RegistryCenter> {
        self
    }
}

impl<R: RegistryCenter + 'static> IntoRegistry for Arc<R> {
    fn into_registry(self) -> Arc<dyn RegistryCenter> {
        self
    }
}

impl IntoRegistry for MemoryCenter {
    fn into_registry(self) -> Arc<dyn RegistryCenter> {
        Arc::new(self)
    }
}

impl IntoRegistry for &MemoryRegistry {
    fn into_registry(self) -> Arc<dyn RegistryCenter> {
        Arc::new(self.connect())
    }
}

impl IntoRegistry for MemoryRegistry {
    fn into_registry(self) -> Arc<dyn RegistryCenter> {
        (&self).into_registry()
    }
}
