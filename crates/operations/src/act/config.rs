//! Configurations: read, compare, and update under the revision that was read.

use std::fmt;

use coordination::{
    AuditRecord, Dialect, FormerConfig, FormerConfigs, InvalidConfig, JavaExecutor, JavaFields,
    JavaJobType, JobConfig, JobName, NodeKind, OperatorStep, decode_config,
};
use parking_lot::Mutex;
use reg_center::Revision;
use serde::Serialize;

use crate::change::Planned;
use crate::{By, Error, JobSnapshot, Operations, Report, Result, validate};

/// A configuration as it is stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredConfig {
    /// Revision that an update has to name.
    pub revision: Revision,
    /// Configuration in force, or why the document cannot be read.
    pub config: Result<JobConfig, String>,
    /// The document as stored; bytes that are not UTF-8 are replaced.
    pub document: String,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldChange {
    /// Field name.
    pub field: &'static str,
    /// Stored value.
    pub from: String,
    /// Wanted value, or the value in the other document.
    pub to: String,
}

/// Maximum length of each value in a report and in an audit record, in bytes, so that one long
/// value leaves room for those of other fields.
const MAX_VALUE_BYTES: usize = 80;

impl FieldChange {
    /// Returns the change with shortened values, for a report and an audit record.
    fn brief(&self) -> String {
        let short = |value: &str| {
            if value.len() <= MAX_VALUE_BYTES {
                return value.to_owned();
            }
            let head = &value[..value.floor_char_boundary(MAX_VALUE_BYTES)];
            format!("{head}{} ({} bytes)", AuditRecord::CUT, value.len())
        };
        format!("{}: {} -> {}", self.field, short(&self.from), short(&self.to))
    }
}

impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.field, self.from, self.to)
    }
}

/// Result of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Updated {
    /// Report of the change.
    pub report: Report,
    /// Fields that have changed.
    pub changes: Vec<FieldChange>,
}

/// Returns the fields in which two configurations differ, including those that only Java reads.
///
/// Values that may hold secrets are masked: Java command lines, free properties, extra
/// configurations, and unknown fields.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
///
/// let stored = JobConfig::new(JobName::new("report")?, 3);
/// let wanted = stored.clone().with(|it| it.sharding_total_count = 4);
/// let changes = operations::differences(&stored, &wanted);
/// assert_eq!(changes[0].to_string(), "sharding_total_count: 3 -> 4");
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn differences(stored: &JobConfig, wanted: &JobConfig) -> Vec<FieldChange> {
    let pairs = fields(stored).into_iter().zip(fields(wanted));
    let differing = pairs.filter(|(from, to)| from.name == to.name && from.value != to.value);
    let change = |(from, to): (Field, Field)| FieldChange {
        field: from.name,
        from: from.shown(),
        to: to.shown(),
    };
    differing.map(change).collect()
}

/// A field of a configuration.
struct Field {
    name: &'static str,
    value: String,
    /// Text shown instead of a value that may hold secrets, such as a database password.
    mask: Option<String>,
}

impl Field {
    fn new(name: &'static str, value: impl fmt::Debug) -> Self {
        Self { name, value: format!("{value:?}"), mask: None }
    }

    /// Shows a missing value as `none`.
    fn optional(name: &'static str, value: Option<&String>) -> Self {
        let value = value.map_or("none".to_owned(), |value| format!("{value:?}"));
        Self { name, value, mask: None }
    }

    fn masked(self, mask: impl Into<String>) -> Self {
        Self { mask: Some(mask.into()), ..self }
    }

    fn shown(self) -> String {
        self.mask.unwrap_or(self.value)
    }
}

fn fields(config: &JobConfig) -> Vec<Field> {
    let known = config.fields().into_iter();
    let mut fields: Vec<Field> =
        known.map(|(name, value)| Field { name, value, mask: None }).collect();
    fields.push(Field { name: "dialect", value: config.java.dialect().to_string(), mask: None });
    fields.push(Field::new("java_class", &config.java.job_class));
    match &config.java.fields {
        JavaFields::V2(java) => fields.extend([
            job_type(&java.job_type),
            Field::new("java_exception_handler", &java.exception_handler),
            Field::new("java_executor", &java.executor_handler),
            Field::new("java_monitor_port", java.monitor_port),
            Field::new("java_props", &java.other_properties)
                .masked(names_of(java.other_properties.iter().map(|(name, _)| name))),
        ]),
        JavaFields::V3(java) => fields.extend([
            Field::optional("java_error_handler", java.error_handler.as_ref()),
            executor(java.executor.as_ref()),
            Field::new("java_listeners", &java.listeners),
            Field::optional("java_label", java.label.as_ref()),
            Field::new("java_props", &java.props).masked(names_of(java.props.keys())),
            Field::new("java_extra_configurations", &java.extra_configurations)
                .masked(format!("{} bytes, not shown", java.extra_configurations.len())),
        ]),
    }
    let names = names_of(config.unknown.iter().map(|(name, _)| name));
    fields.push(Field::new("unknown_fields", &config.unknown).masked(names));
    fields
}

