//! `jobs`, `instances`, `servers`: overviews of a namespace.

use clap::Args;
use coordination::{Dialect, JobName, ServerIp, server_of};
use operations::{
    JobBrief, JobSnapshot, JobState, LiveNamespace, Namespace, ServerBrief, ServerJob,
};
use serde::Serialize;
use serde_json::json;
use sharding::InstanceId;

use super::watch::{Answer, WatchOption, follow};
use crate::context::Context;
use crate::fault::{Exit, Fault};
use crate::output::{Column, Page, Table, Text, snake_case};
use crate::text::{job_name, or_dash, server_ip};

#[derive(Debug, Args)]
pub(crate) struct JobsArguments {
    /// Only jobs that know this server, with the state of the server in each
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    server: Option<ServerIp>,
    #[command(flatten)]
    follow: WatchOption,
}

impl JobsArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        if self.follow.watch {
            return follow(cx, "jobs", |live| self.live(live)).await;
        }
        let namespace = cx.operations().await?.namespace().await?;
        match self.server {
            Some(ip) => jobs_of(&namespace, &ip),
            None => Ok(jobs(&namespace)),
        }
    }

    fn live(&self, live: &LiveNamespace) -> Answer {
        match &self.server {
            Some(ip) => {
                let snapshots = live.jobs();
                let jobs = operations::jobs_of_server(snapshots.iter().map(|job| &**job), ip);
                (format!("jobs of {ip}: {}", jobs.len()), server_job_table(&jobs))
            }
            None => {
                let list = live.list();
                let jobs = list.jobs();
                (format!("jobs: {}", jobs.len()), job_table(jobs.iter().map(|job| &**job)))
            }
        }
    }
}

fn jobs(namespace: &Namespace) -> Page {
    let briefs = operations::job_briefs(&namespace.jobs);
    with_unread(job_table(briefs.iter()), &json!({ "jobs": snake_case(&briefs) }), namespace)
}

/// Draws the list of jobs.
fn job_table<'a>(briefs: impl ExactSizeIterator<Item = &'a JobBrief>) -> Text {
    let row = |job: &JobBrief| {
        vec![
            job.job_name.clone(),
            state_text(job),
            or_dash(job.sharding_total_count),
            job.instance_count.to_string(),
            job.cron.clone().unwrap_or_else(|| "on request".to_owned()),
            job.dialect.to_owned(),
            job.config_fault.clone().or_else(|| job.description.clone()).unwrap_or_default(),
        ]
    };
    let columns = [
        Column::name("JOB"),
        Column::state("STATE"),
        Column::plain("ITEMS"),
        Column::plain("INSTANCES"),
        Column::plain("CRON"),
        Column::plain("DIALECT").extra().unless_all(Dialect::V2.as_str()),
        Column::text("DESCRIPTION").extra(),
    ];
    if briefs.len() == 0 {
        return "no jobs\n".into();
    }
    Table::new(&columns, briefs.map(row)).into()
}

fn jobs_of(namespace: &Namespace, ip: &ServerIp) -> Result<Page, Fault> {
    let jobs = operations::jobs_of_server(&namespace.jobs, ip);
    if jobs.is_empty() {
        return Err(Fault::no_server(ip));
    }
    Ok(with_unread(server_job_table(&jobs), &json!({ "jobs": snake_case(&jobs) }), namespace))
}

fn server_job_table(jobs: &[ServerJob]) -> Text {
    let rows = jobs.iter().map(|job| {
        let state = match (job.paused, job.status) {
            (true, _) => "paused",
            (false, JobState::Disabled) => "disabled",
            (false, _) => "enabled",
        };
        vec![job.job_name.clone(), state.to_owned(), job.instance_count.to_string()]
    });
    let columns = [Column::name("JOB"), Column::state("SERVER STATE"), Column::plain("INSTANCES")];
    if jobs.is_empty() { "no jobs\n".into() } else { Table::new(&columns, rows).into() }
}

