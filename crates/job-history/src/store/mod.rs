//! The store: a pool of connections of one of three kinds behind one small set of calls.
//!
//! Statements are written with `?` for their values, and every value is bound. What a statement of ours needs are whole
//! numbers, texts and one truth value, in the same three kinds of databases for ever: an abstraction of that size.

mod fault;
#[cfg(feature = "sqlite")]
mod file;
mod migrate;
mod pool;
mod prune;
mod read;
mod write;

use std::time::Duration;

pub(crate) use fault::{Fault, FaultClass};
pub(crate) use prune::Table;
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

/// What a column is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Int,
    Text,
}

/// A store, reached or not.
pub(crate) struct Store {
    pool: Pool,
    pub(crate) url: StoreUrl,
    secrets: Vec<String>,
    host_name: String,
}

impl Store {
    /// Makes a store of checked options. Nothing is connected yet.
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

    /// Returns the error of a call of ours, as the caller is told it.
    pub(crate) fn error(&self, fault: &Fault) -> Error {
        let (store, reason) = (self.url.to_string(), self.reason(fault));
        match fault.class {
            FaultClass::Away | FaultClass::Conflict => Error::Away { store, reason },
            FaultClass::Denied | FaultClass::Refused => Error::Unusable { store, reason },
            FaultClass::Newer { found, known } => Error::Newer { store, found, known },
        }
    }

    /// Returns what a fault says, without anything secret.
    pub(crate) fn reason(&self, fault: &Fault) -> String {
        mask(&self.secrets, &fault.text)
    }

    /// Makes the tables, or brings them up to date. Harmless at any time and in several processes at once.
    pub(crate) async fn migrate(&self) -> Result<(), Fault> {
        #[cfg(feature = "sqlite")]
        if let StoreUrl::File(path) = &self.url {
            file::create(path)?;
            return migrate::run(self).await.map_err(|fault| file::explain(path, fault));
        }
        migrate::run(self).await
    }

    /// Closes all connections, waiting for those in use no longer than the deadline.
    pub(crate) async fn close(&self, deadline: Duration) {
        // Connections that are still in use then are closed when they are given back.
        let _ = tokio::time::timeout(deadline, self.pool.close()).await;
    }
}

/// Replaces what must not be shown. Messages of databases name users and hosts, but one may repeat what it was sent.
fn mask(secrets: &[String], text: &str) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_masked_in_both_forms() {
        let secrets = ["p@ss".to_owned(), "p%40ss".to_owned()];
        assert_eq!(mask(&secrets, "p@ss, p%40ss and pass"), "***, *** and pass");
    }
}
