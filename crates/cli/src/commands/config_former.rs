//! `config former`, `restore`: the replaced configurations of a job.

use clap::Args;
use coordination::{FormerConfig, JobName};
use operations::{JobSnapshot, differences};
use reg_center::Revision;
use serde_json::json;

use super::report;
use crate::context::{Context, Signed};
use crate::fault::Fault;
use crate::output::{Column, Page, Table};
use crate::text::{job_name, moment, revision};

#[derive(Debug, Args)]
pub(crate) struct FormerArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
}

impl FormerArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let job = cx.operations().await?.job(&self.job).await?;
        let former = newest_first(&job)?;
        if former.is_empty() {
            let text = "the configuration has not been replaced\n";
            return Ok(Page::new(text, &json!({ "former": [] })));
        }
        let rows = former.iter().enumerate().map(|(n, former)| {
            let FormerConfig { replaced_ms, who, why, .. } = former;
            vec![
                (n + 1).to_string(),
                moment(*replaced_ms),
                who.clone(),
                why.clone(),
                effect(&job, former),
            ]
        });
        let columns = [
            Column::plain("BACK"),
            Column::time("REPLACED"),
            Column::plain("AUTHOR"),
            Column::text("REASON"),
            Column::text("RESTORING IT CHANGES"),
        ];
        let text = Table::new(&columns, rows);
        let documents = former.iter().enumerate().map(|(n, former)| {
            json!({
                "back": n + 1,
                "replaced_ms": former.replaced_ms,
                "who": former.who,
                "why": former.why,
                "document": former.document,
                "changes": changes(&job, former).ok(),
            })
        });
        Ok(Page::new(text, &json!({ "former": documents.collect::<Vec<_>>() })))
    }
}

/// Returns the former configurations, the one that was replaced last first.
fn newest_first(job: &JobSnapshot) -> Result<Vec<FormerConfig>, Fault> {
    let former = job.former_configs().map_err(|error| {
        Fault::refused(format!("the former configurations of job {}: {error}", job.job()))
    })?;
    Ok(former.iter().rev().cloned().collect())
}

fn changes(
    job: &JobSnapshot,
    former: &FormerConfig,
) -> operations::Result<Vec<operations::FieldChange>> {
    let wanted = job.restored(former)?;
    Ok(job.config().map(|present| differences(present, &wanted)).unwrap_or_default())
}

/// Describes the effect of restoring a configuration.
fn effect(job: &JobSnapshot, former: &FormerConfig) -> String {
    match changes(job, former) {
        Err(error) => error.to_string(),
        Ok(_) if job.config().is_none() => "everything: the present one cannot be read".to_owned(),
        Ok(changes) if changes.is_empty() => "nothing".to_owned(),
        Ok(changes) => changes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Number of the configuration, as `config former` shows it: 1 was replaced last
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    back: u32,
    /// Change only if the stored configuration has this revision, as `config get` shows it
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    revision: Option<Revision>,
    /// Show which fields would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    signed: Signed,
}

impl RestoreArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("config restore")?;
        let operations = cx.operations().await?;
        let snapshot = operations.job(&self.job).await?;
        let former = newest_first(&snapshot)?;
        let index = usize::try_from(self.back - 1).unwrap_or(usize::MAX);
        let wanted = former.get(index).ok_or_else(|| {
            let (job, back) = (&self.job, self.back);
            Fault::not_found(match former.len() {
                0 => format!("the configuration of job {job} has not been replaced"),
                n => format!("--back is {back}; valid for job {job} is 1 to {n}"),
            })
        })?;
        let expected = self.revision.or(snapshot.config_revision()).unwrap_or_default();
        let updated = if self.dry_run {
            operations.preview_update(&snapshot.restored(wanted)?, expected).await?
        } else {
            operations.restore_config(&self.job, wanted, expected, &by).await?
        };
        let page = if self.dry_run { report::preview_page } else { report::page };
        let page = page(&updated.report);
        Ok(Page { json: json!({ "report": updated.report, "changes": updated.changes }), ..page })
    }
}
