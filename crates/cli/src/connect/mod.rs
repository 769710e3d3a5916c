//! Connections to the registry: the options that name it, and the opening of each kind.

mod credentials;
mod file;
mod server;
mod zookeeper;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use coordination::JobName;
use reg_center::{MemoryRegistry, RegistryCenter};

pub(crate) use self::credentials::{Chosen, Credentials, SecretSource, split};
use crate::fault::Fault;
use crate::security::SecurityArguments;
use crate::target::{EXAMPLE, REGISTRY, Target};
use crate::text::duration;

/// Variable with the servers of ZooKeeper.
const ZOOKEEPER: &str = "EJOB_ZOOKEEPER";
/// Variable with the namespace.
const NAMESPACE: &str = "EJOB_NAMESPACE";
/// Password of an etcd user, which the registry reads by itself.
const ETCD_PASSWORD: &str = "ETCD_PASSWORD";
/// Variable with `user:password`.
const DIGEST: &str = "EJOB_DIGEST";

/// Maximum size of a file with one secret, in KiB. A larger file is surely the wrong one.
const MAX_SECRET_KIB: u64 = 64;

/// Options of the connection to the registry.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Registry")]
pub(crate) struct ConnectArguments {
    /// Address of the registry: zk://HOST:PORT,.../NAMESPACE, postgres://..., etcd://...,
    /// sqlite:FILE (one host) or memory: (one process) [default: a file in the user's state
    /// directory]
    #[arg(long, global = true, env = REGISTRY, value_name = "ADDRESS")]
    registry: Option<String>,
    /// Servers of one ZooKeeper ensemble, with --namespace in place of --registry
    #[arg(long, global = true, env = ZOOKEEPER, value_name = "HOST:PORT,...")]
    zookeeper: Option<String>,
    /// Node of ZooKeeper below which the jobs are stored, such as /jobs
    /// [env: EJOB_NAMESPACE, not for bench]
    #[arg(long, global = true, value_name = "PATH")]
    namespace: Option<String>,
    /// Context whose registry and credentials are used: see `ejob context --help`
    /// [env: EJOB_CONTEXT] [default: the current context, if there is one]
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,
    /// The context in use
    #[arg(skip)]
    chosen: Chosen,
    /// File with user:password for ZooKeeper's digest authentication; or set EJOB_DIGEST to
    /// user:password
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "EJOB_DIGEST_FILE",
        value_name = "FILE"
    )]
    digest_file: Option<PathBuf>,
    /// Variable with `user:password`
    #[arg(skip = DIGEST)]
    digest_variable: String,
    #[command(flatten)]
    security: SecurityArguments,
    /// Deadline for connecting
    #[arg(long, global = true, hide_short_help = true, value_name = "TIME", default_value = "10s", value_parser = duration)]
    connect_timeout: Duration,
    /// Deadline for reading one job, or the list of jobs
    #[arg(long, global = true, hide_short_help = true, value_name = "TIME", default_value = "30s", value_parser = duration)]
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
        let context = match &self.chosen {
            Chosen::None => None,
            Chosen::Context(context, _) => Some(context),
            Chosen::Fault(fault) => return Err(fault.clone()),
        };
        let address = given(self.registry.as_ref());
        let target = match (address, given(self.zookeeper.as_ref()), context) {
            (Some(_), Some(_), _) => {
                return Err(Fault::usage(format!(
                    "--registry (or {REGISTRY}) and --zookeeper (or {ZOOKEEPER}) are both given; valid is one of them"
                )));
            }
            (Some(_), None, _) if self.namespace.is_some() && measured.is_none() => {
                return Err(namespace_beside("--registry"));
            }
            (Some(address), None, _) => Target::parse(&address)?,
            (None, Some(servers), _) => {
                let namespace = match measured {
                    Some(namespace) => namespace.to_owned(),
                    None => self.zookeeper_namespace()?,
                };
                Target::of_parts(&servers, &namespace)
            }
            (None, None, Some(_)) if self.namespace.is_some() && measured.is_none() => {
                return Err(namespace_beside("a context"));
            }
            (None, None, Some(context)) => context.target.clone(),
            // A forgotten address must not start a cluster of its own on each host.
            (None, None, None) => match (in_file, self.zookeeper_option(measured.is_some())) {
                (Some(_), _) if self.namespace.is_some() => {
                    return Err(namespace_beside("the registry of the job file"));
                }
                (Some(target), _) => target.clone(),
                (None, Some(option)) => return Err(without_registry(option)),
                (None, None) => match forgotten_variable() {
                    Some(fault) => return Err(fault),
                    None => Target::default_file()?,
                },
            },
        };
        match (&target, self.credentials()) {
            (Target::File(_) | Target::Server(_) | Target::Memory, Some(option)) => {
                Err(Fault::usage(format!(
                    "{option} is given, which only ZooKeeper has, but the registry is {target}"
                )))
            }
            _ => Ok(target),
        }
    }

    /// Returns an option that is given and that only ZooKeeper has.
    fn zookeeper_option(&self, is_measured: bool) -> Option<&'static str> {
        let set = std::env::var(NAMESPACE).ok().filter(|_| !is_measured);
        let namespace = self.namespace.clone().or(set).filter(|text| !text.is_empty());
        namespace.map(|_| "--namespace (or EJOB_NAMESPACE)").or_else(|| self.credentials())
    }

    fn has_digest(&self) -> bool {
        let is_set = std::env::var_os(DIGEST).is_some_and(|value| !value.is_empty());
        is_set || self.digest_path().is_some()
    }

    /// Returns an option that is given and that has credentials.
    fn credentials(&self) -> Option<&'static str> {
        if self.has_digest() {
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
            let set = std::env::var(&self.digest_variable).ok();
            return Ok(set.filter(|digest| !digest.is_empty()));
        };
        let digest = secret_file(path).map_err(|error| {
            Fault::usage(format!("--digest-file {} cannot be read: {error}", path.display()))
        })?;
        Ok(Some(digest))
    }
}

