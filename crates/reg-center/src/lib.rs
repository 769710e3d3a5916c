#![doc = include_str!("../README.md")]

mod beats;
mod center;
mod client_session;
mod clock;
#[cfg(feature = "contract")]
pub mod contract;
mod delegate;
mod error;
pub mod evaluate;
pub mod feed;
mod lease;
mod log_feeds;
pub mod memory;
pub mod model;
mod node;
mod path;
mod scope;
mod session;
mod subscriptions;
mod sync;
mod txn;

pub use beats::{Beat, Beats};
pub use center::RegistryCenter;
pub use client_session::{ClientSession, SessionConnection};
pub use clock::ClockReading;
pub use delegate::Delegate;
pub use error::{Error, Result};
pub use feed::{Change, Feed};
pub use lease::Lease;
pub use log_feeds::{LogFeeds, LogNews, LogQuery};
pub use memory::{MemoryCenter, MemoryRegistry};
pub use node::{Lifetime, Node, Revision, SessionId, Stat, Version};
pub use path::{MAX_PATH_BYTES, NodePath, PathError};
pub use scope::Scope;
pub use session::{SessionChange, SessionFeed, SessionHub};
pub use subscriptions::Subscriptions;
pub use txn::{Committed, Conflict, ConflictReason, Expect, Limits, Op, Txn, TxnOutcome};
