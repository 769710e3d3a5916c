//! `groups` and `group`: limits that the runs of several jobs share.

use clap::{Args, Subcommand};
use coordination::{GroupLimits, GroupName, StartRate};
use operations::{GroupSnapshot, permit_holders};
use serde_json::{Value, json};

use crate::context::{Context, Signed};
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
                given.change.make("group remove", cx, &given.group, GroupLimits::NONE).await
            }
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    /// Name of the group, as jobs have it in `group`
    #[arg(value_parser = group_name)]
    group: GroupName,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    change: ChangeArguments,
}

/// The wanted limits. One is required, so that `set` does not remove both by accident.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct Limits {
    /// Maximum number of items of all jobs of the group that run at the same time, from 1
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    cluster_concurrency: Option<u32>,
    /// Maximum number of runs of all jobs of the group that begin in any period, such as
    /// "10 in 1m"
    #[arg(long, value_name = "RATE", value_parser = start_rate)]
    start_rate: Option<StartRate>,
}

impl SetArguments {
    async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let Self { group, limits, change } = self;
        let Limits { cluster_concurrency, start_rate } = limits;
        let limits = GroupLimits { cluster_concurrency, start_rate };
        change.make("group set", cx, &group, limits).await
    }
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Name of the group
    #[arg(value_parser = group_name)]
    group: GroupName,
    #[command(flatten)]
    change: ChangeArguments,
}

pub(crate) fn group_name(text: &str) -> Result<GroupName, String> {
    GroupName::new(text).map_err(|error| format!("valid is {} ({error})", GroupName::VALID))
}

fn start_rate(text: &str) -> Result<StartRate, String> {
    let rate = StartRate::parse(text).ok_or_else(|| format!("valid is {}", StartRate::VALID))?;
    let limits = GroupLimits { start_rate: Some(rate), ..GroupLimits::NONE };
    limits.check().map(|()| rate).map_err(|error| format!("valid is {}", error.valid))
}

/// Options of each change of the limits of a group.
#[derive(Debug, Args)]
struct ChangeArguments {
    /// Show how the limits would change, and change nothing; without it, --why is required
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    signed: Signed,
}

impl ChangeArguments {
    async fn make(
        &self,
        act: &str,
        cx: &Context<'_>,
        group: &GroupName,
        limits: GroupLimits,
    ) -> Result<Page, Fault> {
        let by = if self.dry_run { None } else { Some(self.signed.by_with_reason(act)?) };
        let operations = cx.operations().await?;
        let change = match &by {
            Some(by) => operations.set_group(group, limits, by).await?,
            None => operations.preview_set_group(group, limits).await?,
        };
        let text = match (&by, change.has_effect()) {
            (_, false) => format!("group {group} has {} already", change.after),
            (Some(_), true) => format!("group {group}: {change}"),
            (None, true) => format!("would do: group {group}: {change}"),
        };
        let mut text = line(&text);
        if by.is_none() {
            text.push_str("nothing was changed\n");
        }
        let document = json!({
            "group": group.as_str(),
            "before": change.before.map(document_of),
            "after": document_of(change.after),
            "record": change.record,
        });
        Ok(Page::new(text, &document))
    }
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
        Column::name("GROUP"),
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
