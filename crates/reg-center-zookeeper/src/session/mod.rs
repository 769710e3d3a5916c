//! Sessions: opening them, telling what becomes of them, and replacing the client when one is over.
//!
//! In reading order: `link` (what calls see) · `connect` (opening and ending) · `lease` · `supervisor`.

mod connect;
mod lease;
mod link;
mod supervisor;

pub(crate) use connect::{Ending, acls, end_session, open};
pub(crate) use link::{Conn, Shared};
pub(crate) use supervisor::{Closing, start};
