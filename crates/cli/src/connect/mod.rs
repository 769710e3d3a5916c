//! Connections to the registry.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use coordination::JobName;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reg_center::{MemoryRegistry, NodePath, RegistryCenter};
use reg_center_sqlite::SqliteCenter;
use reg_center_zookeeper::{ConnectError, ZookeeperCenter, ZookeeperOptions};

use crate::fault::{Exit, Fault};
use crate::security::SecurityArguments;
use crate::target::{EXAMPLE, REGISTRY, RegistryFile, Target, ZookeeperTarget};
use crate::text::duration;

/// Maximum number of jobs whose access control lists are read, so that starts stay fast.
const MAX_EXAMINED_JOBS: usize = 500;
/// Variable with the servers of ZooKeeper.
const ZOOKEEPER: &str = "EJOB_ZOOKEEPER";
/// Variable with the namespace.
const NAMESPACE: &str = "EJOB_NAMESPACE";
/// Variable with `user:password`.
const DIGEST: &str = "EJOB_DIGEST";

/// Options of the connection to the registry.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct ConnectArguments {
    /// Address of the registry: zk://HOST:PORT,.../NAMESPACE, sqlite:FILE (one host) or memory:
    /// (one process) [default: a file in the user's state directory]
    #[arg(long, global = true, env = REGISTRY, value_name = "ADDRESS")]
    registry: Option<String>,
    /// Servers of one ZooKeeper ensemble, with --namespace in place of --registry
    #[arg(long, global = true, env = ZOOKEEPER, value_name = "HOST:PORT,...")]
    zookeeper: Option<String>,
    /// Node of ZooKeeper below which the jobs are stored, such as /jobs
    /// [env: EJOB_NAMESPACE, not for bench]
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

    /// Returns the registry that a command reads or changes. It is one that outlasts the command.
    pub(crate) fn target(&self) -> Result<Target, Fault> {
        lasting(self.named(None, None)?)
    }

    /// Returns the registry of a worker: the named one, or else that of its job file. `for_hosts`
    /// names an option, if one is given, that has a meaning only for a registry that several hosts
    /// share.
    pub(crate) fn worker_target(
        &self,
        for_hosts: Option<&str>,
        in_file: Option<&Target>,
    ) -> Result<Target, Fault> {
        let target = self.named(None, in_file)?;
        match (&target, for_hosts) {
            (Target::File(file), Some(option)) if file.is_default => Err(without_registry(option)),
            _ => Ok(target),
        }
    }

    /// Returns the registry to measure, and the namespace of the measurement: `default` unless the
    /// command line names another one.
    ///
    /// The namespaces of the environment and of addresses have jobs, so they are not used.
    pub(crate) fn bench_target(&self, default: &str) -> Result<(Target, String), Fault> {
        let namespace = given(self.namespace.as_ref()).unwrap_or_else(|| default.to_owned());
        let target = lasting(self.named(Some(&namespace), None)?)?;
        Ok((target, namespace))
    }

    /// Returns the registry that is named, or that of the job file, or the default file. `measured`
    /// is the namespace in ZooKeeper if the registry is to be measured.
    fn named(&self, measured: Option<&str>, in_file: Option<&Target>) -> Result<Target, Fault> {
        let target = match (given(self.registry.as_ref()), given(self.zookeeper.as_ref())) {
            (Some(_), Some(_)) => {
                return Err(Fault::usage(format!(
                    "--registry (or {REGISTRY}) and --zookeeper (or {ZOOKEEPER}) are both given; valid is one of them"
                )));
            }
            (Some(_), None) if self.namespace.is_some() && measured.is_none() => {
                return Err(namespace_beside("--registry"));
            }
            (Some(address), None) => Target::parse(&address)?,
            (None, Some(servers)) => {
                let namespace = match measured {
                    Some(namespace) => namespace.to_owned(),
                    None => self.zookeeper_namespace()?,
                };
                Target::of_parts(&servers, &namespace)
            }
            // A forgotten address must not start a cluster of its own on each host.
            (None, None) => match (in_file, self.zookeeper_option(measured.is_some())) {
                (Some(_), _) if self.namespace.is_some() => {
                    return Err(namespace_beside("the registry of the job file"));
                }
                (Some(target), _) => target.clone(),
                (None, Some(option)) => return Err(without_registry(option)),
                (None, None) => Target::default_file()?,
            },
        };
        match (&target, self.credentials()) {
            (Target::File(_) | Target::Memory, Some(option)) => Err(Fault::usage(format!(
                "{option} is given, which only ZooKeeper has, but the registry is {target}"
            ))),
            _ => Ok(target),
        }
    }

    /// Returns an option that is given and that only ZooKeeper has.
    fn zookeeper_option(&self, is_measured: bool) -> Option<&'static str> {
        let set = std::env::var(NAMESPACE).ok().filter(|_| !is_measured);
        let namespace = self.namespace.clone().or(set).filter(|text| !text.is_empty());
        namespace.map(|_| "--namespace (or EJOB_NAMESPACE)").or_else(|| self.credentials())
    }

    /// Returns an option that is given and that has credentials.
    fn credentials(&self) -> Option<&'static str> {
        let is_set = std::env::var_os(DIGEST).is_some_and(|value| !value.is_empty());
        if is_set || self.digest_path().is_some() {
            return Some("--digest-file (or EJOB_DIGEST)");
        }
        self.security.given()
    }

    fn zookeeper_namespace(&self) -> Result<String, Fault> {
        let given = self.namespace.clone().or_else(|| std::env::var(NAMESPACE).ok());
        let given = given.filter(|namespace| !namespace.is_empty()).ok_or_else(|| {
            Fault::usage(format!(
                "--namespace is missing; give it, such as --namespace /jobs, or set {NAMESPACE}"
            ))
        });
        match given? {
            // The root holds ZooKeeper's own nodes, which are not jobs.
            root if root == "/" => Err(Fault::usage(
                "--namespace is \"/\", where ZooKeeper keeps its own nodes; valid is a node below it, such as /jobs",
            )),
            namespace => Ok(namespace),
        }
    }

    /// Returns true if credentials are configured, so that nodes should be closed to other clients.
    pub(crate) fn has_user(&self) -> bool {
        self.security.has_user() || self.digest().is_ok_and(|digest| digest.is_some())
    }

    fn digest_path(&self) -> Option<&PathBuf> {
        self.digest_file.as_ref().filter(|path| !path.as_os_str().is_empty())
    }

    /// Reads the digest from a file or the environment; other users could see an argument.
    fn digest(&self) -> Result<Option<String>, Fault> {
        let Some(path) = self.digest_path() else {
            let set = std::env::var(DIGEST).ok();
            return Ok(set.filter(|digest| !digest.is_empty()));
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Fault::usage(format!("--digest-file {} cannot be read: {error}", path.display()))
        })?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }
}

