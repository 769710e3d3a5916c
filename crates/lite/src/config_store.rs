//! Settlement of the configuration at registration: the stored or the local one comes into force.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use coordination::{
    ConfigError, Dialect, JavaFields, JavaSettings, JobConfig, Layout, decode_config,
    decode_template, encode_config,
};
use futures_util::future::BoxFuture;
use reg_center::{Expect, Lifetime, Node, NodePath, Op, SessionChange, Txn, TxnOutcome};

use crate::config_dialect::FoundDialect;
use crate::registration::CodeSource;
use crate::seams::{Elapsed, Seams};
use crate::{Error, Result};

/// Pause after an error that can pass, before the next request to the registry.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A field in which the local configuration differs from the stored one, which is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigDifference {
    /// Name of the field.
    pub field: &'static str,
    /// Value in force.
    pub stored: String,
    /// Value of this process, which is not used.
    pub local: String,
}

impl fmt::Display for ConfigDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is in force, {} is not", self.field, self.stored, self.local)
    }
}

/// Relation of the stored configuration to the local one after the registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The local configuration is stored.
    Local,
    /// The stored configuration differs in these fields.
    Stored(Vec<ConfigDifference>),
    /// The stored document cannot be read. It stays until an operator repairs it.
    Unreadable(String),
}

/// Result of settling the configuration.
#[derive(Debug)]
pub(crate) struct Settlement {
    pub(crate) settled: Settled,
    /// The local configuration in the dialect of the job's nodes.
    pub(crate) local: JobConfig,
    /// The stored configuration that is in force, if it can be read.
    pub(crate) in_force: Option<JobConfig>,
    /// This process has just replaced another stored configuration.
    pub(crate) has_replaced: bool,
}

/// Decision about the stored configuration.
#[derive(Debug)]
enum Decision {
    Keep(Settled),
    Write(Txn),
}

/// The stored configuration of a job, as one registration reads and writes it.
#[derive(Debug)]
pub(crate) struct ConfigStore<'a> {
    pub(crate) seams: &'a Seams,
    pub(crate) local: &'a JobConfig,
    /// Source of the job's code.
    pub(crate) code_source: &'a CodeSource,
    /// Dialect that the job must have; `None` accepts the stored one.
    pub(crate) dialect: Option<Dialect>,
    /// The local configuration replaces the stored one.
    pub(crate) overwrites: bool,
    pub(crate) started: Duration,
    pub(crate) deadline: Duration,
}

