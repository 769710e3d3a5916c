//! Namespaces of ZooKeeper.

use std::sync::Arc;

use coordination::JobName;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reg_center::{NodePath, RegistryCenter};
use reg_center_zookeeper::{ConnectError, ZookeeperCenter, ZookeeperOptions};

use super::Place;
use crate::fault::{Exit, Fault};
use crate::target::ZookeeperTarget;

/// Maximum number of jobs whose access control lists are read, so that starts stay fast.
const MAX_EXAMINED_JOBS: usize = 500;

/// Opens the namespace.
pub(super) async fn open(
    target: &ZookeeperTarget,
    place: &Place,
) -> Result<Arc<dyn RegistryCenter>, Fault> {
    let options = options(target, place)?;
    let options_here = options.clone().namespace(&target.namespace);
    options_here.validate().map_err(|error| invalid(&error, target))?;
    if !place.may_create {
        check_exists(options, target, place).await?;
    }
    Ok(connect(options_here, target, place).await?)
}

fn options(target: &ZookeeperTarget, place: &Place) -> Result<ZookeeperOptions, Fault> {
    let mut options =
        ZookeeperOptions::new(&*target.servers).connect_timeout(place.connect.connect_timeout);
    if let Some(timeout) = place.session_timeout {
        options = options.session_timeout(timeout);
    }
    if let Some(digest) = place.connect.digest()? {
        options = options.digest(digest);
    }
    place.connect.security.secure(options)
}

/// Returns the nodes that clients without credentials may change, with their access control lists.
pub(super) async fn open_nodes(
    target: &ZookeeperTarget,
    place: &Place,
    job: Option<&JobName>,
) -> Result<Vec<(String, String)>, Fault> {
    let options = options(target, place)?.namespace(&target.namespace);
    let center = connect(options, target, place).await?;
    let found = find_open_nodes(&center, job).await;
    // A session that is not closed ends by its timeout, and no node depends on it.
    let _ = center.close().await;
    let shown = |(path, acl): (NodePath, String)| {
        let path = if path.is_root() { "" } else { path.as_str() };
        (format!("{}{path}", target.namespace), acl)
    };
    Ok(found?.into_iter().map(shown).collect())
}

/// Finds open nodes among the namespace, its jobs or only one, and their configurations.
///
/// A node whose list must not be read is not open.
async fn find_open_nodes(
    center: &ZookeeperCenter,
    job: Option<&JobName>,
) -> reg_center::Result<Vec<(NodePath, String)>> {
    let root = NodePath::root();
    let jobs = match job {
        Some(job) => vec![job.to_string()],
        None => center.children(&root).await?.unwrap_or_default(),
    };
    let jobs = jobs.iter().filter_map(|name| root.join(name).ok()).take(MAX_EXAMINED_JOBS);
    let paths = jobs.flat_map(|job| [Some(job.clone()), job.join("config").ok()]).flatten();
    let paths: Vec<_> = std::iter::once(root.clone()).chain(paths).collect();
    let lists = paths.into_iter().map(|path| async move {
        match center.open_acl(&path).await {
            Ok(list) => Ok(list.map(|list| (path, list))),
            Err(reg_center::Error::NotAuthorized { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    });
    let lists: Vec<_> = stream::iter(lists).buffered(16).try_collect().await?;
    Ok(lists.into_iter().flatten().collect())
}

async fn connect(
    options: ZookeeperOptions,
    target: &ZookeeperTarget,
    place: &Place,
) -> Result<Arc<ZookeeperCenter>, Fault> {
    let named = target.named_by.servers();
    ZookeeperCenter::connect(options).await.map_err(|error| match error {
        ConnectError::Options(error) => invalid(&error, target),
        ConnectError::Registry(reg_center::Error::Unavailable { .. }) => {
            let (servers, waited) = (&target.servers, place.connect.connect_timeout);
            Fault::new(
                Exit::Unreachable,
                format!(
                    "no ZooKeeper answers at {servers} within {waited:?}; check {named} and that the servers run"
                ),
            )
        }
        ConnectError::Registry(error) => error.into(),
        ConnectError::UnknownHosts { .. } => {
            Fault::new(Exit::Unreachable, format!("{error}; check {named}"))
        }
        ConnectError::Credentials => Fault::new(
            Exit::NotAuthorized,
            format!("{error}; check --sasl-user and --sasl-password-file (or EJOB_SASL_PASSWORD)"),
        ),
        ConnectError::Tls { .. } => Fault::new(
            Exit::Unreachable,
            format!("{error}; check --tls-ca, --tls-cert and the port in {named}"),
        ),
        error => Fault::refused(error),
    })
}

/// Rejects a missing namespace, which opening it would create.
async fn check_exists(
    options: ZookeeperOptions,
    target: &ZookeeperTarget,
    place: &Place,
) -> Result<(), Fault> {
    let path = NodePath::parse(&target.namespace)
        .map_err(|error| Fault::usage(format!("{}: {error}", target.named_by.namespace())))?;
    if path.is_root() {
        return Ok(());
    }
    let center = connect(options, target, place).await?;
    let read = center.read(&path).await;
    // A session that is not closed ends by its timeout, and no node depends on it.
    let _ = center.close().await;
    match read {
        Ok(None) => Err(place.absent()),
        // A client that may not read the node may still read the nodes below it.
        Ok(Some(_)) | Err(reg_center::Error::NotAuthorized { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the fault of an option, named as on the command line.
fn invalid(error: &reg_center_zookeeper::OptionsError, target: &ZookeeperTarget) -> Fault {
    let option = match error.option() {
        "address" => target.named_by.servers(),
        "namespace" => target.named_by.namespace(),
        "digest" => "--digest-file (or EJOB_DIGEST)",
        "connect_timeout" => "--connect-timeout",
        "session_timeout" => "--session-timeout",
        "tls_ca" => "--tls-ca",
        "tls_certificate" => "--tls-cert",
        "tls_key" => "--tls-key",
        "sasl_user" => "--sasl-user",
        "sasl_password" => "--sasl-password-file (or EJOB_SASL_PASSWORD)",
        other => other,
    };
    let text = error.to_string();
    let rest = text.strip_prefix(error.option()).unwrap_or(&text);
    Fault::usage(format!("{option}{rest}"))
}