/// Adds the jobs that could not be read, so that they are not taken for absent.
pub(crate) fn with_unread(
    text: impl Into<Text>,
    document: &serde_json::Value,
    namespace: &Namespace,
) -> Page {
    let (mut text, mut document) = (text.into(), document.clone());
    let unread = namespace.unread.iter();
    let unread: Vec<_> = unread.map(|(job, error)| (job, error.to_string())).collect();
    for (job, error) in &unread {
        let line = crate::text::one_line(&format!("not read: {job}: {error}"));
        text.push_str(&(line + "\n"));
    }
    let rows = unread.iter().map(|(job, error)| json!({ "job": job, "error": error }));
    document["unread"] = rows.collect();
    let exit = if unread.is_empty() { Exit::Done } else { Exit::Partly };
    Page::new(text, &document).ending(exit)
}

/// Returns the state of a job, with the failing items and paused servers if only a part is
/// affected.
pub(crate) fn state_text(job: &JobBrief) -> String {
    let total = job.sharding_total_count.unwrap_or_default();
    let state = job.status.as_str();
    let failing = match (job.status, job.failing_items) {
        (JobState::Failing, n) => Some(format!("{n} of {total} items")),
        _ => None,
    };
    let is_part = job.paused_servers > 0 && job.status != JobState::Paused;
    let paused =
        is_part.then(|| format!("{} of {} servers paused", job.paused_servers, job.live_servers));
    let more: Vec<_> = failing.into_iter().chain(paused).collect();
    if more.is_empty() { state.to_owned() } else { format!("{state} ({})", more.join(", ")) }
}

#[derive(Debug, Args)]
pub(crate) struct InstancesArguments {
    /// Only instances of this job
    #[arg(long, value_name = "NAME", value_parser = job_name)]
    job: Option<JobName>,
    /// Only instances on this server
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    server: Option<ServerIp>,
    #[command(flatten)]
    follow: WatchOption,
}

impl InstancesArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        if self.follow.watch {
            return follow(cx, "instances", |live| self.live(live)).await;
        }
        let operations = cx.operations().await?;
        let namespace = match &self.job {
            None => operations.namespace().await?,
            Some(job) => {
                Namespace { jobs: vec![operations.job(job).await?], ..Namespace::default() }
            }
        };
        let briefs = self.briefs(namespace.configured());
        let document = json!({ "instances": briefs });
        Ok(with_unread(all_instances(&briefs), &document, &namespace))
    }

    fn live(&self, live: &LiveNamespace) -> Answer {
        let jobs = live.jobs();
        let is_meant = |job: &&JobSnapshot| {
            job.has_config() && self.job.as_ref().is_none_or(|name| name == job.job())
        };
        let briefs = self.briefs(jobs.iter().map(|job| &**job).filter(is_meant));
        (format!("instances: {}", briefs.len()), all_instances(&briefs))
    }

    fn briefs<'a>(&self, jobs: impl Iterator<Item = &'a JobSnapshot>) -> Vec<InstanceBrief> {
        let of_server = |brief: &InstanceBrief| {
            self.server.as_ref().is_none_or(|ip| brief.server == ip.as_str())
        };
        jobs.flat_map(instance_briefs).filter(of_server).collect()
    }
}

fn all_instances(briefs: &[InstanceBrief]) -> Text {
    if briefs.is_empty() { "no instances\n".into() } else { instance_table(briefs, true).into() }
}

/// Summary of an instance, for one line of a table.
#[derive(Debug, Serialize)]
pub(crate) struct InstanceBrief {
    job: String,
    instance: String,
    server: String,
    /// `java` or `rust`; `None` while a manual request in the node hides the language.
    language: Option<&'static str>,
    /// `available`, `leaving`, `disabled`, `paused`, `excluded` or `unavailable`.
    state: String,
    /// Weight, zone and labels; empty at the defaults.
    attributes: String,
    /// Condition of the job's placement rules that excludes the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    unmet: Option<String>,
    leads: bool,
    items: Vec<u32>,
}

/// Returns the instances of a job.
pub(crate) fn instance_briefs(job: &JobSnapshot) -> Vec<InstanceBrief> {
    job.instances().iter().map(|id| instance_brief(job, id)).collect()
}