impl ConfigStore<'_> {
    /// Reads, decides and writes until the stored configuration needs no further write.
    pub(crate) async fn settle(&self) -> Result<Settlement> {
        let path = Layout::new(&self.local.job_name).config_path();
        let mut has_replaced = false;
        loop {
            let node = self.read(&path).await?;
            self.check_code_source(node.is_some()).await?;
            let stored = node.as_ref().map(|node| decode_config(&node.data));
            let in_force = stored.as_ref().and_then(|stored| stored.as_ref().ok()).cloned();
            let found = self.found_dialect(stored.as_ref()).await?;
            let local = self.in_dialect(found, node.as_ref())?;
            let root = self.root_of_3(&local).await?;
            let overwrites = self.overwrites;
            let class = root.as_ref().and_then(|root| root.write(overwrites));
            local.check_for_java()?;
            let local = match &root {
                Some(root) => root.with_stored_class(local),
                None => local,
            };
            // Every outcome of a write is read in the next iteration, an unknown one too.
            let stored = node.as_ref().zip(stored);
            match (decide(&path, stored, &local, overwrites)?, class) {
                (Decision::Write(txn), class) => {
                    has_replaced |= node.is_some();
                    self.write(with_first(class, txn)).await?;
                }
                (Decision::Keep(_), Some(class)) if overwrites => {
                    self.write(Txn::new().op(class)).await?;
                }
                (Decision::Keep(settled), _) => {
                    let differing = root.and_then(|root| root.difference());
                    let settled = settled.with(differing);
                    return Ok(Settlement { settled, local, in_force, has_replaced });
                }
            }
        }
    }

    /// Checks that the source of the code may register this job.
    ///
    /// Code of the program creates the job if there is none, and joins a job that other code has
    /// created. A runtime job takes its code from its template, and registration never creates it.
    async fn check_code_source(&self, is_stored: bool) -> Result<()> {
        let job = || self.local.job_name.clone();
        match (self.code_source, is_stored) {
            (CodeSource::Code, false) | (CodeSource::Template(_), true) => Ok(()),
            (CodeSource::Template(_), false) => Err(Error::NoSuchJob { job: job() }),
            (CodeSource::Code, true) => {
                let path = Layout::new(&self.local.job_name).template_path();
                let Some(node) = self.read(&path).await? else { return Ok(()) };
                let template = match decode_template(&node.data) {
                    Ok(record) => record.template.to_string(),
                    Err(fault) => format!("that cannot be read ({fault})"),
                };
                Err(Error::RuntimeJob { job: job(), template })
            }
        }
    }

    /// Returns the root node of a job of 3.x, which stores the Java class; `None` for 2.1.5.
    async fn root_of_3(&self, local: &JobConfig) -> Result<Option<RootNode>> {
        if local.java.dialect() != Dialect::V3 {
            return Ok(None);
        }
        let class = local.java.given_class().map(str::to_owned);
        let path = Layout::new(&local.job_name).root();
        let node = self.read(&path).await?;
        Ok(Some(RootNode { path, node, class }))
    }

    /// Returns the local configuration in the dialect of the stored nodes, or else in the likely
    /// one.
    fn in_dialect(&self, found: Option<FoundDialect>, node: Option<&Node>) -> Result<JobConfig> {
        let given = self.local.java.dialect();
        let settings_given = !self.local.java.has_default_fields();
        let asked_for = self.dialect.or(settings_given.then_some(given));
        let dialect = match (found, asked_for) {
            (Some(found), Some(wanted)) if found.dialect != wanted => {
                return Err(Error::Dialect {
                    job: self.local.job_name.clone(),
                    shown_by: found.shown_by.to_string(),
                    stored: found.dialect,
                    wanted,
                });
            }
            (Some(found), _) => found.dialect,
            (None, asked_for) => self.likely_dialect(asked_for, node),
        };
        if dialect == given {
            return Ok(self.local.clone());
        }
        let job_class = self.local.java.job_class.clone();
        let java = JavaSettings { job_class, ..JavaSettings::of(dialect) };
        Ok(JobConfig { java, ..self.local.clone() })
    }

    pub(crate) async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        self.ask(|| self.seams.registry.read(path), path).await
    }

    /// Returns the names of a node's children; empty if the node does not exist.
    pub(crate) async fn children(&self, path: &NodePath) -> Result<Vec<String>> {
        let children = self.ask(|| self.seams.registry.children(path), path).await?;
        Ok(children.unwrap_or_default())
    }

    /// Repeats a request until the registry answers or the deadline has passed.
    async fn ask<'a, T>(
        &'a self,
        question: impl Fn() -> BoxFuture<'a, reg_center::Result<T>> + Sync,
        path: &NodePath,
    ) -> Result<T> {
        loop {
            self.connected().await?;
            match self.seams.until(self.deadline, question()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => self.pause_after(error, || format!("reading {path}")).await?,
                Err(Elapsed) => return Err(self.too_late(format!("the registry to read {path}"))),
            }
        }
    }

    /// Commits a transaction. The write goes on after the deadline.
    async fn write(&self, txn: Txn) -> Result<()> {
        let registry = std::sync::Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match self.seams.until(self.deadline, outcome).await {
            Ok(Ok(Ok(TxnOutcome::Committed(_) | TxnOutcome::Conflict(_)))) => Ok(()),
            Ok(Ok(Err(error))) => {
                self.pause_after(error, || "writing the configuration".to_owned()).await
            }
            // The task was dropped without an answer: the outcome is unknown, and the next read
            // shows it.
            Ok(Err(_)) => Ok(()),
            Err(Elapsed) => {
                Err(self.too_late("the registry to store the configuration".to_owned()))
            }
        }
    }

    async fn connected(&self) -> Result<()> {
        let mut sessions = self.seams.registry.session_feed();
        let connected = async {
            while let Some(change) = sessions.next().await {
                match change {
                    SessionChange::Connected { .. } => return Ok(()),
                    SessionChange::Suspended { .. } | SessionChange::Lost { .. } => {}
                    SessionChange::Closed => break,
                }
            }
            Err(self.refused(reg_center::Error::Closed, "connecting".to_owned()))
        };
        match self.seams.until(self.deadline, connected).await {
            Ok(result) => result,
            Err(Elapsed) => Err(self.too_late("a connection to the registry".to_owned())),
        }
    }

    /// Waits after an error that can pass, and returns any other error.
    async fn pause_after(&self, error: reg_center::Error, act: impl Fn() -> String) -> Result<()> {
        if !(error.is_retryable() || error.is_unknown() || error.is_session_lost()) {
            return Err(self.refused(error, act()));
        }
        tracing::debug!(%error, "retrying the request to the registry");
        let pause = self.seams.clock.monotonic() + RETRY_PAUSE;
        if pause >= self.deadline {
            return Err(self.too_late(format!("the registry, {} ({error})", act())));
        }
        self.seams.clock.sleep_until(pause).await;
        Ok(())
    }

    fn refused(&self, source: reg_center::Error, act: String) -> Error {
        Error::Registry { job: self.local.job_name.clone(), act, source }
    }

    fn too_late(&self, what: String) -> Error {
        let waited = self.deadline.saturating_sub(self.started);
        Error::Deadline { job: self.local.job_name.clone(), waited, what }
    }
}

