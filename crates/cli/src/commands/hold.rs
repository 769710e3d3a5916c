//! `pause`, `resume`, `disable`, `enable`: for servers and items.

use std::collections::BTreeSet;

use clap::Args;
use coordination::{JobName, ServerIp};
use operations::{JobSnapshot, JobState, Operations, Report, Scope, job_brief};

use super::report;
use crate::context::{Context, Reasoned, Signed};
use crate::fault::Fault;
use crate::output::{Page, line};
use crate::text::{Items, items, job_name, server_ip};

/// Jobs and servers of a change.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct Which {
    /// Name of the job [default: all jobs that know the server]
    #[arg(value_parser = job_name)]
    pub(crate) job: Option<JobName>,
    /// IP address of the server [default: all servers of the job]
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    pub(crate) server: Option<ServerIp>,
}

impl Which {
    /// Returns the scope; a job that does not know the server is an error.
    pub(crate) async fn scope(self, operations: &Operations) -> Result<Scope, Fault> {
        let Self { job, server } = self;
        if let (Some(job), Some(ip)) = (&job, &server) {
            known(operations, job, ip).await?;
        }
        Ok(Scope::new(job, server)?)
    }
}

/// Rejects a server that a job does not know.
pub(crate) async fn known(
    operations: &Operations,
    job: &JobName,
    ip: &ServerIp,
) -> Result<(), Fault> {
    known_in(&operations.job(job).await?, ip)
}

/// Rejects a server that the job of a snapshot does not know.
pub(crate) fn known_in(job: &JobSnapshot, ip: &ServerIp) -> Result<(), Fault> {
    if job.view().server_state(ip).is_some() {
        return Ok(());
    }
    let servers: Vec<String> = job.view().servers().map(|(ip, _)| ip.to_string()).collect();
    let servers = if servers.is_empty() { "none".to_owned() } else { servers.join(", ") };
    Err(Fault::not_found(format!("job {} has no server {ip}; it has {servers}", job.job())))
}

/// Returns the page for a change of servers.
pub(crate) fn page(report: &Report, scope: &Scope) -> Result<Page, Fault> {
    match (report.is_empty(), scope.job(), scope.server()) {
        (true, None, Some(ip)) => Err(Fault::no_server(ip)),
        _ => Ok(report::page(report)),
    }
}

#[derive(Debug, Args)]
pub(crate) struct PauseArguments {
    #[command(flatten)]
    which: Which,
    /// Answers with the command that holds items back
    #[arg(long, hide = true, visible_alias = "item", value_name = "ITEMS",
        value_parser = items_cannot_be_paused)]
    items: Option<Items>,
    #[command(flatten)]
    signed: Reasoned,
}

fn items_cannot_be_paused(text: &str) -> Result<Items, String> {
    Err(format!("servers are paused, and items are disabled: `ejob disable JOB --items {text}`"))
}

impl PauseArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by()?;
        let operations = cx.operations().await?;
        let scope = self.which.scope(&operations).await?;
        page(&operations.pause(&scope, &by).await?, &scope)
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    signed: Signed,
}

impl ResumeArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("resume")?;
        let operations = cx.operations().await?;
        let scope = self.which.scope(&operations).await?;
        page(&operations.resume(&scope, &by).await?, &scope)
    }
}

#[derive(Debug, Args)]
pub(crate) struct DisableArguments {
    #[command(flatten)]
    which: Which,
    /// Items of the job, such as 0,3-5, instead of servers
    #[arg(long, visible_alias = "item", value_name = "ITEMS", value_parser = items, requires = "job", conflicts_with = "server")]
    items: Option<Items>,
    #[command(flatten)]
    signed: Reasoned,
}

impl DisableArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by()?;
        let operations = cx.operations().await?;
        if let (Some(job), Some(Items(items))) = (&self.which.job, &self.items) {
            return Ok(report::page(&operations.disable_items(job, items, &by).await?));
        }
        let scope = self.which.scope(&operations).await?;
        let report = operations.disable(&scope, &by).await?;
        let mut page = page(&report, &scope)?;
        page.text.push_str(&without_server(&operations, &report).await);
        Ok(page)
    }
}

/// Returns a warning for each changed job of which no server with an instance is enabled any more.
///
/// The change is made already, so that a job that cannot be read is left out.
async fn without_server(operations: &Operations, report: &Report) -> String {
    let names: BTreeSet<&str> = report.done.iter().map(|entry| entry.job.as_str()).collect();
    let mut lines = String::new();
    for name in names.into_iter().filter_map(|name| JobName::new(name).ok()) {
        let job = operations.job(&name).await;
        if job.is_ok_and(|job| job_brief(&job).status == JobState::Disabled) {
            lines.push_str(&line(&format!(
                "warning: no server of {name} is enabled, so it does not run until \
                 `ejob enable {name}`"
            )));
        }
    }
    lines
}

#[derive(Debug, Args)]
pub(crate) struct EnableArguments {
    #[command(flatten)]
    which: Which,
    /// Items of the job, such as 0,3-5, instead of servers
    #[arg(long, visible_alias = "item", value_name = "ITEMS", value_parser = items, requires = "job", conflicts_with = "server")]
    items: Option<Items>,
    #[command(flatten)]
    signed: Signed,
}

impl EnableArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("enable")?;
        let operations = cx.operations().await?;
        if let (Some(job), Some(Items(items))) = (&self.which.job, &self.items) {
            return Ok(report::page(&operations.enable_items(job, items, &by).await?));
        }
        let scope = self.which.scope(&operations).await?;
        page(&operations.enable(&scope, &by).await?, &scope)
    }
}
