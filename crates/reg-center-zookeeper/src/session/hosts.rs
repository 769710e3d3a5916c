//! Resolution of host names before the first connection, because the client does not report a host
//! without an address.

use futures_util::future::join_all;
use tokio::net::lookup_host;

use crate::ConnectError;
use crate::options::{ZookeeperOptions, host_and_port};

/// Resolves all hosts, and warns about those without an address.
///
/// # Errors
/// [`ConnectError::UnknownHosts`] if none has an address.
pub(crate) async fn check_hosts(options: &ZookeeperOptions) -> Result<(), ConnectError> {
    let lookups = options.addresses().filter_map(|address| host_and_port(address).ok()).map(
        |(host, port)| async move {
            // The resolver may return an empty answer without an error.
            match lookup_host((host, port)).await.map(|mut found| found.next()) {
                Ok(Some(_)) => Ok(()),
                Ok(None) => Err((host, "it has no address".to_owned())),
                Err(error) => Err((host, error.to_string())),
            }
        },
    );
    let answers = join_all(lookups).await;
    let unknown: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    if !unknown.is_empty() && unknown.len() == answers.len() {
        let hosts = unknown.iter().map(|(host, error)| format!("{host} ({error})"));
        let hosts = hosts.collect::<Vec<_>>().join(", ");
        return Err(ConnectError::UnknownHosts { hosts });
    }
    for (host, error) in unknown {
        tracing::warn!(host, error, "host of the registry cannot be resolved");
    }
    Ok(())
}