fn executor(executor: Option<&JavaExecutor>) -> Field {
    let value = match executor {
        None => "none".to_owned(),
        Some(JavaExecutor::ServiceHandler(name)) => format!("service handler {name:?}"),
        Some(JavaExecutor::ThreadPoolSizeProvider(name)) => format!("pool size provider {name:?}"),
    };
    Field { name: "java_executor", value, mask: None }
}

/// A command line may hold a password.
fn job_type(kind: &JavaJobType) -> Field {
    let (value, mask) = match kind {
        JavaJobType::Simple => ("SIMPLE".to_owned(), None),
        JavaJobType::Dataflow { streaming: false } => ("DATAFLOW".to_owned(), None),
        JavaJobType::Dataflow { streaming: true } => ("DATAFLOW, streaming".to_owned(), None),
        JavaJobType::Script { command_line } => {
            let line = command_line.as_deref().unwrap_or_default();
            let mask = format!("SCRIPT, a command line of {} bytes, not shown", line.len());
            (format!("SCRIPT {line:?}"), Some(mask))
        }
    };
    Field { name: "java_job_type", value, mask }
}

fn names_of<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<&str> = names.map(String::as_str).collect();
    format!("[{}], values not shown", names.join(", "))
}

impl Operations {
    /// Reads a job's configuration, with the revision that an update has to name.
    ///
    /// # Errors
    /// [`Error::NoSuchJob`] if the registry has no such job, or a registry error.
    pub async fn config(&self, job: &JobName) -> Result<StoredConfig> {
        let snapshot = self.job(job).await?;
        let node = snapshot.node(&NodeKind::Config);
        let node = node.ok_or_else(|| Error::NoSuchJob { job: job.clone() })?;
        let fault = || snapshot.config_fault().unwrap_or_default().to_owned();
        Ok(StoredConfig {
            revision: node.stat.modified,
            config: snapshot.config().cloned().ok_or_else(fault),
            document: String::from_utf8_lossy(&node.data).into_owned(),
        })
    }

    /// Replaces a job's configuration if it has not changed since it was read at `expected`.
    ///
    /// Unknown fields of the stored document stay if `wanted` has them. They do if `wanted` came
    /// from [`config`](Self::config). A stored document that cannot be read can also be replaced.
    /// The replaced document becomes one of [`JobSnapshot::former_configs`].
    ///
    /// # Errors
    /// [`Error::StaleConfig`] with both revisions; [`Error::Invalid`] with the field, its value
    /// and the valid values; [`Error::NoSuchJob`], [`Error::Contended`], [`Error::NewerRecord`] of
    /// the former configurations, or a registry error. In each case nothing was changed.
    pub async fn update_config(
        &self,
        wanted: &JobConfig,
        expected: Revision,
        by: &By,
    ) -> Result<Updated> {
        let changes = Mutex::new(Vec::new());
        let plan = |snapshot: &JobSnapshot, _: &str| {
            let (mut planned, found) = self.plan_update(snapshot, wanted, expected)?;
            if let Some(node) =
                snapshot.node(&NodeKind::Config).filter(|_| !planned.done.is_empty())
            {
                planned.steps.extend(self.keep_former(snapshot, &node.data, by)?);
            }
            *changes.lock() = found;
            Ok(planned)
        };
        let report = self.change(&wanted.job_name, "update configuration", by, plan).await?;
        let changes = changes.into_inner();
        Ok(Updated { report, changes })
    }

    /// Returns the result that [`update_config`](Self::update_config) would have, without writing.
    ///
    /// # Errors
    /// As [`update_config`](Self::update_config), except those of the commit.
    pub async fn preview_update(&self, wanted: &JobConfig, expected: Revision) -> Result<Updated> {
        let snapshot = self.job(&wanted.job_name).await?;
        let (planned, changes) = self.plan_update(&snapshot, wanted, expected)?;
        Ok(Updated { report: planned.report(&wanted.job_name, None), changes })
    }

    /// Replaces a job's configuration by a former one, like [`update_config`](Self::update_config).
    ///
    /// # Errors
    /// As [`update_config`](Self::update_config). [`Error::Unreadable`] if the former document
    /// cannot be read.
    pub async fn restore_config(
        &self,
        job: &JobName,
        former: &FormerConfig,
        expected: Revision,
        by: &By,
    ) -> Result<Updated> {
        let wanted = self.job(job).await?.restored(former)?;
        self.update_config(&wanted, expected, by).await
    }

