//! Databases and etcd.

use std::sync::Arc;
use std::time::Duration;

use reg_center::{NodePath, RegistryCenter};
#[cfg(any(feature = "etcd", feature = "postgres"))]
use registry::OpenError;
use registry::{Address, Registry};

use super::Place;
use crate::fault::{Exit, Fault};
use crate::target::ServerTarget;

#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "postgres")]
mod postgres;

/// Time beyond the deadline for connecting, in which the registry itself reports a better cause.
const GRACE: Duration = Duration::from_secs(1);

/// Opens the registry at the address.
pub(super) async fn open(
    target: &ServerTarget,
    place: &Place,
) -> Result<Arc<dyn RegistryCenter>, Fault> {
    let registry = connect(target, place).await?;
    // The registry itself may exist because another command has opened it.
    if !place.may_create && is_empty(registry.as_ref()).await? {
        // A session that is not closed ends by its timeout, and no node depends on it.
        let _ = registry.close().await;
        return Err(place.absent());
    }
    Ok(registry)
}

async fn connect(target: &ServerTarget, place: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
    let (address, named_by) = (&target.address, target.named_by.servers());
    let limit = place.connect.connect_timeout;
    let late = || {
        Fault::new(
            Exit::Unreachable,
            format!(
                "{address} does not answer within {limit:?}; check {named_by} and that the servers run"
            ),
        )
    };
    let opened = Registry::open_at(prepared(address, place));
    match tokio::time::timeout(limit + GRACE, opened).await.map_err(|_| late())? {
        Ok(registry) => Ok(registry),
        #[cfg(feature = "postgres")]
        Err(OpenError::Postgres(error)) => Err(postgres::fault(error, target, place)),
        #[cfg(feature = "etcd")]
        Err(OpenError::Etcd(error)) => Err(etcd::fault(error, target)),
        Err(error) => Err(Fault::refused(error)),
    }
}

/// Returns the address with the options of the command line.
fn prepared(address: &Address, place: &Place) -> Address {
    let address = match address.clone() {
        #[cfg(feature = "postgres")]
        Address::Postgres { text, options } => {
            let options = options
                .create_if_missing(place.may_create)
                .connect_timeout(place.connect.connect_timeout);
            Address::Postgres { text, options }
        }
        #[cfg(feature = "etcd")]
        Address::Etcd { text, options } => {
            let options = options.connect_timeout(place.connect.connect_timeout);
            Address::Etcd { text, options }
        }
        other => other,
    };
    match place.session_timeout {
        Some(timeout) => address.session_timeout(timeout),
        None => address,
    }
}

async fn is_empty(registry: &dyn RegistryCenter) -> Result<bool, Fault> {
    let children = registry.children(&NodePath::root()).await?;
    Ok(children.is_none_or(|names| names.is_empty()))
}

/// Returns the fault of an option. Those of the address were checked when it was parsed, so it is
/// one of the command line, or a file that the address names.
#[cfg(any(feature = "etcd", feature = "postgres"))]
fn of_option(text: &str, named_by: &str) -> Fault {
    match text.strip_prefix("session_timeout") {
        Some(rest) => Fault::usage(format!("--session-timeout{rest}")),
        None => Fault::usage(format!("{named_by}: {text}")),
    }
}
