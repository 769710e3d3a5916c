//! Sessions: opening them, telling what becomes of them, and replacing the client when one is over.
//!
//! In reading order: `link` (what calls see) · `equip` (what a client is given to show) · `connect` (opening and ending) ·
//! `hosts` (names without address) · `probe` (what stands in the way of TLS) · `lease` · `server_clock` · `supervisor`.

mod connect;
mod equip;
mod hosts;
mod lease;
mod link;
#[cfg(feature = "tls")]
mod probe;
mod server_clock;
mod supervisor;

use crate::ConnectError;
use crate::options::ZookeeperOptions;

pub(crate) use connect::{Ending, acls, end_session, open};
pub(crate) use hosts::check_hosts;
pub(crate) use link::{Conn, Shared};
pub(crate) use supervisor::{Closing, start};

/// Returns what may stand in the way of a connection.
///
/// # Errors
/// What certainly does, so that trying does not help.
#[cfg(feature = "tls")]
pub(crate) async fn look_ahead(
    options: &ZookeeperOptions,
) -> Result<Option<ConnectError>, ConnectError> {
    match Box::pin(probe::obstacle(options)).await? {
        Some(obstacle) if obstacle.is_certain => Err(obstacle.into()),
        obstacle => Ok(obstacle.map(ConnectError::from)),
    }
}

/// Returns what may stand in the way of a connection: without TLS there is nothing to be found out.
#[cfg(not(feature = "tls"))]
pub(crate) async fn look_ahead(_: &ZookeeperOptions) -> Result<Option<ConnectError>, ConnectError> {
    Ok(None)
}
