//! `create`: creates a job at run time, from a template that processes offer.

use std::path::PathBuf;

use clap::Args;
use coordination::{
    Dialect, JavaSettings, JobConfig, JobName, Label, TemplateName, TemplateRecord,
};

use super::config::read_document;
use super::config_fields::{assign, is_of};
use super::report;
use crate::context::{Context, Signed};
use crate::fault::Fault;
use crate::output::Page;
use crate::text::{dialect, job_name, label, template_name};

/// The only required field.
const COUNT: &str = "sharding_total_count";

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// Name of the new job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Fields and their values, such as sharding_total_count=4 "cron=0 0 3 * * ?"
    #[arg(value_name = "FIELD=VALUE", required_unless_present = "document")]
    fields: Vec<String>,
    /// Name of the template whose code the job runs
    #[arg(long, value_name = "NAME", value_parser = template_name)]
    template: TemplateName,
    /// Only processes that accept this label join the job
    #[arg(long, value_name = "WORD", value_parser = label)]
    label: Option<Label>,
    /// A document as ElasticJob stores it, applied before the fields; - for the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "dialect")]
    document: Option<PathBuf>,
    /// Dialect in which the job is stored: 2.1.5 or 3.x [default: 2.1.5]
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    dialect: Option<Dialect>,
    #[command(flatten)]
    signed: Signed,
}

impl CreateArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("create")?;
        let config = self.config()?;
        let template = TemplateRecord { template: self.template, label: self.label };
        let operations = cx.operations().await?;
        Ok(report::page(&operations.create_job(&template, &config, &by).await?))
    }

    /// Returns the configuration. It is checked as a whole before it is stored.
    fn config(&self) -> Result<JobConfig, Fault> {
        let mut config = match &self.document {
            Some(path) => read_document(path, &self.job)?,
            None if !self.fields.iter().any(|field| is_of(field, COUNT)) => {
                return Err(Fault::usage(format!(
                    "{COUNT} is missing; valid is 1 to 100000, such as {COUNT}=4"
                )));
            }
            None => {
                let java = JavaSettings::of(self.dialect.unwrap_or_default());
                JobConfig::new(self.job.clone(), 1).with(|it| it.java = java)
            }
        };
        let mut fields = self.fields.iter();
        fields.try_for_each(|field| assign(&mut config, field)).map_err(Fault::usage)?;
        Ok(config)
    }
}
