//! Configurations from one namespace to another: what is written into a file, and what importing it would do.

mod import;
mod version_1;

use std::collections::BTreeSet;

use coordination::{
    Dialect, InvalidName, JobConfig, JobName, Label, NodeKind, TemplateName, TemplateRecord,
    decode_config, encode_config,
};
use serde::{Deserialize, Serialize};

use crate::JobSnapshot;

pub use import::{ImportAct, ImportStep, Importable, plan_import};
pub use version_1::{Converted, convert_version_1};

/// The configurations of a namespace as a document, with a header that says what it is.
///
/// Each configuration is the document that the registry holds, so that nothing is lost of what only Java reads.
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
#[serde(deny_unknown_fields)]
pub struct Export {
    /// `ejob-export`.
    pub format: String,
    /// The version of the format: 1.
    pub version: u32,
    /// The jobs, in the order of their names.
    pub jobs: Vec<ExportedJob>,
}

/// A job of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedJob {
    /// Its name.
    pub job: String,
    /// The dialect of its document: `2.1.5` or `3.x`.
    pub dialect: String,
    /// The class of Java's job, which in 3.x is not in the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub java_class: Option<String>,
    /// What the job was made from; none if the code of its instances has registered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<ExportedTemplate>,
    /// The configuration as the registry holds it.
    pub document: String,
}

/// The template that a job of an export was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedTemplate {
    /// Its name.
    pub name: String,
    /// The word by which processes choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// Why an export cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// It is something else.
    #[error("format is {found:?}; valid is \"ejob-export\"")]
    Format {
        /// What it says.
        found: String,
    },
    /// It was written by a later program.
    #[error("version is {found}; this program reads version 1")]
    Version {
        /// What it says.
        found: u32,
    },
    /// A job is there twice.
    #[error("job {job:?} is there twice; valid is once")]
    Twice {
        /// Which.
        job: String,
    },
    /// The name of a job cannot be used.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The document of a job cannot be used.
    #[error("the document of job {job:?} cannot be used: {reason}")]
    Document {
        /// Which job.
        job: String,
        /// What is wrong with it.
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
            java_class: config
                .java
                .given_class()
                .filter(|_| config.java.dialect() == Dialect::V3)
                .map(str::to_owned),
            template: None,
            document: encode_config(config),
        });
        Self::of_jobs(jobs.collect())
    }

    fn of_jobs(mut jobs: Vec<ExportedJob>) -> Self {
        jobs.sort_by(|a, b| a.job.cmp(&b.job));
        Self { format: Self::FORMAT.to_owned(), version: Self::VERSION, jobs }
    }

    /// Returns what can be imported, each job read and checked as far as it can be without its namespace.
    ///
    /// # Errors
    /// [`ExportError`] names the first thing that is wrong.
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
        Ok(Importable { config, template })
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
        if let Some(class) = self.java_class.as_ref().filter(|_| dialect == Dialect::V3) {
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

/// Writes down the configurations of jobs, and which templates they were made from. What cannot be used is left out, and
/// returned with the reason.
#[must_use]
pub fn export<'a>(
    jobs: impl IntoIterator<Item = &'a JobSnapshot>,
) -> (Export, Vec<(String, String)>) {
    let (mut exported, mut left_out) = (Vec::new(), Vec::new());
    for job in jobs.into_iter().filter(|job| job.has_config()) {
        let template = match job.template().transpose() {
            Ok(template) => template.as_ref().map(ExportedTemplate::of),
            Err(fault) => {
                let why = format!("the template that it was made from cannot be read: {fault}");
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

/// Returns the class of Java's job that the root of a job of 3.x names.
fn class_in_root(job: &JobSnapshot) -> Option<String> {
    let layout = job.view().layout();
    let root = layout.root();
    let node = job.nodes().find(|node| node.path == root)?;
    layout.class_in_root(&node.data)
}
