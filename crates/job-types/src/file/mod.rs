//! Files that declare jobs.

mod check;
mod handlers;
#[cfg(feature = "alerts")]
mod messages;
mod model;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use lite::{Job, JobConfig, JobError, Registration, RetryPolicy, Scheduler, ShardingContext};

use crate::{Allow, HttpJob, Invalid, Script, StoredJob};
use handlers::SharedHandler;
use model::FileDoc;

/// A file that declares jobs, so that a worker needs no code: TOML or YAML, with the same names.
///
/// Times are written with their unit: `500ms`, `5s`, `1m 30s`. Fields that nobody knows are refused.
///
/// | field of a job | meaning |
/// |---|---|
/// | `name`, `sharding_total_count` | required |
/// | `cron`, `time_zone`, `excluded_days`, `jitter`, `sharding_item_parameters`, `job_parameter`, `failover`, `misfire`, `monitor_execution`, `static_sharding`, `max_time_diff`, `reconcile_interval`, `strategy`, `description`, `disabled`, `overwrite` | as in [`JobBuilder`](lite::JobBuilder) |
/// | `catch_up` | `window`, `max` |
/// | `timeout`, `shutdown_grace`, `max_concurrency` | as in [`Registration`] |
/// | `retry` | `max_attempts`; `first_delay`, `max_delay`, `after_panics` as in [`RetryPolicy`] |
/// | `script` | one of `command` (split as by [`Script::parse`]), `argv` (a list) and `shell`; `env`, `inherit_environment`, `directory`, `grace`, `max_logged_lines` as in [`Script`] |
/// | `http` | `url`, `method`; `body`, `content_type`, `headers`, `connect_timeout`, `read_timeout`, `max_redirects` as in [`Http`](crate::Http) |
/// | `error_handlers` | a list, see below; without it, what the stored configuration chooses, else the log |
/// | `error_handler_timeout` | as in [`Registration`] |
/// | `stored` | `true`: what the registry says is run, as far as `allow` goes: [`StoredJob`] |
///
/// Each job has exactly one of `script`, `http` and `stored`. `allow` has `commands`, a list of lists of words, and `hosts`, `alert_hosts` and
/// `secrets`, lists: see [`Allow`]. `url`, `body` and the values of `headers` and `env` may refer to secrets, as in
/// [`SecretText`](crate::SecretText); credentials in plain text are refused where they can be told, in the URL and in the headers
/// `authorization`, `proxy-authorization` and `cookie`.
///
/// Each of the `error_handlers` has a `kind`. All are told of each failure, in their order:
///
/// | kind | required | optional |
/// |---|---|---|
/// | `log`, `ignore`, `throw` | | |
/// | `slack`, `wecom` | `url` | `connect_timeout`, `read_timeout`, `merge_window` |
/// | `dingtalk` | `url` | the same, `secret`, `keyword` |
/// | `webhook` | `url` | the same as `slack`, `authorization` |
/// | `email` | `host`, `port`, `from`, `to` | `username` and `password`, `cc`, `bcc`, `subject`, `tls` (`wrapper`, `starttls` or `none`), `timeout`, `merge_window` |
///
/// All but the first line need the feature `alerts` of this crate; what they mean is at `job_alerts::HttpAlert` and
/// `job_alerts::Email`. `secret`, `authorization`, `password`, and `url` unless it is that of a `webhook`, must refer to secrets.
/// They are looked up when the file is read, and again for each message.
///
/// # Examples
/// ```
/// use job_types::JobFile;
///
/// let file = JobFile::from_toml(r#"
///     [[jobs]]
///     name = "backup"
///     sharding_total_count = 2
///     sharding_item_parameters = "0=orders,1=customers"
///     cron = "0 0 3 * * ?"
///     failover = true
///     timeout = "30m"
///     retry = { max_attempts = 3, first_delay = "1m", max_delay = "10m" }
///     script = { command = "/usr/bin/backup --full", env = { PASSWORD = "${env:PATH}" } }
///
///     [[jobs]]
///     name = "report"
///     sharding_total_count = 1
///     http = { url = "https://reports.example.com/run", method = "POST" }
/// "#)?;
/// assert_eq!(file.jobs().len(), 2);
/// assert_eq!(file.jobs()[0].config().job_name.as_str(), "backup");
/// # Ok::<(), job_types::JobFileError>(())
/// ```
///
/// # Example: a mistake is named
/// ```
/// use job_types::JobFile;
///
/// let error = JobFile::from_toml("[[jobs]]\nname = 'report'\nsharding_total_count = 1\ncrom = '0 0 3 * * ?'").unwrap_err();
/// assert!(error.to_string().contains("line 4: unknown field `crom`"), "{error}");
///
/// let error = JobFile::from_yaml("jobs: [{name: report, sharding_total_count: 1, timeout: 5, stored: true}]").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"job "report": timeout is "5"; valid is a time with its unit, such as 500ms, 5s or 1m 30s"#
/// );
/// ```
#[derive(Debug)]
pub struct JobFile {
    allow: Allow,
    jobs: Vec<DeclaredJob>,
}

