//! Connections to the registry; the only module that knows ZooKeeper.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use coordination::JobName;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reg_center::{NodePath, RegistryCenter};
use reg_center_zookeeper::{ConnectError, ZookeeperCenter, ZookeeperOptions};

use crate::fault::{Exit, Fault};
use crate::security::SecurityArguments;
use crate::text::duration;

/// Maximum number of jobs whose access control lists are read, so that starts stay fast.
const MAX_EXAMINED_JOBS: usize = 500;
/// Variable with the namespace.
const NAMESPACE: &str = "EJOB_NAMESPACE";
/// Variable with `user:password`.
const DIGEST: &str = "EJOB_DIGEST";

/// Options of the connection to the registry.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct ConnectArguments {
    /// Servers of one ZooKeeper ensemble
    #[arg(long, global = true, env = "EJOB_ZOOKEEPER", value_name = "HOST:PORT,...")]
    zookeeper: Option<String>,
    /// Node below which the jobs are stored, such as /jobs [env: EJOB_NAMESPACE, not for bench]
    #[arg(long, global = true, value_name = "PATH")]
    namespace: Option<String>,
    /// File with user:password for ZooKeeper's digest authentication; or set EJOB_DIGEST to
    /// user:password
    #[arg(long, global = true, env = "EJOB_DIGEST_FILE", value_name = "FILE")]
    digest_file: Option<PathBuf>,
    #[command(flatten)]
    security: SecurityArguments,
    /// Deadline for connecting
    #[arg(long, global = true, value_name = "TIME", default_value = "10s", value_parser = duration)]
    connect_timeout: Duration,
    /// Deadline for reading one job, or the list of jobs
    #[arg(long, global = true, value_name = "TIME", default_value = "30s", value_parser = duration)]
    timeout: Duration,
}

impl ConnectArguments {
    /// Returns the deadline of one read.
    pub(crate) fn read_deadline(&self) -> Duration {
        self.timeout
    }

    /// Returns the namespace; the error says how to name one.
    pub(crate) fn namespace(&self) -> Result<String, Fault> {
        let given = self.namespace.clone().or_else(|| std::env::var(NAMESPACE).ok());
        let given = given.filter(|namespace| !namespace.is_empty());
        match given.ok_or_else(|| missing("namespace", NAMESPACE, "/jobs"))? {
            // The root holds ZooKeeper's own nodes, which are not jobs.
            root if root == "/" => Err(Fault::usage(
                "--namespace is \"/\", where ZooKeeper keeps its own nodes; valid is a node below it, such as /jobs",
            )),
            namespace => Ok(namespace),
        }
    }

    /// Returns the namespace of the command line, or `default` without one.
    ///
    /// The environment is ignored, because it names a namespace with jobs.
    pub(crate) fn namespace_or<'a>(&'a self, default: &'a str) -> &'a str {
        self.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(default)
    }

    /// Returns true if credentials are configured, so that nodes should be closed to other clients.
    pub(crate) fn has_user(&self) -> bool {
        self.security.has_user() || self.digest().is_ok_and(|digest| digest.is_some())
    }

    fn addresses(&self) -> Result<&str, Fault> {
        let given = self.zookeeper.as_deref().filter(|addresses| !addresses.is_empty());
        given.ok_or_else(|| missing("zookeeper", "EJOB_ZOOKEEPER", "zk-1:2181,zk-2:2181"))
    }

    /// Reads the digest from a file or the environment; other users could see an argument.
    fn digest(&self) -> Result<Option<String>, Fault> {
        let Some(path) = self.digest_file.as_ref().filter(|path| !path.as_os_str().is_empty())
        else {
            let set = std::env::var(DIGEST).ok();
            return Ok(set.filter(|digest| !digest.is_empty()));
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Fault::usage(format!("--digest-file {} cannot be read: {error}", path.display()))
        })?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }
}

fn missing(option: &str, variable: &str, example: &str) -> Fault {
    Fault::usage(format!(
        "--{option} is missing; give it, such as --{option} {example}, or set {variable}"
    ))
}

/// Namespace of the registry to open, and how to open it.
#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) connect: ConnectArguments,
    pub(crate) namespace: String,
    pub(crate) may_create: bool,
    pub(crate) session_timeout: Option<Duration>,
}

impl Place {
    /// Returns the namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns true if a missing namespace may be created.
    #[must_use]
    pub fn may_create(&self) -> bool {
        self.may_create
    }

    /// Returns the fault for a namespace that does not exist.
    #[must_use]
    pub fn absent(&self) -> Fault {
        Fault::not_found(format!(
            "there is no namespace {}; check --namespace and --zookeeper",
            self.namespace
        ))
    }
}