fn instance_brief(job: &JobSnapshot, id: &InstanceId) -> InstanceBrief {
    let view = job.view();
    let server = server_of(id);
    let state = server.as_ref().and_then(|ip| view.server_state(ip)).map(|s| s.to_string());
    let state = if view.is_draining(id) {
        "leaving".to_owned()
    } else if let Some(state) = state.filter(|state| state != "enabled") {
        state
    } else if view.is_available(id) {
        "available".to_owned()
    } else if view.unmet_condition(id).is_some() {
        "excluded".to_owned()
    } else {
        "unavailable".to_owned()
    };
    let items = job.items().into_iter().filter(|item| job.owner(*item) == Some(id));
    InstanceBrief {
        job: job.job().to_string(),
        instance: id.to_string(),
        server: server.map(|ip| ip.to_string()).unwrap_or_default(),
        language: job.is_java(id).map(|java| if java { "java" } else { "rust" }),
        state,
        attributes: view.attributes_of(id).unwrap_or_default().to_string(),
        unmet: view.unmet_condition(id).map(ToString::to_string),
        leads: view.leader() == Some(id),
        items: items.map(|item| item.index()).collect(),
    }
}

/// Draws a table of instances, with a column for the job if `with_job` is set.
pub(crate) fn instance_table(briefs: &[InstanceBrief], with_job: bool) -> Table {
    let columns = [
        Column::plain("JOB"),
        Column::name("INSTANCE"),
        Column::plain("LANGUAGE").extra(),
        Column::state("STATE"),
        Column::plain("LEADER").extra(),
        Column::plain("ITEMS"),
        Column::plain("ATTRIBUTES").extra(),
    ];
    let skipped = usize::from(!with_job);
    // Few jobs use attributes, so that the column is not worth its room in the other tables.
    let has_attributes = briefs.iter().any(|brief| !brief.attributes.is_empty());
    let shown = columns.len() - usize::from(!has_attributes);
    let rows = briefs.iter().map(|brief| {
        let cells = [
            brief.job.clone(),
            brief.instance.clone(),
            or_dash(brief.language),
            brief.state.clone(),
            if brief.leads { "yes" } else { "-" }.to_owned(),
            ranges(&brief.items),
            or_dash(Some(brief.attributes.as_str()).filter(|text| !text.is_empty())),
        ];
        cells.into_iter().take(shown).skip(skipped).collect()
    });
    Table::new(&columns[skipped..shown], rows)
}

/// Formats ascending numbers as ranges: `0,3-5`.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    if numbers.is_empty() { "-".to_owned() } else { operations::item_ranges(numbers) }
}

/// Names items for a sentence: `item 3`, `items 0,3-5`.
pub(crate) fn named_items(items: &[u32]) -> String {
    format!("item{} {}", if items.len() == 1 { "" } else { "s" }, ranges(items))
}

/// Lists the servers that at least one job knows.
#[derive(Debug, Args)]
pub(crate) struct ServersArguments {
    #[command(flatten)]
    follow: WatchOption,
}

impl ServersArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        if self.follow.watch {
            let draw = |live: &LiveNamespace| {
                let servers = live.servers();
                (format!("servers: {}", servers.len()), server_table(&servers))
            };
            return follow(cx, "servers", draw).await;
        }
        let namespace = cx.operations().await?.namespace().await?;
        let briefs = operations::server_briefs(&namespace.jobs);
        let document = json!({ "servers": snake_case(&briefs) });
        Ok(with_unread(server_table(&briefs), &document, &namespace))
    }
}

fn server_table(briefs: &[ServerBrief]) -> Text {
    let rows = briefs.iter().map(|server| {
        vec![
            server.server_ip.clone(),
            server.instances_num.to_string(),
            server.jobs_num.to_string(),
            server.disabled_jobs_num.to_string(),
            server.paused_jobs_num.to_string(),
        ]
    });
    let columns = [
        Column::name("SERVER"),
        Column::plain("INSTANCES"),
        Column::plain("JOBS"),
        Column::plain("DISABLED"),
        Column::plain("PAUSED"),
    ];
    if briefs.is_empty() { "no servers\n".into() } else { Table::new(&columns, rows).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_ranges() {
        let rows: [(&[u32], &str); 5] = [
            (&[], "-"),
            (&[0], "0"),
            (&[0, 1, 2], "0-2"),
            (&[0, 2, 3, 7], "0,2-3,7"),
            (&[4, 5], "4-5"),
        ];
        for (numbers, expected) in rows {
            assert_eq!(ranges(numbers), expected, "{numbers:?}");
        }
    }
}
