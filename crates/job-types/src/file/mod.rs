//! Files that declare jobs.

mod check;
mod declared;
mod entry;
mod error;
mod handlers;
mod keys;
#[cfg(feature = "alerts")]
mod messages;
mod model;
mod process;
#[cfg(feature = "http")]
mod request;
mod search;
mod several;
mod tree;

use std::collections::BTreeMap;
use std::path::Path;

use crate::{Allow, Invalid, ScriptLauncher};
use error::{describe, steps};
use lite::{GroupLimits, GroupName};
use model::{FileDoc, GroupDoc};
use search::{Found, read_all};
use serde::Deserialize as _;
use tree::{Node, Step};

pub use declared::DeclaredJob;
pub use entry::entry_of;
pub use error::JobFileError;
pub use process::ProcessOptions;
pub use several::{DifferentLimits, DuplicateJob, declared_configs, declared_groups};

/// A TOML or YAML file that declares jobs, so that a worker needs no code. Both forms have the same
/// keys.
///
/// Times have a unit: `500ms`, `5s`, `1m 30s`. Unknown keys are rejected.
///
/// # Registry
/// The key `registry` is the address of the registry that the jobs are for, such as
/// `sqlite:registry.db`. `ejob worker` uses it if its command line and its environment name none.
/// Other programs open it themselves: [`registry`](JobFile::registry).
///
/// # Process
/// The keys `max_concurrency`, `weight`, `zone` and `labels` (a table) are options of the process
/// that runs the jobs, as in [`SchedulerBuilder`](lite::SchedulerBuilder). In `ejob worker`, an
/// option or a variable wins over its key. Other programs pass them to their scheduler:
/// [`ProcessOptions::configure`].
///
/// # Keys of a job
/// - `name`, `sharding_total_count`: required.
/// - `cron`, `time_zone`, `excluded_days`, `excluded_times`, `not_before`, `not_after`,
///   `repeated_hour`, `jitter`, `sharding_item_parameters`, `job_parameter`, `failover`, `misfire`,
///   `monitor_execution`, `static_sharding`, `reconcile_interval`, `strategy`, `placement`,
///   `description`, `disabled`, `overwrite`: as in [`JobBuilder`](lite::JobBuilder).
/// - `excluded_times_file`: path of a file with excluded times or an iCalendar text, from the
///   folder of this file. Its contents are appended to `excluded_times` by [`JobFile::read`].
///   Documents that are parsed from a text must not have it.
/// - `catch_up`: a table with `window` and `max`.
/// - `max_time_diff`: a time as in [`JobBuilder`](lite::JobBuilder), or `off`, which disables the
///   comparison of clocks.
/// - `server_ttl`: a text as [`ServerTtl::parse`](lite::ServerTtl::parse) reads it, and
///   `start_rate` one of [`StartRate::parse`](lite::StartRate::parse), and `overlap` one of
///   [`Overlap::parse`](lite::Overlap::parse).
/// - `timeout`, `shutdown_grace`, `max_concurrency`, `error_handler_timeout`: as in
///   [`Registration`](lite::Registration).
/// - `output`: `keep` or `none`, and `output_kib`: whether and how much output of each run a
///   history keeps, as in [`Registration::output_limit`](lite::Registration::output_limit).
/// - `retry`: a table with `max_attempts`, and `first_delay`, `max_delay`, `after_panics` as in
///   [`RetryPolicy`](lite::RetryPolicy).
/// - `script`: a table with one of `command` (split as by
///   [`Script::parse`](crate::Script::parse)), `argv` (a list) and `shell`; and `env`,
///   `inherit_environment`, `directory`, `grace`, `max_logged_lines`, `outlives_worker` as in
///   [`Script`](crate::Script). `context` is `environment` (default), `argument` or
///   `none`, as in [`ScriptContext`](crate::ScriptContext).
/// - `http`: a table with `url` and `method`, and `body`, `content_type`, `headers`,
///   `connect_timeout`, `read_timeout`, `max_redirects` as in [`Http`](crate::Http).
/// - `stored`: `true` runs the definition of the registry, if `allow` permits it:
///   [`StoredJob`](crate::StoredJob).
/// - `error_handlers`: a list, see below. Without it the job has the handler of its stored
///   configuration, or else the log.
///
/// - `group`: the name of a group of jobs that share limits.
///
/// Each job has exactly one of `script`, `http` and `stored`.
///
/// # Groups
/// Each table `groups` has the `name` of a group of jobs, and `cluster_concurrency`, `start_rate`
/// or both. `ejob worker` stores them if the group has no limits yet. Other programs pass them to
/// [`Scheduler::define_group`](lite::Scheduler::define_group): [`groups`](JobFile::groups).
///
/// # Permissions and secrets
/// The table `allow` has the lists `commands` (each command is a list of words), `hosts`,
/// `alert_hosts` and `secrets`: see [`Allow`].
///
/// `url`, `body` and the values of `headers` and `env` may refer to secrets, as in
/// [`SecretText`](crate::SecretText). Recognizable credentials in plain text are rejected: in the
/// URL, and in the headers `authorization`, `proxy-authorization` and `cookie`.
///
/// # Error handlers
/// Each element of `error_handlers` has a `kind`. All handlers get each failure, in their order:
///
/// | kind | required | optional |
/// |---|---|---|
/// | `log`, `ignore`, `throw` | | |
/// | `slack`, `wecom` | `url` | `connect_timeout`, `read_timeout`, `merge_window` |
/// | `dingtalk` | `url` | the same, `secret`, `keyword` |
/// | `webhook` | `url` | the same as `slack`, `authorization` |
/// | `email` | `host`, `port`, `from`, `to` | see `job_alerts::Email` |
///
/// The optional keys of `email` are `username` and `password`, `cc`, `bcc`, `subject`, `tls`
/// (`wrapper`, `starttls` or `none`), `timeout` and `merge_window`.
///
/// All kinds but those of the first row need the feature `alerts` of this crate.
/// `job_alerts::Email` and `job_alerts::HttpAlert` describe their keys. `secret`, `authorization`
/// and `password` must refer to secrets, and so must every `url` except that of a `webhook`.
/// References are resolved when the file is read, and again for each message.
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
/// # Example: errors have the line, the job, the key and the valid values
/// ```
/// use job_types::JobFile;
///
/// let file = "[[jobs]]\nname = 'report'\nsharding_total_count = 1\n\
///             stored = true\ncrom = '@every 5m'";
/// let error = JobFile::from_toml(file).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"line 5: job "report": crom is an unknown key of a job; did you mean cron?"#
/// );
///
/// let file = "jobs: [{name: report, sharding_total_count: 1, timeout: 5, stored: true}]";
/// let error = JobFile::from_yaml(file).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 1: job \"report\": timeout is \"5\"; \
///      valid is a time with its unit, such as 500ms, 5s or 1m 30s"
/// );
/// ```
#[derive(Debug)]
pub struct JobFile {
    registry: Option<String>,
    process: ProcessOptions,
    allow: Allow,
    groups: Vec<(GroupName, GroupLimits)>,
    jobs: Vec<DeclaredJob>,
}

