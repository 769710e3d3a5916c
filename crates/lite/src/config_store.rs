//! Settling the configuration when a job is registered: who wins, the stored one or the local one.

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
use crate::registration::Maker;
use crate::seams::{Elapsed, Seams};
use crate::{Error, Result};

/// How long to wait before asking a registry again that has just said that it cannot answer.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A field in which the local configuration differs from the stored one, which is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigDifference {
    /// Which field.
    pub field: &'static str,
    /// What is in force.
    pub stored: String,
    /// What this process has and does not use.
    pub local: String,
}

impl fmt::Display for ConfigDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is in force, {} is not", self.field, self.stored, self.local)
    }
}

/// What is in the registry after a job was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The local configuration.
    Local,
    /// A stored one that differs in these fields.
    Stored(Vec<ConfigDifference>),
    /// A stored document that cannot be read. It stays until somebody repairs it.
    Unreadable(String),
}

/// What has come of settling the configuration.
#[derive(Debug)]
pub(crate) struct Arranged {
    pub(crate) settled: Settled,
    /// The local configuration in the dialect of the job's nodes.
    pub(crate) local: JobConfig,
    /// The one that was found, if it could be read.
    pub(crate) in_force: Option<JobConfig>,
    /// This process has put the configuration into force now, in the place of another one.
    pub(crate) has_replaced: bool,
}

/// What to do about the stored configuration.
#[derive(Debug)]
enum Verdict {
    Keep(Settled),
    Write(Txn),
}

/// One registration's dealings with the stored configuration.
#[derive(Debug)]
pub(crate) struct ConfigStore<'a> {
    pub(crate) seams: &'a Seams,
    pub(crate) local: &'a JobConfig,
    /// Where the job's code comes from.
    pub(crate) maker: &'a Maker,
    /// The dialect that the job must have; `None` for that of what is stored.
    pub(crate) dialect: Option<Dialect>,
    /// Whether the local configuration replaces the stored one.
    pub(crate) overwrites: bool,
    pub(crate) started: Duration,
    pub(crate) deadline: Duration,
}

