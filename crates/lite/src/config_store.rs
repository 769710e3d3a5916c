//! Settling the configuration when a job is registered: who wins, the stored one or the local one.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use coordination::{
    ConfigError, Dialect, JavaSettings, JobConfig, Layout, decode_config, encode_config,
};
use reg_center::{Lifetime, Node, NodePath, SessionChange, Txn, TxnOutcome};

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
    /// The dialect that the job must have; `None` for that of the stored configuration.
    pub(crate) dialect: Option<Dialect>,
    pub(crate) started: Duration,
    pub(crate) deadline: Duration,
}

impl ConfigStore<'_> {
    /// Reads, decides and writes until the stored configuration is as it shall be. Returns also in which dialect the job's
    /// nodes are.
    pub(crate) async fn settle(&self) -> Result<(Settled, Dialect)> {
        let path = Layout::new(&self.local.job_name).config_path();
        loop {
            let node = self.read(&path).await?;
            let stored = node.as_ref().map(|node| decode_config(&node.data));
            let local = self.in_dialect_of(stored.as_ref())?;
            match verdict(&path, node.as_ref().zip(stored), &local) {
                Verdict::Keep(settled) => return Ok((settled, local.java.dialect())),
                // What became of the write shows at the next reading, whatever its outcome.
                Verdict::Write(txn) => self.write(txn).await?,
            }
        }
    }

    /// Returns the local configuration in the dialect of the stored one.
    fn in_dialect_of(&self, stored: Option<&Result<JobConfig, ConfigError>>) -> Result<JobConfig> {
        let given = self.local.java.dialect();
        let found = match stored {
            Some(Ok(stored)) => stored.java.dialect(),
            Some(Err(_)) | None => self.dialect.unwrap_or(given),
        };
        let settings_given = self.local.java != JavaSettings::of(given);
        let wanted = self.dialect.or(settings_given.then_some(given));
        match wanted {
            Some(wanted) if wanted != found => {
                let job = self.local.job_name.clone();
                Err(Error::Dialect { job, stored: found, wanted })
            }
            _ if found == given => Ok(self.local.clone()),
            _ => Ok(JobConfig { java: JavaSettings::of(found), ..self.local.clone() }),
        }
    }

    async fn read(&self, path: &NodePath) -> Result<Option<Node>> {
        loop {
            self.connected().await?;
            let read = self.seams.registry.read(path);
            match self.seams.until(self.deadline, read).await {
                Ok(Ok(node)) => return Ok(node),
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
) -> Verdict {
    let Some((node, stored)) = stored else {
        let create = Txn::new().create(path.clone(), document(local), Lifetime::Persistent);
        return Verdict::Write(create);
    };
    let put = |config: &JobConfig| {
        Verdict::Write(Txn::new().put_if(path.clone(), node.stat.version, document(config)))
    };
    match stored {
        Err(_) if local.overwrite => put(local),
        Err(error) => Verdict::Keep(Settled::Unreadable(error.to_string())),
        Ok(stored) if local.overwrite => {
            let wanted = keeping_what_is_not_ours(local, &stored);
            // Not everything is in the document: the class of a Java job of 3.x is not.
            let is_stored = document(&wanted) == node.data;
            if is_stored { Verdict::Keep(Settled::Local) } else { put(&wanted) }
        }
        Ok(stored) => Verdict::Keep(match differences(&stored, local) {
            none if none.is_empty() => Settled::Local,
            some => Settled::Stored(some),
        }),
    }
}

fn document(config: &JobConfig) -> Bytes {
    Bytes::from(encode_config(config))
}

/// Overwriting replaces what this process knows about; Java's settings and unknown fields stay unless they are given.
fn keeping_what_is_not_ours(local: &JobConfig, stored: &JobConfig) -> JobConfig {
    let mut wanted = local.clone();
    if wanted.java == JavaSettings::of(wanted.java.dialect()) {
        wanted.java = stored.java.clone();
    }
    if wanted.unknown.is_empty() {
        wanted.unknown = stored.unknown.clone();
    }
    wanted
}

fn differences(stored: &JobConfig, local: &JobConfig) -> Vec<ConfigDifference> {
    let pairs = fields(stored).into_iter().zip(fields(local));
    pairs
        .filter(|((_, stored), (_, local))| stored != local)
        .map(|((field, stored), (_, local))| ConfigDifference { field, stored, local })
        .collect()
}

/// The fields that people set, as they would read them.
fn fields(config: &JobConfig) -> [(&'static str, String); 16] {
    [
        ("cron", format!("{:?}", config.cron.as_deref().unwrap_or_default())),
        ("time_zone", format!("{:?}", config.time_zone.as_deref().unwrap_or_default())),
        ("sharding_total_count", config.sharding_total_count.to_string()),
        ("sharding_item_parameters", format!("{:?}", config.sharding_item_parameters)),
        ("job_parameter", format!("{:?}", config.job_parameter)),
        ("failover", config.failover.to_string()),
        ("misfire", config.misfire.to_string()),
        ("monitor_execution", config.monitor_execution.to_string()),
        (
            "max_time_diff_seconds",
            config.max_time_diff_seconds.map_or("any".to_owned(), |seconds| seconds.to_string()),
        ),
        ("reconcile_interval_minutes", config.reconcile_interval_minutes.to_string()),
        ("catch_up", config.catch_up.map_or("none".to_owned(), |policy| policy.to_string())),
        ("static_sharding", config.static_sharding.to_string()),
        ("strategy", format!("{:?}", config.strategy)),
        ("description", format!("{:?}", config.description)),
        ("disabled", config.disabled.to_string()),
        ("overwrite", config.overwrite.to_string()),
    ]
}