/// Refuses a registry that ends with the command, and a default file that no worker has created.
fn lasting(target: Target) -> Result<Target, Fault> {
    match target {
        Target::Memory => Err(Fault::usage(format!(
            "--registry is memory:, which ends with its process, so only `ejob worker` can use it; valid is an address such as sqlite:registry.db or {EXAMPLE}"
        ))),
        Target::File(file) if file.is_default && !file.exists()? => Err(Fault::not_found(format!(
            "no registry is named, and no worker has created {} yet; give --registry ADDRESS, such as {EXAMPLE}, or set {REGISTRY}",
            file.path().display()
        ))),
        target @ (Target::Zookeeper(_) | Target::File(_)) => Ok(target),
    }
}

fn given(value: Option<&String>) -> Option<String> {
    value.filter(|text| !text.is_empty()).cloned()
}

/// Returns the fault of an option that is given without a registry that it belongs to.
fn without_registry(option: &str) -> Fault {
    Fault::usage(format!(
        "{option} is given, but no registry; give --registry ADDRESS, such as {EXAMPLE}, or set {REGISTRY} or {ZOOKEEPER}"
    ))
}

fn namespace_beside(registry: &str) -> Fault {
    Fault::usage(format!(
        "--namespace is given beside {registry}, whose address has the namespace, such as {EXAMPLE}"
    ))
}

/// Registry to open, and how to open it.
#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) connect: ConnectArguments,
    pub(crate) target: Target,
    pub(crate) may_create: bool,
    pub(crate) session_timeout: Option<Duration>,
}

impl Place {
    /// Returns the namespace; `/` in a registry that has only one.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.target.namespace()
    }

    /// Returns true if a missing namespace may be created.
    #[must_use]
    pub fn may_create(&self) -> bool {
        self.may_create
    }

    /// Returns the fault for a namespace that does not exist.
    #[must_use]
    pub fn absent(&self) -> Fault {
        match &self.target {
            Target::Zookeeper(target) => Fault::not_found(format!(
                "there is no namespace {}; check {}",
                target.namespace,
                target.named_by.both()
            )),
            target @ (Target::File(_) | Target::Memory) => {
                Fault::not_found(format!("there is no registry {target}; check --registry"))
            }
        }
    }
}

/// Opens registries: those that the command line names in the program, others in tests.
#[async_trait]
pub trait Registries: Send + Sync {
    /// Opens a registry.
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

/// Opens the registries that the command line names.
#[derive(Debug)]
pub(crate) struct NamedRegistries;

#[async_trait]
impl Registries for NamedRegistries {
    async fn open(&self, place: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
        match &place.target {
            Target::Zookeeper(target) => open_namespace(target, place).await,
            Target::File(file) => open_file(file, place).await,
            Target::Memory => Ok(Arc::new(MemoryRegistry::new().connect())),
        }
    }

    async fn open_nodes(
        &self,
        place: &Place,
        job: Option<&JobName>,
    ) -> Result<Vec<(String, String)>, Fault> {
        let Target::Zookeeper(target) = &place.target else { return Ok(Vec::new()) };
        let options = options(target, place)?.namespace(&target.namespace);
        let center = connect(options, target, place).await?;
        let found = open_nodes(&center, job).await;
        // A session that is not closed ends by its timeout, and no node depends on it.
        let _ = center.close().await;
        let shown = |(path, acl): (NodePath, String)| {
            let path = if path.is_root() { "" } else { path.as_str() };
            (format!("{}{path}", target.namespace), acl)
        };
        Ok(found?.into_iter().map(shown).collect())
    }
}

/// Opens a registry file.
async fn open_file(file: &RegistryFile, place: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
    if !place.may_create && !file.exists()? {
        return Err(place.absent());
    }
    let mut options = file.options.clone();
    if let Some(timeout) = place.session_timeout {
        options = options.session_timeout(timeout);
    }
    let opened =
        tokio::time::timeout(place.connect.connect_timeout, SqliteCenter::connect(options));
    match opened.await {
        Ok(Ok(center)) => Ok(center),
        Ok(Err(reg_center_sqlite::OpenError::Options(error))) => {
            let text = error.to_string();
            Err(Fault::usage(format!("--{}", text.replacen('_', "-", 1))))
        }
        Ok(Err(error)) => Err(Fault::refused(error)),
        Err(_) => Err(Fault::new(
            Exit::Unreachable,
            format!(
                "{} could not be opened within {:?}; check that no other program has locked it",
                file.path().display(),
                place.connect.connect_timeout
            ),
        )),
    }
}

/// Opens a namespace of ZooKeeper.
async fn open_namespace(
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