impl ConfigStore<'_> {
    /// Reads, decides and writes until the stored configuration is as it shall be.
    pub(crate) async fn settle(&self) -> Result<Arranged> {
        let path = Layout::new(&self.local.job_name).config_path();
        let mut has_replaced = false;
        loop {
            let node = self.read(&path).await?;
            self.check_maker(node.is_some()).await?;
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
            // What became of a write shows at the next reading, whatever its outcome.
            let stored = node.as_ref().zip(stored);
            match (verdict(&path, stored, &local, overwrites)?, class) {
                (Verdict::Write(txn), class) => {
                    has_replaced |= node.is_some();
                    self.write(with_first(class, txn)).await?;
                }
                (Verdict::Keep(_), Some(class)) if overwrites => {
                    self.write(Txn::new().op(class)).await?;
                }
                (Verdict::Keep(settled), _) => {
                    let differing = root.and_then(|root| root.difference());
                    let settled = settled.with(differing);
                    return Ok(Arranged { settled, local, in_force, has_replaced });
                }
            }
        }
    }

    /// Code of this process makes a job if there is none, and joins one that code has made. What was made at run time has the
    /// code of its template, and is never made here.
    async fn check_maker(&self, is_stored: bool) -> Result<()> {
        let job = || self.local.job_name.clone();
        match (self.maker, is_stored) {
            (Maker::Code, false) | (Maker::Template(_), true) => Ok(()),
            (Maker::Template(_), false) => Err(Error::NoSuchJob { job: job() }),
            (Maker::Code, true) => {
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

    /// Returns the root node of the job if it is where the class belongs: that of a job of 3.x.
    async fn root_of_3(&self, local: &JobConfig) -> Result<Option<RootNode>> {
        if local.java.dialect() != Dialect::V3 {
            return Ok(None);
        }
        let class = local.java.given_class().map(str::to_owned);
        let path = Layout::new(&local.job_name).root();
        let node = self.read(&path).await?;
        Ok(Some(RootNode { path, node, class }))
    }

    /// Returns the local configuration in the dialect of what is stored, or else in the likely one.
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

    /// Returns the names of a node's children; none if there is no such node.
    pub(crate) async fn children(&self, path: &NodePath) -> Result<Vec<String>> {
        let children = self.ask(|| self.seams.registry.children(path), path).await?;
        Ok(children.unwrap_or_default())
    }

    /// Asks until the registry answers or the deadline has passed.
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

    /// The write goes on when nobody waits for it any more.
    async fn write(&self, txn: Txn) -> Result<()> {
        let registry = std::sync::Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match self.seams.until(self.deadline, outcome).await {
            Ok(Ok(Ok(TxnOutcome::Committed(_) | TxnOutcome::Conflict(_)))) => Ok(()),
            Ok(Ok(Err(error))) => {
                self.pause_after(error, || "writing the configuration".to_owned()).await
            }
            // The task is gone without an answer: the outcome is unknown and will be read.
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

    /// Goes on after an error that can pass, and gives up after any other.
    async fn pause_after(&self, error: reg_center::Error, act: impl Fn() -> String) -> Result<()> {
        if !(error.is_retryable() || error.is_unknown() || error.is_session_lost()) {
            return Err(self.refused(error, act()));
        }
        tracing::debug!(%error, "asking the registry again");
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

fn verdict(
    path: &NodePath,
    stored: Option<(&Node, Result<JobConfig, ConfigError>)>,
    local: &JobConfig,
    overwrites: bool,
) -> Result<Verdict> {
    let Some((node, stored)) = stored else {
        local.check_for_java()?;
        let create = Txn::new().create(path.clone(), document(local), Lifetime::Persistent);
        return Ok(Verdict::Write(create));
    };
    let put = |config: &JobConfig| -> Result<Verdict> {
        config.check_for_java()?;
        let put = Txn::new().put_if(path.clone(), node.stat.version, document(config));
        Ok(Verdict::Write(put))
    };
    Ok(match stored {
        Err(_) if overwrites => put(local)?,
        Err(error) => Verdict::Keep(Settled::Unreadable(error.to_string())),
        Ok(stored) if overwrites => {
            let wanted = keeping_what_is_not_ours(local, &stored);
            // Not everything is in the document: the class of a Java job of 3.x is not.
            let is_stored = document(&wanted) == node.data;
            if is_stored { Verdict::Keep(Settled::Local) } else { put(&wanted)? }
        }
        Ok(stored) => Verdict::Keep(match differences(&stored, local) {
            none if none.is_empty() => Settled::Local,
            some => Settled::Stored(some),
        }),
    })
}

fn document(config: &JobConfig) -> Bytes {
    Bytes::from(encode_config(config))
}

/// Overwriting replaces what this process knows about; Java's settings and unknown fields stay unless they are given.
fn keeping_what_is_not_ours(local: &JobConfig, stored: &JobConfig) -> JobConfig {
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
    // Who wins at a start is read from the local configuration alone.
    let differing = pairs
        .filter(|((field, stored), (_, local))| *field != "overwrite" && stored != local)
        .map(|((field, stored), (_, local))| ConfigDifference { field, stored, local });
    let of_2 = stored.java.dialect() == Dialect::V2;
    let class = local.java.given_class().filter(|_| of_2);
    differing.chain(class.and_then(|class| other_class(&stored.java.job_class, class))).collect()
}

/// Java instances refuse to start where another class stands.
fn other_class(stored: &str, local: &str) -> Option<ConfigDifference> {
    let (field, quoted) = ("java_class", |class: &str| format!("{class:?}"));
    (stored != local).then(|| ConfigDifference {
        field,
        stored: quoted(stored),
        local: quoted(local),
    })
}

/// The root node of a job of 3.x, in which the class of the Java job stands.
struct RootNode {
    path: NodePath,
    node: Option<Node>,
    /// The class that was given here, if any.
    class: Option<String>,
}

impl RootNode {
    /// Returns what writes the class: where there is none, and where another one is to be overwritten. Java itself writes
    /// the class only when it writes the configuration.
    fn write(&self, overwrite: bool) -> Option<Op> {
        let (path, data) = (self.path.clone(), Bytes::from(self.class.clone()?));
        let Some(node) = &self.node else {
            return Some(Op::Create { path, data, lifetime: Lifetime::Persistent });
        };
        let replaces = node.data.trim_ascii().is_empty() || overwrite;
        let expect = Expect::Version(node.stat.version);
        (node.data != data && replaces).then(|| Op::Put { path, data, expect })
    }

    /// Tells that another class stands there.
    fn difference(&self) -> Option<ConfigDifference> {
        other_class(&self.stored_class()?, self.class.as_deref()?)
    }

    /// Gives a configuration the class that stands there, if it has none.
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
    /// Adds a difference between what is stored and what is not.
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

/// Puts an operation before those of a transaction.
fn with_first(first: Option<Op>, txn: Txn) -> Txn {
    let all = first.into_iter().chain(txn.ops().iter().cloned());
    all.fold(Txn::new(), Txn::op)
}
