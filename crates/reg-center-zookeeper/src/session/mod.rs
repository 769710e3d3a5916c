//! Sessions: opening them, reporting their changes, and replacing the client when a session is
//! over.
//!
//! In reading order: `link` (state of the connection) · `prepare` (credentials of a client) ·
//! `connect` (opening and closing) · `hosts` (name resolution) · `probe` (diagnosis of TLS
//! failures) · `lease` · `server_clock` · `supervisor`.

mod connect;
mod hosts;
mod link;
mod prepare;
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

/// Returns a possible obstacle to a TLS connection.
///
/// # Errors
/// The obstacle, if a retry cannot succeed.
#[cfg(feature = "tls")]
pub(crate) async fn find_obstacle(
    options: &ZookeeperOptions,
) -> Result<Option<ConnectError>, ConnectError> {
    match Box::pin(probe::obstacle(options)).await? {
        Some(obstacle) if obstacle.is_certain => Err(obstacle.into()),
        obstacle => Ok(obstacle.map(ConnectError::from)),
    }
}

/// Returns no obstacle, because only TLS connections are probed.
#[cfg(not(feature = "tls"))]
pub(crate) async fn find_obstacle(
    _: &ZookeeperOptions,
) -> Result<Option<ConnectError>, ConnectError> {
    Ok(None)
}