/// Language of a file of jobs.
#[derive(Clone, Copy)]
enum Form {
    Toml,
    Yaml,
}

impl Form {
    fn of(path: &Path) -> Result<Self, JobFileError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Ok(Self::Toml),
            Some("yaml" | "yml") => Ok(Self::Yaml),
            _ => Err(JobFileError::Form { path: path.to_owned() }),
        }
    }

    fn parse(self, text: &str, given: &Given<'_>) -> Result<JobFile, JobFileError> {
        let (form, tree) = match self {
            Self::Toml => ("TOML", tree::from_toml(text)),
            Self::Yaml => ("YAML", tree::from_yaml(text)),
        };
        let tree = tree.map_err(|reason| JobFileError::Syntax { form, reason })?;
        read_all(tree, |tree| JobFile::of(tree, given))
    }
}

/// Checks of a file by the rules of a program, such as the sharding strategies that it has:
/// [`JobFile::read_checked`].
///
/// A check may see a part several times, and parts in which a mistake was replaced.
pub trait FileChecks {
    /// Checks the address of the registry, as it is in the file.
    ///
    /// # Errors
    /// The reason, with what would be valid.
    fn registry(&self, _address: &str) -> Result<(), String> {
        Ok(())
    }

    /// Checks a job whose keys are valid by themselves.
    ///
    /// # Errors
    /// [`Invalid`] names the key, its value and what would be valid.
    fn job(&self, _job: &DeclaredJob) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Returns the groups of a file with their limits.
fn groups_of(docs: &[GroupDoc], tree: &Node) -> Result<Vec<(GroupName, GroupLimits)>, Found> {
    let mut groups: Vec<(GroupName, GroupLimits)> = Vec::new();
    for (n, doc) in docs.iter().enumerate() {
        let in_group = |invalid| {
            let start = [Step::Key("groups".to_owned()), Step::Index(n)];
            let path = [&start[..], &steps(&invalid)].concat();
            let line = tree.line_of(&path);
            Found { path, error: Box::new(JobFileError::File { line, invalid }) }
        };
        let group = check::group(doc).map_err(in_group)?;
        if groups.iter().any(|(name, _)| *name == group.0) {
            let found = format!("{:?}, which another group has", doc.name);
            return Err(in_group(Invalid::new("name", found, "a unique name")));
        }
        groups.push(group);
    }
    Ok(groups)
}

struct NoChecks;

impl FileChecks for NoChecks {}

/// Context in which a document is read.
struct Given<'a> {
    checks: &'a dyn FileChecks,
    reads: Reads<'a>,
}

