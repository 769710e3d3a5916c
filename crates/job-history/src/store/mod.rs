//! The store: a connection pool for one of three kinds of databases, behind a small set of calls.
//!
//! Statements have `?` for their values, and every value is bound. The statements of this crate
//! need only integers, texts and one boolean, so the abstraction is limited to these.

mod fault;
#[cfg(feature = "sqlite")]
mod file;
mod java;
mod migrate;
mod pool;
mod prune;
mod read;
#[cfg(feature = "verify")]
mod verify;
mod write;

use std::time::Duration;

pub(crate) use fault::{Fault, FaultClass};
pub use java::JavaFailures;
pub(crate) use prune::Table;
pub(crate) use read::Order;
#[cfg(feature = "verify")]
pub(crate) use read::time;
pub(crate) use write::{Batch, DropRow};

use crate::store_url::{Kind, StoreUrl};
use crate::{Error, HistoryOptions, Result};
use pool::Pool;

/// A value of a column or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bool(bool),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

/// Type that a column is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Int,
    Text,
}

/// A store. Its connections are opened on demand.
pub(crate) struct Store {
    pool: Pool,
    pub(crate) url: StoreUrl,
    secrets: Vec<String>,
    host_name: String,
}

impl Store {
    /// Creates a store from checked options, without connecting.
    pub(crate) fn new(options: &HistoryOptions) -> Result<Self> {
        let url = options.url.clone();
        let secrets = url.secrets();
        let pool = Pool::new(options).map_err(|fault| Error::InvalidOption {
            option: "url",
            value: mask(&secrets, &fault.to_string()),
            expected: "a URL whose parameters have the values that docs/history.md lists",
        })?;
        Ok(Self { pool, secrets, url, host_name: options.host_name.clone() })
    }

    pub(crate) fn kind(&self) -> Kind {
        self.url.kind()
    }

    /// Converts a fault to the public error.
    pub(crate) fn error(&self, fault: &Fault) -> Error {
        let (store, reason) = (self.url.to_string(), self.reason(fault));
        match fault.class {
            FaultClass::Unreachable | FaultClass::Conflict => Error::Unreachable { store, reason },
            FaultClass::Denied | FaultClass::Rejected => Error::Unusable { store, reason },
            FaultClass::Newer { found, known } => Error::Newer { store, found, known },
        }
    }

    /// Returns the text of a fault with secrets masked.
    pub(crate) fn reason(&self, fault: &Fault) -> String {
        mask(&self.secrets, &fault.text)
    }

    /// Creates or migrates the tables. Several processes may do so at the same time.
    pub(crate) async fn migrate(&self) -> Result<(), Fault> {
        #[cfg(feature = "sqlite")]
        if let StoreUrl::File(path) = &self.url {
            file::create(path)?;
            return migrate::run(self).await.map_err(|fault| file::explain(path, fault));
        }
        migrate::run(self).await
    }

    /// Closes all connections. It waits for connections in use no longer than the deadline.
    pub(crate) async fn close(&self, deadline: Duration) {
        // Connections that are still in use are closed when their users return them.
        let _ = tokio::time::timeout(deadline, self.pool.close()).await;
    }
}

/// Masks secrets in a text. A database may repeat parts of a statement or URL in its messages.
fn mask(secrets: &[String], text: &str) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_masked_plain_and_encoded() {
        let secrets = ["p@ss".to_owned(), "p%40ss".to_owned()];
        assert_eq!(mask(&secrets, "p@ss, p%40ss and pass"), "***, *** and pass");
    }
}
