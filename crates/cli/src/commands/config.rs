//! `config get`, `set` and others: configurations; a change names the revision that it is based on.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use coordination::{JavaSettings, JobConfig, JobName, decode_config};
use job_types::JobFile;
use operations::{FieldChange, StoredConfig, differences};
use reg_center::Revision;
use serde_json::json;

use super::config_fields::{assign, document};
use super::config_former::{FormerArguments, RestoreArguments};
use super::report;
use super::worker::file_fault;
use crate::context::{Context, Signed};
use crate::fault::{Exit, Fault};
use crate::output::{Page, pairs};
use crate::text::{job_name, one_line, revision};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show a configuration and its revision
    Get(GetArguments),
    /// Change a configuration, unless another client has changed it since it was read
    Set(SetArguments),
    /// Show the fields in which a configuration would change; exit code 1 if there are any
    Diff(DiffArguments),
    /// List the former configurations, and what restoring each would change
    Former(FormerArguments),
    /// Restore a former configuration
    Restore(RestoreArguments),
}

impl ConfigCommand {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        match self {
            Self::Get(given) => given.run(cx).await,
            Self::Set(given) => given.run(cx).await,
            Self::Diff(given) => given.run(cx).await,
            Self::Former(given) => given.run(cx).await,
            Self::Restore(given) => given.run(cx).await,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct GetArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Show the document as stored, which may hold secrets
    #[arg(long)]
    document: bool,
}

impl GetArguments {
    async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let stored = cx.operations().await?.config(&self.job).await?;
        let mut shown = json!({
            "job": self.job.as_str(),
            "revision": stored.revision.to_string(),
            "config": stored.config.as_ref().ok().map(document),
            "fault": stored.config.as_ref().err(),
        });
        if self.document {
            shown["document"] = json!(stored.document);
            let text = stored.document.trim_end_matches('\n').to_owned() + "\n";
            return Ok(Page::new(text, &shown));
        }
        let revision = ("revision", stored.revision.to_string());
        let text = match &stored.config {
            Ok(config) => {
                let dialect = ("dialect", config.java.dialect().to_string());
                pairs([revision, dialect].into_iter().chain(config.fields()))
            }
            Err(fault) => pairs([revision, ("fault", fault.clone())]),
        };
        Ok(Page::new(text, &shown))
    }
}

/// The wanted configuration.
#[derive(Debug, Args)]
struct Wanted {
    /// Fields and their new values, such as failover=true "cron=0 0 3 * * ?"
    #[arg(value_name = "FIELD=VALUE", required_unless_present_any = ["document", "jobs"])]
    fields: Vec<String>,
    /// A document as ElasticJob stores it, instead of the stored one; - for the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "jobs")]
    document: Option<PathBuf>,
    /// A worker's file that declares the job
    #[arg(long, value_name = "FILE")]
    jobs: Option<PathBuf>,
}

impl Wanted {
    /// Returns the wanted configuration, based on the stored one.
    fn of(&self, job: &JobName, stored: &StoredConfig) -> Result<JobConfig, Fault> {
        let mut config = match (&self.document, &self.jobs) {
            (Some(path), _) => read_document(path, job)?,
            (None, Some(path)) => declared(path, job, stored)?,
            (None, None) => stored.config.clone().map_err(|fault| {
                Fault::refused(format!(
                    "the configuration of job {job} cannot be used: {fault}; replace it with --document"
                ))
            })?,
        };
        self.fields
            .iter()
            .try_for_each(|field| assign(&mut config, field).map_err(Fault::usage))?;
        Ok(config)
    }
}

/// Reads a document as ElasticJob stores it, for this job.
pub(super) fn read_document(path: &Path, job: &JobName) -> Result<JobConfig, Fault> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    let shown = path.display();
    read.map_err(|error| Fault::usage(format!("--document {shown} cannot be read: {error}")))?;
    let config = decode_config(&bytes).map_err(|error| {
        Fault::usage(format!("--document {shown} is not a configuration: {error}"))
    })?;
    if config.job_name != *job {
        return Err(Fault::usage(format!(
            "--document {shown} is for job {}; valid is a document for job {job}",
            config.job_name
        )));
    }
    Ok(config)
}

/// Reads the configuration from a file of jobs; fields that only Java reads stay as stored.
fn declared(path: &Path, job: &JobName, stored: &StoredConfig) -> Result<JobConfig, Fault> {
    let file = JobFile::read(path).map_err(|error| file_fault(path, &error))?;
    let declared = file.jobs().iter().find(|declared| declared.config().job_name == *job);
    let declared = declared
        .ok_or_else(|| Fault::not_found(format!("{} declares no job {job}", path.display())))?;
    let (java, unknown) = match &stored.config {
        Ok(config) => (config.java.clone(), config.unknown.clone()),
        Err(_) => (JavaSettings::default(), Vec::new()),
    };
    let wanted = declared.config().clone().with(|it| {
        it.java = java;
        it.unknown = unknown;
    });
    Ok(wanted.with_default_strategy(stored.config.as_ref().ok()))
}

#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    #[command(flatten)]
    wanted: Wanted,
    /// Change only if the stored configuration has this revision, as `config get` shows it
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    revision: Option<Revision>,
    #[command(flatten)]
    signed: Signed,
}

impl SetArguments {
    async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("config set")?;
        let operations = cx.operations().await?;
        let stored = operations.config(&self.job).await?;
        let expected = self.revision.unwrap_or(stored.revision);
        if expected != stored.revision {
            let (job, found) = (self.job, stored.revision);
            return Err(operations::Error::StaleConfig { job, expected, found }.into());
        }
        let wanted = self.wanted.of(&self.job, &stored)?;
        let updated = operations.update_config(&wanted, expected, &by).await?;
        let page = report::page(&updated.report);
        Ok(Page { json: json!({ "report": updated.report, "changes": updated.changes }), ..page })
    }
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    #[command(flatten)]
    wanted: Wanted,
}

impl DiffArguments {
    async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let stored = cx.operations().await?.config(&self.job).await?;
        let wanted = self.wanted.of(&self.job, &stored)?;
        let Ok(config) = &stored.config else {
            let text = "the stored configuration cannot be read; all fields would be replaced\n";
            return Ok(Page::new(text, &json!({ "changes": null })).ending(Exit::Partly));
        };
        let changes = differences(config, &wanted);
        let line = |change: &FieldChange| one_line(&change.to_string()) + "\n";
        let (text, exit) = if changes.is_empty() {
            ("no difference\n".to_owned(), Exit::Done)
        } else {
            (changes.iter().map(line).collect(), Exit::Partly)
        };
        Ok(Page::new(text, &json!({ "changes": changes })).ending(exit))
    }
}