/// Reads a file with one secret.
pub(crate) fn secret_file(path: &Path) -> io::Result<String> {
    let text = outbound::read_text(File::open(path)?, MAX_SECRET_KIB)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Refuses a registry that ends with the command, and a default file that no worker has created.
fn lasting(target: Target) -> Result<Target, Fault> {
    match target {
        Target::Memory => Err(Fault::usage(format!(
            "--registry is memory:, which ends with its process, so only `ejob worker` can use it; valid is an address such as sqlite:registry.db or {EXAMPLE}"
        ))),
        Target::File(file) if file.is_default && !file.exists()? => Err(Fault::not_found(format!(
            "no registry is named, and no worker has created {} yet; start one, such as `ejob worker jobs.toml`, or give --registry ADDRESS, such as {EXAMPLE}, or set {REGISTRY}",
            file.path().display()
        ))),
        target @ (Target::Zookeeper(_) | Target::File(_) | Target::Server(_)) => Ok(target),
    }
}

fn given(value: Option<&String>) -> Option<String> {
    value.filter(|text| !text.is_empty()).cloned()
}

/// Returns the fault of a variable that shows that a registry for several hosts is meant: an empty
/// one, as a template with a missing value writes it, or the password of one. `PGPASSWORD` does not
/// show it, because scripts of jobs need it for databases of their own.
fn forgotten_variable() -> Option<Fault> {
    let is_empty = |name: &&&str| std::env::var_os(name).is_some_and(|value| value.is_empty());
    if let Some(name) = [REGISTRY, ZOOKEEPER, NAMESPACE].iter().find(is_empty) {
        return Some(Fault::usage(format!(
            "{name} is set, but empty; set it to a registry, such as {EXAMPLE}, or unset it to use a file of this host"
        )));
    }
    std::env::var_os(ETCD_PASSWORD).map(|_| without_registry(ETCD_PASSWORD))
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
                "there is no namespace {}: its first worker, or `ejob create`, creates it; or check {}",
                target.namespace,
                target.named_by.both()
            )),
            target @ (Target::File(_) | Target::Memory) => Fault::not_found(format!(
                "there is no registry {target}: `ejob worker` creates it; or check --registry"
            )),
            Target::Server(target) => Fault::not_found(format!(
                "no worker has used the registry {} yet; check its namespace in {}",
                target.address,
                target.named_by.namespace()
            )),
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
            Target::Zookeeper(target) => zookeeper::open(target, place).await,
            Target::File(file) => file::open(file, place).await,
            Target::Server(target) => server::open(target, place).await,
            Target::Memory => Ok(Arc::new(MemoryRegistry::new().connect())),
        }
    }

    async fn open_nodes(
        &self,
        place: &Place,
        job: Option<&JobName>,
    ) -> Result<Vec<(String, String)>, Fault> {
        match &place.target {
            Target::Zookeeper(target) => zookeeper::open_nodes(target, place, job).await,
            Target::File(_) | Target::Server(_) | Target::Memory => Ok(Vec::new()),
        }
    }
}
