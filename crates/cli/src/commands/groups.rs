//! `groups` and `group`: limits that the runs of several jobs share.

use clap::{Args, Subcommand};
use coordination::{GroupLimits, GroupName, StartRate};
use operations::{GroupSnapshot, permit_holders};
use serde_json::{Value, json};

use crate::context::{Context, Reasoned};
use crate::fault::Fault;
use crate::output::{Column, Page, Table, line};

#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Replace the limits of a group of jobs; a limit that is not given is removed
    Set(SetArguments),
    /// Remove the limits of a group of jobs; its jobs stay in it, and are not limited
    Remove(RemoveArguments),
}

impl GroupCommand {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        match self {
            Self::Set(given) => given.run(cx).await,
            Self::Remove(given) => {
                changed(cx, &given.group, GroupLimits::NONE, &given.reasoned).await
            }
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    /// Name of the group, as jobs have it in `group`
    #[arg(value_parser = group_name)]
    group: GroupName,
    /// Maximum number of items of all jobs of the group that run at the same time, from 1
    #[arg(long, value_name = "COUNT", required_unless_present = "start_rate",
        value_parser = clap::value_parser!(u32).range(1..))]
    cluster_concurrency: Option<u32>,
    /// Maximum number of runs of all jobs of the group that begin in any period, such as
    /// "10 in 1m"
    #[arg(long, value_name = "RATE", value_parser = start_rate)]
    start_rate: Option<StartRate>,
    #[command(flatten)]
    reasoned: Reasoned,
}

impl SetArguments {
    async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let Self { group, cluster_concurrency, start_rate, reasoned } = self;
        let limits = GroupLimits { cluster_concurrency, start_rate };
        changed(cx, &group, limits, &reasoned).await
    }
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Name of the group
    #[arg(value_parser = group_name)]
    group: GroupName,
    #[command(flatten)]
    reasoned: Reasoned,
}

pub(crate) fn group_name(text: &str) -> Result<GroupName, String> {
    GroupName::new(text).map_err(|error| format!("valid is {} ({error})", GroupName::VALID))
}

fn start_rate(text: &str) -> Result<StartRate, String> {
    let rate = StartRate::parse(text).ok_or_else(|| format!("valid is {}", StartRate::VALID))?;
    let limits = GroupLimits { start_rate: Some(rate), ..GroupLimits::NONE };
    limits.check().map(|()| rate).map_err(|error| format!("valid is {}", error.valid))
}

async fn changed(
    cx: &Context<'_>,
    group: &GroupName,
    limits: GroupLimits,
    reasoned: &Reasoned,
) -> Result<Page, Fault> {
    let by = reasoned.by()?;
    let change = cx.operations().await?.set_group(group, limits, &by).await?;
    let text = match &change.record {
        Some(_) => format!("group {group}: {change}"),
        None => format!("group {group} has {} already", change.after),
    };
    let document = json!({
        "group": group.as_str(),
        "before": change.before.map(document_of),
        "after": document_of(change.after),
        "record": change.record,
    });
    Ok(Page::new(line(&text), &document))
}

/// Lists the groups of the namespace.
pub(crate) async fn list(cx: &Context<'_>) -> Result<Page, Fault> {
    let operations = cx.operations().await?;
    let groups = operations.groups().await?;
    let groups: Vec<_> = groups.iter().filter(|group| group.is_used()).collect();
    let shown: Vec<Value> = groups.iter().map(|group| shown(group)).collect();
    if groups.is_empty() {
        return Ok(Page::new(line("no group of jobs has limits"), &shown));
    }
    let columns = [
        Column::plain("GROUP"),
        Column::plain("RUNS AT ONCE"),
        Column::plain("STARTS"),
        Column::text("PERMITS HELD"),
        Column::text("JOBS THAT WAIT"),
    ];
    Ok(Page::new(Table::new(&columns, groups.iter().map(|group| row(group))), &shown))
}

fn row(group: &GroupSnapshot) -> Vec<String> {
    let view = group.view();
    let limits = view.limits();
    let limit = |text: Option<String>| match limits {
        None => "unreadable".to_owned(),
        Some(_) => text.unwrap_or_else(|| "-".to_owned()),
    };
    let held = permit_holders(view).into_iter().map(|(job, count)| format!("{job} {count}"));
    let line = view.line().into_iter().map(|(job, _)| job.to_string());
    vec![
        view.name().to_string(),
        limit(limits.and_then(|it| it.cluster_concurrency).map(|max| max.to_string())),
        limit(limits.and_then(|it| it.start_rate).map(|rate| rate.to_string())),
        listed(held.collect()),
        listed(line.collect()),
    ]
}

fn listed(texts: Vec<String>) -> String {
    if texts.is_empty() { "-".to_owned() } else { texts.join(", ") }
}

fn document_of(limits: GroupLimits) -> Value {
    json!({
        "cluster_concurrency": limits.cluster_concurrency,
        "start_rate": limits.start_rate.map(|rate| rate.to_string()),
    })
}

fn shown(group: &GroupSnapshot) -> Value {
    let view = group.view();
    let held = permit_holders(view).into_iter();
    let held: Vec<_> =
        held.map(|(job, count)| json!({ "job": job.as_str(), "permits": count })).collect();
    let line = view.line();
    let waiting: Vec<_> = line
        .iter()
        .map(|(job, place)| json!({ "job": job.as_str(), "since_ms": place.since_ms }))
        .collect();
    json!({
        "group": view.name().as_str(),
        "limits": view.limits().map(document_of),
        "held": held,
        "waiting": waiting,
    })
}
