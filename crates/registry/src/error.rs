//! Errors of opening a registry.

use crate::AddressError;

/// Reason why a registry cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The file cannot be used.
    #[cfg(feature = "sqlite")]
    #[error(transparent)]
    Sqlite(#[from] reg_center_sqlite::OpenError),
    /// The database cannot be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] reg_center_postgres::OpenError),
    /// ZooKeeper cannot be used.
    #[cfg(feature = "zookeeper")]
    #[error(transparent)]
    Zookeeper(#[from] reg_center_zookeeper::ConnectError),
    /// etcd cannot be used.
    #[cfg(feature = "etcd")]
    #[error(transparent)]
    Etcd(#[from] reg_center_etcd::ConnectError),
}