fn decide(
    path: &NodePath,
    stored: Option<(&Node, Result<JobConfig, ConfigError>)>,
    local: &JobConfig,
    overwrites: bool,
) -> Result<Decision> {
    let Some((node, stored)) = stored else {
        local.check_for_java()?;
        let create = Txn::new().create(path.clone(), document(local), Lifetime::Persistent);
        return Ok(Decision::Write(create));
    };
    let put = |config: &JobConfig| -> Result<Decision> {
        config.check_for_java()?;
        let put = Txn::new().put_if(path.clone(), node.stat.version, document(config));
        Ok(Decision::Write(put))
    };
    Ok(match stored {
        Err(_) if overwrites => put(local)?,
        Err(error) => Decision::Keep(Settled::Unreadable(error.to_string())),
        Ok(stored) if overwrites => {
            let wanted = keep_unmanaged_fields(local, &stored);
            // A 3.x document does not contain the Java class, so documents are compared instead of
            // configurations.
            let is_stored = document(&wanted) == node.data;
            if is_stored { Decision::Keep(Settled::Local) } else { put(&wanted)? }
        }
        Ok(stored) => Decision::Keep(match differences(&stored, local) {
            none if none.is_empty() => Settled::Local,
            some => Settled::Stored(some),
        }),
    })
}

fn document(config: &JobConfig) -> Bytes {
    Bytes::from(encode_config(config))
}

/// Returns the configuration to store when it is overwritten. Java's settings and unknown fields
/// keep their stored values unless the program sets them.
fn keep_unmanaged_fields(local: &JobConfig, stored: &JobConfig) -> JobConfig {
    let mut wanted = local.clone();
    if wanted.java.has_default_fields() {
        wanted.java.fields = stored.java.fields.clone();
    }
    if wanted.java.given_class().is_none() {
        wanted.java.job_class.clone_from(&stored.java.job_class);
    }
    if let (JavaFields::V2(wanted), JavaFields::V2(stored)) =
        (&mut wanted.java.fields, &stored.java.fields)
        && wanted.other_properties.is_empty()
    {
        wanted.other_properties.clone_from(&stored.other_properties);
    }
    if wanted.unknown.is_empty() {
        wanted.unknown = stored.unknown.clone();
    }
    wanted
}

fn differences(stored: &JobConfig, local: &JobConfig) -> Vec<ConfigDifference> {
    let pairs = stored.fields().into_iter().zip(local.fields());
    // `overwrite` of the stored configuration has no effect: only the local one is read.
    let differing = pairs
        .filter(|((field, stored), (_, local))| *field != "overwrite" && stored != local)
        .map(|((field, stored), (_, local))| ConfigDifference { field, stored, local });
    let of_2 = stored.java.dialect() == Dialect::V2;
    let class = local.java.given_class().filter(|_| of_2);
    differing.chain(class.and_then(|class| other_class(&stored.java.job_class, class))).collect()
}

/// Returns a difference if the classes differ: Java instances refuse to start with another class.
fn other_class(stored: &str, local: &str) -> Option<ConfigDifference> {
    let (field, quoted) = ("java_class", |class: &str| format!("{class:?}"));
    (stored != local).then(|| ConfigDifference {
        field,
        stored: quoted(stored),
        local: quoted(local),
    })
}

/// The root node of a job of 3.x, which stores the class of the Java job.
struct RootNode {
    path: NodePath,
    node: Option<Node>,
    /// The class that the program sets, if any.
    class: Option<String>,
}

impl RootNode {
    /// Returns the write of the class if no class is stored, or if another one is to be
    /// overwritten. Java writes the class only together with the configuration.
    fn write(&self, overwrite: bool) -> Option<Op> {
        let (path, data) = (self.path.clone(), Bytes::from(self.class.clone()?));
        let Some(node) = &self.node else {
            return Some(Op::Create { path, data, lifetime: Lifetime::Persistent });
        };
        let replaces = node.data.trim_ascii().is_empty() || overwrite;
        let expect = Expect::Version(node.stat.version);
        (node.data != data && replaces).then(|| Op::Put { path, data, expect })
    }

    /// Returns a difference if another class is stored.
    fn difference(&self) -> Option<ConfigDifference> {
        other_class(&self.stored_class()?, self.class.as_deref()?)
    }

    /// Sets the stored class in a configuration that has none.
    fn with_stored_class(&self, mut config: JobConfig) -> JobConfig {
        if let (None, Some(stored)) = (&self.class, self.stored_class()) {
            config.java.job_class = stored;
        }
        config
    }

    fn stored_class(&self) -> Option<String> {
        let stored = String::from_utf8_lossy(&self.node.as_ref()?.data).trim().to_owned();
        Some(stored).filter(|stored| !stored.is_empty())
    }
}

impl Settled {
    /// Adds a difference to the result.
    fn with(self, difference: Option<ConfigDifference>) -> Self {
        match (self, difference) {
            (Self::Local, Some(difference)) => Self::Stored(vec![difference]),
            (Self::Stored(mut differences), difference) => {
                differences.extend(difference);
                Self::Stored(differences)
            }
            (settled, _) => settled,
        }
    }
}

/// Prepends an operation to a transaction.
fn with_first(first: Option<Op>, txn: Txn) -> Txn {
    let all = first.into_iter().chain(txn.ops().iter().cloned());
    all.fold(Txn::new(), Txn::op)
}