/// Opens namespaces: those of a ZooKeeper in the program, those of other registries in tests.
#[async_trait]
pub trait Registries: Send + Sync {
    /// Opens a namespace.
    ///
    /// # Errors
    /// [`Fault`]: an option is not valid, the registry does not answer, or the namespace does not
    /// exist.
    async fn open(&self, place: &Place) -> Result<Arc<dyn RegistryCenter>, Fault>;

    /// Returns the nodes that clients without credentials may change, with their access control
    /// lists: those of the namespace, and of its jobs or only of one.
    ///
    /// Registries without access control have none.
    ///
    /// # Errors
    /// [`Fault`]: as for [`Registries::open`].
    async fn open_nodes(
        &self,
        _: &Place,
        _: Option<&JobName>,
    ) -> Result<Vec<(String, String)>, Fault> {
        Ok(Vec::new())
    }
}

/// Opens namespaces of the ZooKeeper that the command line names.
#[derive(Debug)]
pub(crate) struct ZookeeperRegistries;

#[async_trait]
impl Registries for ZookeeperRegistries {
    async fn open(&self, place: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
        let options = options(place)?;
        let options_here = options.clone().namespace(&place.namespace);
        options_here.validate().map_err(invalid)?;
        if !place.may_create {
            check_exists(options, place).await?;
        }
        Ok(connect(options_here, place).await?)
    }

    async fn open_nodes(
        &self,
        place: &Place,
        job: Option<&JobName>,
    ) -> Result<Vec<(String, String)>, Fault> {
        let center = connect(options(place)?.namespace(&place.namespace), place).await?;
        let found = open_nodes(&center, job).await;
        // A session that is not closed ends by its timeout, and no node depends on it.
        let _ = center.close().await;
        let shown = |(path, acl): (NodePath, String)| {
            let path = if path.is_root() { "" } else { path.as_str() };
            (format!("{}{path}", place.namespace), acl)
        };
        Ok(found?.into_iter().map(shown).collect())
    }
}

fn options(place: &Place) -> Result<ZookeeperOptions, Fault> {
    let addresses = place.connect.addresses()?;
    let mut options =
        ZookeeperOptions::new(addresses).connect_timeout(place.connect.connect_timeout);
    if let Some(timeout) = place.session_timeout {
        options = options.session_timeout(timeout);
    }
    if let Some(digest) = place.connect.digest()? {
        options = options.digest(digest);
    }
    place.connect.security.secure(options)
}

/// Finds open nodes among the namespace, its jobs or only one, and their configurations.
///
/// A node whose list must not be read is not open.
async fn open_nodes(
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

async fn connect(options: ZookeeperOptions, place: &Place) -> Result<Arc<ZookeeperCenter>, Fault> {
    ZookeeperCenter::connect(options).await.map_err(|error| match error {
        ConnectError::Options(error) => invalid(error),
        ConnectError::Registry(reg_center::Error::Unavailable { .. }) => {
            let addresses = place.connect.addresses().unwrap_or_default();
            let waited = place.connect.connect_timeout;
            Fault::new(
                Exit::Unreachable,
                format!(
                    "no ZooKeeper answers at {addresses} within {waited:?}; check --zookeeper and that the servers run"
                ),
            )
        }
        ConnectError::Registry(error) => error.into(),
        ConnectError::UnknownHosts { .. } => {
            Fault::new(Exit::Unreachable, format!("{error}; check --zookeeper"))
        }
        ConnectError::Credentials => Fault::new(
            Exit::NotAuthorized,
            format!("{error}; check --sasl-user and --sasl-password-file (or EJOB_SASL_PASSWORD)"),
        ),
        ConnectError::Tls { .. } => Fault::new(
            Exit::Unreachable,
            format!("{error}; check --tls-ca, --tls-cert and the port in --zookeeper"),
        ),
        error => Fault::refused(error),
    })
}

/// Rejects a missing namespace, which opening it would create.
async fn check_exists(options: ZookeeperOptions, place: &Place) -> Result<(), Fault> {
    let path = NodePath::parse(&place.namespace)
        .map_err(|error| Fault::usage(format!("--namespace: {error}")))?;
    if path.is_root() {
        return Ok(());
    }
    let center = connect(options, place).await?;
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
fn invalid(error: reg_center_zookeeper::OptionsError) -> Fault {
    let option = match error.option() {
        "address" => "zookeeper",
        "digest" => "digest-file (or EJOB_DIGEST)",
        "connect_timeout" => "connect-timeout",
        "session_timeout" => "session-timeout",
        "tls_ca" => "tls-ca",
        "tls_certificate" => "tls-cert",
        "tls_key" => "tls-key",
        "sasl_user" => "sasl-user",
        "sasl_password" => "sasl-password-file (or EJOB_SASL_PASSWORD)",
        other => other,
    };
    let text = error.to_string();
    let rest = text.strip_prefix(error.option()).unwrap_or(&text);
    Fault::usage(format!("--{option}{rest}"))
}
