//! `shutdown`, `remove`, `remove-server`: for instances, jobs and servers.

use clap::Args;
use coordination::JobName;
use operations::{Removal, Scope, ServerPattern};
use serde_json::json;
use sharding::InstanceId;

use super::history::StoreArguments;
use super::hold::{Which, page};
use super::removal_history::RemovalHistory;
use super::report;
use crate::context::{Context, Reasoned, Signed};
use crate::fault::Fault;
use crate::output::{Page, counted};
use crate::text::{instance, job_name, server_pattern};
use crate::waiting;

#[derive(Debug, Args)]
pub(crate) struct ShutdownArguments {
    #[command(flatten)]
    which: Which,
    /// Id of one instance of the job [default: all of its instances]
    #[arg(long, value_name = "ID", value_parser = instance, requires = "job", conflicts_with = "server")]
    instance: Option<InstanceId>,
    #[command(flatten)]
    signed: Reasoned,
}

impl ShutdownArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by()?;
        let operations = cx.operations().await?;
        if let (Some(job), Some(instance)) = (&self.which.job, &self.instance) {
            return Ok(report::page(&operations.shut_down_instance(job, instance, &by).await?));
        }
        let scope = self.which.scope(&operations).await?;
        page(&operations.shut_down(&scope, &by).await?, &scope)
    }
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Remove the job: repeat its name, or pass the confirmation that the command shows without
    /// this option
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,
    /// Remove the job even while instances are alive; they are asked to leave
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    signed: Signed,
}

impl RemoveArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let Some(confirm) = &self.confirm else { return self.preview(cx).await };
        let by = self.signed.by_with_reason("remove")?;
        let how = if self.force { Removal::EvenIfAlive } else { Removal::UnlessAlive };
        let history = self.store.options()?;
        let operations = cx.operations().await?;
        let job = match &history {
            Some(_) => Some(operations.job(&self.job).await?),
            None => None,
        };
        let history = RemovalHistory::before_removal_of(&job, history).await;
        let removed = operations.remove_job(&self.job, confirm, how, &by);
        let report = Box::pin(waiting::shown(&format!("removing {}", self.job), removed)).await?;
        let page = report::page(&report);
        Ok(history.after(&report, page).await)
    }

    async fn preview(&self, cx: &Context<'_>) -> Result<Page, Fault> {
        let preview = cx.operations().await?.preview_removal(&self.job).await?;
        let force = if preview.instances.is_empty() { "" } else { " --force" };
        let mut text = cx.connect().context_line().unwrap_or_default();
        let nodes = counted(preview.nodes, "node");
        text.push_str(&format!("would remove {}: {nodes}\n", self.job));
        for instance in &preview.instances {
            text.push_str(&format!("would ask to leave: {instance}\n"));
        }
        let confirmation = &preview.confirmation;
        text.push_str(&format!(
            "nothing was removed; to remove the job: ejob remove {} --confirm {confirmation}{force} --why TEXT\n",
            self.job
        ));
        Ok(Page::new(text, &json!({ "preview": preview })))
    }
}

#[derive(Debug, Args)]
pub(crate) struct RemoveServerArguments {
    /// Name of the job [default: all jobs that know the server]
    #[arg(value_parser = job_name)]
    job: Option<JobName>,
    /// IP address of the server, or a pattern such as '10.0.*' of several
    #[arg(long, value_name = "IP", value_parser = server_pattern)]
    server: ServerPattern,
    /// Show which servers of which jobs would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    signed: Signed,
}

impl RemoveServerArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let Self { job, server, dry_run, signed } = self;
        let by = if dry_run { None } else { Some(signed.by_with_reason("remove-server")?) };
        let operations = cx.operations().await?;
        let scope = match server.exact() {
            Some(ip) => Which { job, server: Some(ip) }.scope(&operations).await?,
            None => Scope::matching(job, server.clone()),
        };
        let report = match &by {
            Some(by) => operations.remove_servers(&scope, by).await?,
            None => operations.preview_removal_of_servers(&scope).await?,
        };
        match (report.is_empty(), by.is_some()) {
            (true, _) => Err(Fault::no_server(&server)),
            (false, true) => Ok(report::page(&report)),
            (false, false) => Ok(report::preview_page(&report)),
        }
    }
}