    /// Checks a wanted configuration, and returns the fields that an update would change.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field, its value and the valid values.
    pub fn preview_config(
        &self,
        job: &JobSnapshot,
        wanted: &JobConfig,
    ) -> Result<Vec<FieldChange>> {
        validate(wanted, job.config(), &self.strategies, self.now())?;
        fits_peers(job, wanted)?;
        Ok(job.config().map_or_else(Vec::new, |stored| differences(stored, wanted)))
    }

    fn plan_update(
        &self,
        job: &JobSnapshot,
        wanted: &JobConfig,
        expected: Revision,
    ) -> Result<(Planned, Vec<FieldChange>)> {
        let name = || job.job().clone();
        let node = job.node(&NodeKind::Config).ok_or_else(|| Error::NoSuchJob { job: name() })?;
        let found = node.stat.modified;
        if found != expected {
            return Err(Error::StaleConfig { job: name(), expected, found });
        }
        let changes = self.preview_config(job, wanted)?;
        let mut planned = Planned::default();
        if changes.is_empty() && job.config().is_some() {
            planned.keep("configuration", "it is as wanted already");
            return Ok((planned, changes));
        }
        let what = if changes.is_empty() {
            "repaired".to_owned()
        } else {
            changes.iter().map(FieldChange::brief).collect::<Vec<_>>().join("; ")
        };
        let config = Box::new(wanted.clone());
        let step = OperatorStep::SetConfig { config, version: node.stat.version };
        planned.change("configuration", what, [step]);
        Ok((planned, changes))
    }

    /// Returns the step that keeps a document which is to be replaced, if the log can keep it.
    fn keep_former(
        &self,
        job: &JobSnapshot,
        document: &[u8],
        by: &By,
    ) -> Result<Option<OperatorStep>> {
        let Some(document) = FormerConfigs::storable(document) else { return Ok(None) };
        let (mut log, expect) = job.former_config_log()?;
        log.push(FormerConfig {
            document: document.to_owned(),
            replaced_ms: self.now().as_millisecond(),
            who: by.who().to_owned(),
            why: by.why().to_owned(),
        });
        Ok(Some(OperatorStep::SetFormerConfigs { log, expect }))
    }
}

impl JobSnapshot {
    /// Returns the configuration that a former document stands for.
    ///
    /// # Errors
    /// [`Error::Unreadable`]: the document cannot be read, or it is of another job.
    pub fn restored(&self, former: &FormerConfig) -> Result<JobConfig> {
        let unusable = |fault: String| Error::Unreadable {
            job: self.job().clone(),
            reason: format!("the former document {fault}"),
        };
        let mut config = decode_config(former.document.as_bytes())
            .map_err(|error| unusable(format!("cannot be read: {error}")))?;
        if config.job_name != *self.job() {
            return Err(unusable(format!("is of job {:?}", config.job_name.as_str())));
        }
        // 3.x stores the class outside of the document.
        if let (Dialect::V3, Some(present)) = (config.java.dialect(), self.config()) {
            config.java.job_class.clone_from(&present.java.job_class);
        }
        Ok(config)
    }
}

/// Rejects a configuration that the live instances cannot read.
fn fits_peers(job: &JobSnapshot, wanted: &JobConfig) -> Result<(), InvalidConfig> {
    let (is, shall) = (job.dialect(), wanted.java.dialect());
    if is != shall {
        let valid = format!("{is}, as the job's other nodes are");
        return Err(InvalidConfig::new("dialect", shall, valid));
    }
    readable_by_peers(job, wanted)
}

/// Rejects a configuration that fails Java instances of the job; the dialect is already checked.
pub(crate) fn readable_by_peers(
    job: &JobSnapshot,
    wanted: &JobConfig,
) -> Result<(), InvalidConfig> {
    let is = job.dialect();
    let schedules = wanted.cron.is_some();
    if job.may_have_java() && is == Dialect::V2 && !schedules {
        let valid = "a Quartz expression: Java instances of 2.1.5 fail without one";
        return Err(InvalidConfig::new("cron", "none", valid));
    }
    if job.may_have_java() && is == Dialect::V3 && !wanted.unknown.is_empty() {
        let names: Vec<&str> = wanted.unknown.iter().map(|(name, _)| name.as_str()).collect();
        let valid = "none: Java instances of 3.x fail at a field that they do not know";
        return Err(InvalidConfig::new("unknown_fields", names.join(", "), valid));
    }
    Ok(())
}
