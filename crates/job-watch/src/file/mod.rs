//! The file of expectations: TOML, checked completely before it is used.

mod channels;
mod check;
mod model;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use coordination::JobName;
use job_alerts::AlertChannel;
use outbound::{SecretText, SyntaxFault, parse_toml, read_text};

use crate::{Condition, ConditionKind, Expectation, JobPattern};
use model::FileDoc;

/// Maximum size of a file, in KiB.
const MAX_FILE_KIB: u64 = 1024;
/// Maximum number of `[[expect]]` tables.
const MAX_RULES: usize = 1_000;
/// Maximum number of channels. Each is a record of the registry.
const MAX_CHANNELS: usize = 32;

/// A file of expectations, with its channels.
#[derive(Clone)]
pub struct WatchFile {
    /// Name of the namespace in messages.
    pub name: String,
    /// Time after which a message about a violation that continues is sent again; `None` for never.
    pub repeat: Option<Duration>,
    /// Minimum interval of two messages of one channel.
    pub group_interval: Duration,
    /// Age of the last known state at which the watcher reports that the registry does not answer.
    pub stale_after: Duration,
    /// Sign of life of the watcher.
    pub heartbeat: Option<Heartbeat>,
    channels: BTreeMap<String, Arc<AlertChannel>>,
    rules: Vec<Rule>,
}

/// URL that the watcher requests while it works, so that its end is noticed elsewhere.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Heartbeat {
    /// The URL.
    pub url: SecretText,
    /// Interval of the requests.
    pub every: Duration,
}

/// One `[[expect]]` table.
#[derive(Clone, Debug)]
struct Rule {
    pattern: JobPattern,
    expectations: Vec<Expectation>,
}

/// Reason why a file of expectations cannot be used. It shows no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchFileError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Read {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The text is not TOML, or has a key or a type that the file does not have.
    #[error("line {line}: {reason}")]
    Syntax {
        /// Line of the fault, counted from 1.
        line: usize,
        /// The fault.
        reason: String,
    },
    /// A value is not valid.
    #[error("{field} is {value}; valid is {valid}")]
    Invalid {
        /// The key with its table, such as `expect[0].late_after`, counted from 0.
        field: String,
        /// The value, shortened; a description in place of a secret.
        value: String,
        /// Description of valid values.
        valid: String,
    },
}

impl WatchFileError {
    fn invalid(
        field: impl Into<String>,
        value: impl fmt::Display,
        valid: impl Into<String>,
    ) -> Self {
        let value = coordination::shortened(&value.to_string());
        Self::Invalid { field: field.into(), value, valid: valid.into() }
    }
}

impl WatchFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`WatchFileError`] names the first fault.
    pub fn read(path: &Path) -> Result<Self, WatchFileError> {
        let read = File::open(path).and_then(|file| read_text(file, MAX_FILE_KIB));
        let shown = || path.display().to_string();
        let text = read.map_err(|source| {
            if source.kind() != io::ErrorKind::FileTooLarge {
                return WatchFileError::Read { path: shown(), source };
            }
            let max = MAX_FILE_KIB * 1024;
            let valid = format!("a file of at most {max} bytes");
            WatchFileError::invalid(shown(), format!("over {max} bytes"), valid)
        })?;
        Self::parse(&text)
    }

    /// Parses and checks a text.
    ///
    /// # Errors
    /// [`WatchFileError`] names the first fault.
    pub fn parse(text: &str) -> Result<Self, WatchFileError> {
        let doc: FileDoc = parse_toml(text)
            .map_err(|SyntaxFault { line, reason }| WatchFileError::Syntax { line, reason })?;
        if doc.expect.len() > MAX_RULES {
            let valid = format!("at most {MAX_RULES} tables");
            return Err(WatchFileError::invalid("expect", doc.expect.len(), valid));
        }
        if doc.channels.len() > MAX_CHANNELS {
            let valid = format!("at most {MAX_CHANNELS} tables");
            return Err(WatchFileError::invalid("channels", doc.channels.len(), valid));
        }
        let mut channels = BTreeMap::new();
        for (name, channel) in doc.channels {
            check::channel_name(&name)?;
            let made = channels::channel(&format!("channels.{name}"), &channel)?;
            channels.insert(name, Arc::new(made));
        }
        let names: Vec<&str> = channels.keys().map(String::as_str).collect();
        let rules = doc.expect.into_iter().enumerate();
        let rules = rules.map(|(n, rule)| check::rule(&format!("expect[{n}]"), rule, &names));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let heartbeat = doc.heartbeat.map(check::heartbeat).transpose()?;
        let or = |field, text: Option<&str>, default| {
            text.map_or(Ok(default), |text| check::duration(field, text))
        };
        let repeat = match doc.repeat.as_deref() {
            Some("never") => None,
            text => Some(or("repeat", text, Duration::from_secs(4 * 3_600))?),
        };
        Ok(Self {
            name: check::name(doc.name)?,
            repeat,
            group_interval: or(
                "group_interval",
                doc.group_interval.as_deref(),
                Duration::from_secs(60),
            )?,
            stale_after: or("stale_after", doc.stale_after.as_deref(), Duration::from_secs(60))?,
            heartbeat,
            channels,
            rules,
        })
    }

    /// Returns the expectations of a job in the order of their kinds.
    ///
    /// If several tables match the job, the last one that has the kind decides.
    #[must_use]
    pub fn expectations_of(&self, job: &str) -> Vec<Expectation> {
        let mut all: BTreeMap<ConditionKind, &Expectation> = BTreeMap::new();
        for rule in self.rules.iter().filter(|rule| rule.pattern.matches(job)) {
            for expectation in &rule.expectations {
                all.insert(expectation.condition.kind(), expectation);
            }
        }
        all.into_values().cloned().collect()
    }

    /// Returns the jobs that are named exactly, so that their absence is a violation.
    pub fn named_jobs(&self) -> impl Iterator<Item = JobName> + '_ {
        self.rules.iter().filter_map(|rule| rule.pattern.exact())
    }

    /// Replaces a channel, for programs that have one of their own. Tables that name no channels
    /// use those that the file declares.
    ///
    /// # Errors
    /// [`WatchFileError::Invalid`]: the name is not 1 to 64 ASCII letters, digits, `-` and `_`. It
    /// becomes the name of a node.
    pub fn channel(
        mut self,
        name: impl Into<String>,
        channel: AlertChannel,
    ) -> Result<Self, WatchFileError> {
        let name = name.into();
        check::channel_name(&name)?;
        self.channels.insert(name, Arc::new(channel));
        Ok(self)
    }

    /// Returns the channels by name.
    pub(crate) fn channels(&self) -> &BTreeMap<String, Arc<AlertChannel>> {
        &self.channels
    }

    /// Returns the number of channels.
    #[must_use]
    pub fn channel_count(&self) -> usize {
        self.channels.len()
    }
}

impl fmt::Debug for WatchFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchFile")
            .field("name", &self.name)
            .field("channels", &self.channels)
            .field("rules", &self.rules.len())
            .finish_non_exhaustive()
    }
}

/// Adds the condition that a job exists to the others, if the table names it exactly.
fn with_existence(pattern: &JobPattern, mut expectations: Vec<Expectation>) -> Vec<Expectation> {
    if pattern.exact().is_some()
        && let Some(first) = expectations.first()
    {
        let exists = Expectation { condition: Condition::Exists, ..first.clone() };
        expectations.push(exists);
    }
    expectations
}
