//! Export of configurations into a file, and their import.

mod apply;
mod groups;
mod import;
mod version_1;

use std::collections::BTreeSet;

use coordination::{
    Dialect, InvalidConfig, InvalidName, JobConfig, JobName, Label, NodeKind, TemplateName,
    TemplateRecord, decode_config, encode_config,
};
use serde::{Deserialize, Serialize};

use crate::JobSnapshot;

pub use apply::{ApplyPlan, Owner, plan_apply};
pub use groups::{ExportedGroup, groups_of, plan_group_import};
pub use import::{ImportAct, ImportStep, Importable, plan_import};
pub use version_1::{Converted, convert_version_1};

/// The configurations of a namespace as a document, with a format header.
///
/// Each configuration is the stored document, so that fields which only Java reads are kept.
///
/// # Examples
/// ```
/// use coordination::{JobConfig, JobName};
/// use operations::Export;
///
/// let export = Export::of([&JobConfig::new(JobName::new("report")?, 3)]);
/// assert_eq!((export.format.as_str(), export.version), ("ejob-export", 1));
/// assert_eq!(export.importable()?[0].config.sharding_total_count, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Export {
    /// Name of the format: `ejob-export`.
    pub format: String,
    /// Version of the format: 1.
    pub version: u32,
    /// The jobs, in the order of their names.
    pub jobs: Vec<ExportedJob>,
    /// The groups of jobs that have limits, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ExportedGroup>,
}

/// A job of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExportedJob {
    /// Job name.
    pub job: String,
    /// The dialect of its document: `2.1.5` or `3.x`.
    pub dialect: String,
    /// Class of the Java job, which 3.x does not store in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub java_class: Option<String>,
    /// Template of the job; absent if the code of its instances registered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<ExportedTemplate>,
    /// The configuration as stored in the registry.
    pub document: String,
}

/// The template that an exported job was created from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExportedTemplate {
    /// Name of the template.
    pub name: String,
    /// Label by which processes choose whether they join the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Error of reading an export.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The document has another format.
    #[error("format is {found:?}; valid is \"ejob-export\"")]
    Format {
        /// Format that the document names.
        found: String,
    },
    /// The document has a later version.
    #[error("version is {found}; this program reads version 1")]
    Version {
        /// Version that the document names.
        found: u32,
    },
    /// A job occurs twice.
    #[error("job {job:?} occurs twice; each job may occur once")]
    Twice {
        /// Job name.
        job: String,
    },
    /// A group occurs twice.
    #[error("group {group:?} occurs twice; each group may occur once")]
    GroupTwice {
        /// Name of the group.
        group: String,
    },
    /// The limits of a group are not valid.
    #[error("group {group:?}: {fault}")]
    Group {
        /// Name of the group.
        group: String,
        /// The field, its value and the valid values.
        fault: InvalidConfig,
    },
    /// A name is not valid.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The document of a job cannot be read.
    #[error("the document of job {job:?} cannot be used: {reason}")]
    Document {
        /// Job name.
        job: String,
        /// Why it cannot be read.
        reason: String,
    },
}

impl Export {
    const FORMAT: &str = "ejob-export";
    const VERSION: u32 = 1;

    /// Makes an export of configurations.
    #[must_use]
    pub fn of<'a>(configs: impl IntoIterator<Item = &'a JobConfig>) -> Self {
        let jobs = configs.into_iter().map(|config| ExportedJob {
            job: config.job_name.to_string(),
            dialect: config.java.dialect().to_string(),
            java_class: match config.java.dialect() {
                Dialect::V2 => None,
                Dialect::V3 => config.java.given_class().map(str::to_owned),
            },
            template: None,
            document: encode_config(config),
        });
        Self::of_jobs(jobs.collect())
    }

    fn of_jobs(mut jobs: Vec<ExportedJob>) -> Self {
        jobs.sort_by(|a, b| a.job.cmp(&b.job));
        Self { format: Self::FORMAT.to_owned(), version: Self::VERSION, jobs, groups: Vec::new() }
    }

    /// Returns the jobs to import, each checked as far as possible without its namespace.
    ///
    /// # Errors
    /// [`ExportError`] names the first fault.
    pub fn importable(&self) -> Result<Vec<Importable>, ExportError> {
        if self.format != Self::FORMAT {
            return Err(ExportError::Format { found: self.format.clone() });
        }
        if self.version != Self::VERSION {
            return Err(ExportError::Version { found: self.version });
        }
        let mut names = BTreeSet::new();
        let twice = self.jobs.iter().find(|job| !names.insert(&job.job));
        if let Some(job) = twice {
            return Err(ExportError::Twice { job: job.job.clone() });
        }
        self.jobs.iter().map(ExportedJob::importable).collect()
    }
}

impl ExportedJob {
    fn importable(&self) -> Result<Importable, ExportError> {
        let config = self.config()?;
        let template = self.template.as_ref().map(ExportedTemplate::record).transpose()?;
        Ok(Importable { template, ..config.into() })
    }

    fn config(&self) -> Result<JobConfig, ExportError> {
        let wrong = |reason: String| ExportError::Document { job: self.job.clone(), reason };
        let name = JobName::new(&self.job)?;
        let mut config =
            decode_config(self.document.as_bytes()).map_err(|error| wrong(error.to_string()))?;
        if config.job_name != name {
            return Err(wrong(format!("it is of job {:?}", config.job_name.as_str())));
        }
        let dialect = config.java.dialect();
        if dialect.as_str() != self.dialect {
            return Err(wrong(format!("it is of ElasticJob {dialect}, not {:?}", self.dialect)));
        }
        if let Some(class) = &self.java_class
            && dialect == Dialect::V3
        {
            config.java.job_class.clone_from(class);
        }
        Ok(config)
    }
}

impl ExportedTemplate {
    fn of(record: &TemplateRecord) -> Self {
        let label = record.label.as_ref().map(ToString::to_string);
        Self { name: record.template.to_string(), label }
    }

    fn record(&self) -> Result<TemplateRecord, InvalidName> {
        let label = self.label.as_deref().map(Label::new).transpose()?;
        Ok(TemplateRecord { template: TemplateName::new(&self.name)?, label })
    }
}

/// Exports the configurations of jobs, with their templates.
///
/// A job that cannot be exported is returned with the reason.
#[must_use]
pub fn export<'a>(
    jobs: impl IntoIterator<Item = &'a JobSnapshot>,
) -> (Export, Vec<(String, String)>) {
    let (mut exported, mut left_out) = (Vec::new(), Vec::new());
    for job in jobs.into_iter().filter(|job| job.has_config()) {
        let template = match job.template().transpose() {
            Ok(template) => template.as_ref().map(ExportedTemplate::of),
            Err(fault) => {
                let why = format!("the template of the job cannot be read: {fault}");
                left_out.push((job.job().to_string(), why));
                continue;
            }
        };
        match (job.config_fault(), job.node(&NodeKind::Config)) {
            (Some(fault), _) => left_out.push((job.job().to_string(), fault.to_owned())),
            (None, None) => {}
            (None, Some(node)) => exported.push(ExportedJob {
                template,
                job: job.job().to_string(),
                dialect: job.dialect().to_string(),
                java_class: class_in_root(job),
                document: String::from_utf8_lossy(&node.data).into_owned(),
            }),
        }
    }
    (Export::of_jobs(exported), left_out)
}

/// Returns the Java class that the root of a job of 3.x names.
fn class_in_root(job: &JobSnapshot) -> Option<String> {
    let layout = job.view().layout();
    let root = layout.root();
    let node = job.nodes().find(|node| node.path == root)?;
    layout.class_in_root(&node.data)
}