/// Why a file cannot be used. Nothing was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobFileError {
    /// The file cannot be read.
    #[error("{} cannot be read", .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the operating system says.
        #[source]
        source: std::io::Error,
    },
    /// Its name does not tell what it is.
    #[error("{} is of no known form; valid is a name that ends in .toml, .yaml or .yml", .path.display())]
    Form {
        /// Which file.
        path: PathBuf,
    },
    /// It cannot be taken apart, or has a field that nobody knows, or lacks one.
    #[error("the file is no {form} that declares jobs: {reason}")]
    Syntax {
        /// TOML or YAML.
        form: &'static str,
        /// Where and what, without the text of the file.
        reason: String,
    },
    /// A value of the list of what is allowed, or of the file as a whole.
    #[error("{0}")]
    File(Invalid),
    /// A value of a job.
    #[error("job {job:?}: {invalid}")]
    Job {
        /// Which job.
        job: String,
        /// Which field, what it is, and what would be valid.
        invalid: Invalid,
    },
}

impl JobFile {
    /// Reads a file whose name ends in `.toml`, `.yaml` or `.yml`.
    ///
    /// # Errors
    /// [`JobFileError`] says what is wrong and where.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, JobFileError> {
        let path = path.as_ref();
        let parse = match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::from_toml,
            Some("yaml" | "yml") => Self::from_yaml,
            _ => return Err(JobFileError::Form { path: path.to_owned() }),
        };
        let read = |source| JobFileError::Read { path: path.to_owned(), source };
        parse(&std::fs::read_to_string(path).map_err(read)?)
    }

    /// Takes a TOML document.
    ///
    /// # Errors
    /// [`JobFileError`] says what is wrong and where.
    pub fn from_toml(text: &str) -> Result<Self, JobFileError> {
        let doc = toml::from_str(text).map_err(|error: toml::de::Error| {
            // Not its display: that shows the line.
            let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count()) + 1;
            let reason = format!("line {line}: {}", error.message());
            JobFileError::Syntax { form: "TOML", reason }
        })?;
        Self::checked(doc)
    }

    /// Takes a YAML document.
    ///
    /// # Errors
    /// [`JobFileError`] says what is wrong and where.
    pub fn from_yaml(text: &str) -> Result<Self, JobFileError> {
        let options = serde_saphyr::options! { with_snippet: false };
        let doc = serde_saphyr::from_str_with_options(text, options);
        let syntax = |reason| JobFileError::Syntax { form: "YAML", reason };
        Self::checked(doc.map_err(|error: serde_saphyr::Error| syntax(error.to_string()))?)
    }

    fn checked(doc: FileDoc) -> Result<Self, JobFileError> {
        let allow = check::allow(doc.allow).map_err(JobFileError::File)?;
        if doc.jobs.is_empty() {
            let invalid = Invalid::new("jobs", "empty", "at least one job");
            return Err(JobFileError::File(invalid));
        }
        let mut names = BTreeSet::new();
        let mut jobs = Vec::new();
        for job in doc.jobs {
            let name = job.name.clone();
            let wrong = |invalid| JobFileError::Job { job: name.clone(), invalid };
            let is_new = names.insert(name.clone());
            let twice = || Invalid::new("name", format!("{name:?}, twice"), "a name of its own");
            jobs.push(check::job(job, &allow).map_err(wrong)?);
            if !is_new {
                return Err(wrong(twice()));
            }
        }
        Ok(Self { allow, jobs })
    }

    /// Returns what definitions from the registry may do here.
    #[must_use]
    pub fn allow(&self) -> &Allow {
        &self.allow
    }

    /// Returns the jobs in the order of the file.
    #[must_use]
    pub fn jobs(&self) -> &[DeclaredJob] {
        &self.jobs
    }

    /// Takes the jobs out, to [schedule](DeclaredJob::schedule) them.
    #[must_use]
    pub fn into_jobs(self) -> Vec<DeclaredJob> {
        self.jobs
    }
}

/// A job of a file: its configuration, what it does, and what is local to this process.
#[derive(Clone)]
pub struct DeclaredJob {
    config: JobConfig,
    work: Work,
    timeout: Option<Duration>,
    grace: Option<Duration>,
    max_concurrency: Option<usize>,
    retry: Option<RetryPolicy>,
    handlers: Vec<SharedHandler>,
    handler_timeout: Option<Duration>,
}

/// What a declared job does.
#[derive(Clone, Debug)]
enum Work {
    Script(Script),
    Http(HttpJob),
    Stored(StoredJob),
}

impl DeclaredJob {
    /// Returns the configuration that the job is registered with.
    #[must_use]
    pub fn config(&self) -> &JobConfig {
        &self.config
    }

    /// Registers the job with everything that the file says of it. Await what is returned, with more options before if need
    /// be.
    pub fn schedule(self, scheduler: &Scheduler) -> Registration {
        let mut registration = scheduler.schedule(self.config, self.work);
        if let Some(timeout) = self.timeout {
            registration = registration.timeout(timeout);
        }
        if let Some(grace) = self.grace {
            registration = registration.shutdown_grace(grace);
        }
        if let Some(max) = self.max_concurrency {
            registration = registration.max_concurrency(max);
        }
        if let Some(policy) = self.retry {
            registration = registration.retry(policy);
        }
        if let Some(timeout) = self.handler_timeout {
            registration = registration.error_handler_timeout(timeout);
        }
        for handler in self.handlers {
            registration = registration.error_handler(handler);
        }
        registration
    }
}

#[async_trait]
impl Job for Work {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        match self {
            Self::Script(job) => job.execute(context).await,
            Self::Http(job) => job.execute(context).await,
            Self::Stored(job) => job.execute(context).await,
        }
    }
}

impl fmt::Debug for DeclaredJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, work, .. } = self;
        let name = &config.job_name;
        f.debug_struct("DeclaredJob")
            .field("name", name)
            .field("work", work)
            .finish_non_exhaustive()
    }
}
