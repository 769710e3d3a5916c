#![doc = include_str!("../README.md")]

mod address;
mod error;

use std::sync::Arc;

use reg_center::{Delegate, MemoryRegistry, RegistryCenter};

pub use address::{Address, AddressError};
pub use error::OpenError;

/// An open registry and its address.
#[derive(Debug)]
pub struct Registry {
    address: Address,
    center: Arc<dyn RegistryCenter>,
}

impl Registry {
    /// Parses an address and opens its registry.
    ///
    /// # Errors
    /// [`OpenError`] names the invalid part of the address, or why the registry cannot be opened.
    ///
    /// # Cancel safety
    /// If the future is dropped, a session that was already opened ends.
    pub async fn open(address: &str) -> Result<Arc<Self>, OpenError> {
        Self::open_at(Address::parse(address)?).await
    }

    /// Opens the registry at an address.
    ///
    /// # Errors
    /// [`OpenError`] with the reason why the registry cannot be opened.
    ///
    /// # Cancel safety
    /// If the future is dropped, a session that was already opened ends.
    pub async fn open_at(address: Address) -> Result<Arc<Self>, OpenError> {
        let center: Arc<dyn RegistryCenter> = match &address {
            Address::Memory => Arc::new(MemoryRegistry::new().connect()),
            #[cfg(feature = "sqlite")]
            Address::Sqlite(options) => {
                reg_center_sqlite::SqliteCenter::connect(options.clone()).await?
            }
            #[cfg(feature = "postgres")]
            Address::Postgres { options, .. } => {
                reg_center_postgres::PostgresCenter::connect(options.clone()).await?
            }
            #[cfg(feature = "zookeeper")]
            Address::Zookeeper { options, .. } => {
                reg_center_zookeeper::ZookeeperCenter::connect(options.clone()).await?
            }
            #[cfg(feature = "etcd")]
            Address::Etcd { options, .. } => {
                reg_center_etcd::EtcdCenter::connect(options.clone()).await?
            }
        };
        Ok(Arc::new(Self { address, center }))
    }

    /// Returns the address, which prints without secrets.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }
}

impl Delegate for Registry {
    fn inner(&self) -> &dyn RegistryCenter {
        &*self.center
    }
}

/// The README of the project, so that its program is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct FrontPage;
