//! Databases and etcd.

use std::sync::Arc;
use std::time::Duration;

use reg_center::{NodePath, RegistryCenter};
use reg_center_etcd::ConnectError;
use registry::{Address, OpenError, Registry};

use super::Place;
use crate::fault::{Exit, Fault};
use crate::target::ServerTarget;

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
        Err(OpenError::Postgres(error)) => Err(of_postgres(error, target, place)),
        Err(OpenError::Etcd(error)) => Err(of_etcd(error, target)),
        Err(error) => Err(Fault::refused(error)),
    }
}

/// Returns the address with the options of the command line.
fn prepared(address: &Address, place: &Place) -> Address {
    let mut address = address.clone();
    if let Address::Postgres { options, .. } = &mut address {
        let limit = place.connect.connect_timeout;
        *options = options.clone().create_if_missing(place.may_create).connect_timeout(limit);
    }
    if let Address::Etcd { options, .. } = &mut address {
        *options = options.clone().connect_timeout(place.connect.connect_timeout);
    }
    match place.session_timeout {
        Some(timeout) => address.session_timeout(timeout),
        None => address,
    }
}

async fn is_empty(registry: &dyn RegistryCenter) -> Result<bool, Fault> {
    let children = registry.children(&NodePath::root()).await?;
    Ok(children.is_none_or(|names| names.is_empty()))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the text of every other reason is enough")]
fn of_postgres(
    error: reg_center_postgres::OpenError,
    target: &ServerTarget,
    place: &Place,
) -> Fault {
    use reg_center_postgres::OpenError;
    let named_by = target.named_by.servers();
    match error {
        OpenError::Options(error) => of_option(&error.to_string(), named_by),
        OpenError::NoSchema { .. } => place.absent(),
        OpenError::Unreachable { .. } | OpenError::NoDatabase { .. } | OpenError::Tls { .. } => {
            Fault::new(
                Exit::Unreachable,
                format!("{error}; check {named_by} and that the server runs"),
            )
        }
        OpenError::Refused { .. } => Fault::new(
            Exit::NotAuthorized,
            format!("{error}; check the user in {named_by} and password_file (or PGPASSWORD)"),
        ),
        error => Fault::refused(error),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the text of every other reason is enough")]
fn of_etcd(error: ConnectError, target: &ServerTarget) -> Fault {
    let named_by = target.named_by.servers();
    match error {
        ConnectError::Options(error) => of_option(&error.to_string(), named_by),
        ConnectError::Unreachable { .. } | ConnectError::Tls { .. } => Fault::new(
            Exit::Unreachable,
            format!("{error}; check {named_by} and that the servers run"),
        ),
        ConnectError::Credentials { .. } => Fault::new(
            Exit::NotAuthorized,
            format!("{error}; check the user in {named_by} and password_file (or ETCD_PASSWORD)"),
        ),
        ConnectError::Registry(error) => error.into(),
        error => Fault::refused(error),
    }
}

/// Returns the fault of an option. Those of the address were checked when it was parsed, so it is
/// one of the command line, or a file that the address names.
fn of_option(text: &str, named_by: &str) -> Fault {
    match text.strip_prefix("session_timeout") {
        Some(rest) => Fault::usage(format!("--session-timeout{rest}")),
        None => Fault::usage(format!("{named_by}: {text}")),
    }
}