impl Given<'_> {
    const NOTHING: Self = Self { checks: &NoChecks, reads: Reads::SecretsOnly };
    const SENT: Self = Self { checks: &NoChecks, reads: Reads::Nothing };
}

/// Permission of a document to make this process read its surroundings.
#[derive(Clone, Copy)]
enum Reads<'a> {
    /// Secrets, and files whose relative paths begin in this folder.
    FilesOf(&'a Path),
    /// The variables and files of its secrets.
    SecretsOnly,
    /// Nothing: it comes from another host.
    Nothing,
}

impl JobFile {
    /// Reads a file whose name ends in `.toml`, `.yaml` or `.yml`.
    ///
    /// # Errors
    /// [`JobFileError`] has the reason and its line. All mistakes are found at once:
    /// [`JobFileError::each`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, JobFileError> {
        Self::read_checked(path, &NoChecks)
    }

    /// Reads a file as [`read`](Self::read) does, with further checks. The mistakes that they find
    /// are reported together with the others, each with its line.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_checked(
        path: impl AsRef<Path>,
        checks: &dyn FileChecks,
    ) -> Result<Self, JobFileError> {
        let path = path.as_ref();
        let form = Form::of(path)?;
        let read = |source| JobFileError::Read { path: path.to_owned(), source };
        let given =
            Given { checks, reads: path.parent().map_or(Reads::SecretsOnly, Reads::FilesOf) };
        form.parse(&std::fs::read_to_string(path).map_err(read)?, &given)
    }

    /// Parses the text of a file whose name ends in `.toml`, `.yaml` or `.yml`. The text may come
    /// from another host, so it must not make this process read its files and secrets.
    ///
    /// It must not name files to read. The keys of the work (`script`, `http`, `error_handlers`)
    /// are not checked by their values, and the jobs have none of it: only their
    /// [configurations](DeclaredJob::config) are of use.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_named(name: impl AsRef<Path>, text: &str) -> Result<Self, JobFileError> {
        Form::of(name.as_ref())?.parse(text, &Given::SENT)
    }

    /// Parses a TOML document. It must not name files to read: only [`read`](Self::read) does that.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_toml(text: &str) -> Result<Self, JobFileError> {
        Form::Toml.parse(text, &Given::NOTHING)
    }

    /// Parses a YAML document. It must not name files to read: only [`read`](Self::read) does that.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_yaml(text: &str) -> Result<Self, JobFileError> {
        Form::Yaml.parse(text, &Given::NOTHING)
    }

    /// Reads a tree up to its first mistake.
    fn of(tree: &Node, given: &Given<'_>) -> Result<Self, Found> {
        let FileDoc { registry, max_concurrency, weight, zone, labels, allow, groups, jobs } =
            FileDoc::deserialize(tree).map_err(|mistake| describe(tree, &mistake))?;
        let in_file = |invalid| {
            let path = steps(&invalid);
            let line = tree.line_of(&path);
            Found { path, error: Box::new(JobFileError::File { line, invalid }) }
        };
        if registry.as_deref() == Some("") {
            return Err(in_file(Invalid::new("registry", "empty", keys::AN_ADDRESS)));
        }
        if let Some(Err(reason)) = registry.as_deref().map(|address| given.checks.registry(address))
        {
            let path = vec![Step::Key("registry".to_owned())];
            let error = JobFileError::Registry { line: tree.line_of(&path), reason };
            return Err(Found { path, error: Box::new(error) });
        }
        let process = ProcessOptions { max_concurrency, weight, zone, labels };
        process.check().map_err(in_file)?;
        let allow = check::allow(allow).map_err(in_file)?;
        if jobs.is_empty() && groups.is_empty() {
            return Err(in_file(Invalid::new("jobs", "empty", "at least one job or group")));
        }
        let groups = groups_of(&groups, tree)?;
        let mut names = BTreeMap::new();
        let mut declared = Vec::new();
        for (n, job) in jobs.into_iter().enumerate() {
            let name = job.name.clone();
            let start = [Step::Key("jobs".to_owned()), Step::Index(n)];
            let in_job = |invalid| {
                let path = [&start[..], &steps(&invalid)].concat();
                let (line, job) = (tree.line_of(&path), name.clone());
                Found { path, error: Box::new(JobFileError::Job { line, job, invalid }) }
            };
            let first = names.insert(name.clone(), tree.line_of(&start));
            let lines = tree.lines_below(&start);
            let job = check::job(job, &allow, lines, given.reads).map_err(in_job)?;
            if let Some(first) = first {
                let found = format!("{name:?}, which the job in line {first} has");
                return Err(in_job(Invalid::new("name", found, "a unique name")));
            }
            given.checks.job(&job).map_err(in_job)?;
            declared.push(job);
        }
        Ok(Self { registry, process, allow, groups, jobs: declared })
    }

    /// Returns the groups of jobs with their limits, in the order of the file.
    #[must_use]
    pub fn groups(&self) -> &[(GroupName, GroupLimits)] {
        &self.groups
    }

    /// Checks the programs of all scripts, as
    /// [`Script::check_program`](crate::Script::check_program) does.
    ///
    /// # Errors
    /// [`JobFileError::Job`] names the first job whose program cannot be started.
    pub fn check_programs(&self) -> Result<(), JobFileError> {
        self.jobs.iter().try_for_each(|job| {
            job.check_program().map_err(|invalid| {
                let line = job.line_of("script");
                JobFileError::Job { line, job: job.config.job_name.to_string(), invalid }
            })
        })
    }

    /// Sets the launcher of all scripts, including those that the registry defines. Default none.
    #[must_use]
    pub fn launcher(mut self, launcher: &ScriptLauncher) -> Self {
        for job in &mut self.jobs {
            job.work = job.work.clone().launcher(launcher);
        }
        self
    }

    /// Returns the address of the registry that the file names. It is not checked.
    #[must_use]
    pub fn registry(&self) -> Option<&str> {
        self.registry.as_deref()
    }

    /// Returns the options of the process that runs the jobs.
    #[must_use]
    pub fn process(&self) -> &ProcessOptions {
        &self.process
    }

    /// Returns the permissions of definitions from the registry.
    #[must_use]
    pub fn allow(&self) -> &Allow {
        &self.allow
    }

    /// Returns the jobs in the order of the file.
    #[must_use]
    pub fn jobs(&self) -> &[DeclaredJob] {
        &self.jobs
    }

    /// Converts the file to its jobs, to [schedule](DeclaredJob::schedule) them.
    #[must_use]
    pub fn into_jobs(self) -> Vec<DeclaredJob> {
        self.jobs
    }
}
