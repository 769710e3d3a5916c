//! `job`, `next`, `audit`, `dump`: details of one job.

use clap::Args;
use coordination::{AuditRecord, AuditSubject, GroupName, JobConfig, JobName};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use job_history::{AuditQuery, History, HistoryOptions, StoredAudit, all_changes};
use operations::{
    Exclusion, GroupSnapshot, ItemBrief, ItemState, JobSnapshot, LiveNamespace, Namespace,
    Operations, audited_changes,
};
use serde_json::json;

use super::config_fields;
use super::groups::group_name;
use super::history::{StoreArguments, reading};
use super::list::{instance_briefs, instance_table, named_items, state_text, with_unread};
use super::watch::{Answer, WatchOption, follow};
use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Column, Page, Table, Text, line, pairs, snake_case};
use crate::text::{job_name, moment, or_dash, timestamp};

#[derive(Debug, Args)]
pub(crate) struct JobArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    #[command(flatten)]
    follow: WatchOption,
}

impl JobArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        if self.follow.watch {
            // A job that does not exist is an error, and not an empty answer for good.
            cx.operations().await?.job(&self.job).await?;
            let draw = |live: &LiveNamespace| live_job(live, &self.job, |job| job_page(job).text);
            return follow(cx, &format!("job {}", self.job), draw).await;
        }
        let job = cx.operations().await?.job(&self.job).await?;
        Ok(job_page(&job))
    }
}

/// Draws one job of a live namespace. A job that was removed meanwhile is named as such.
pub(super) fn live_job(
    live: &LiveNamespace,
    name: &JobName,
    draw: impl Fn(&JobSnapshot) -> Text,
) -> Answer {
    let text = match live.job(name) {
        Some(job) => draw(&job),
        None => Text::from(format!("the registry has no job {name} any more\n")),
    };
    (format!("job: {name}"), text)
}

fn job_page(job: &JobSnapshot) -> Page {
    let brief = operations::job_brief(job);
    let config = job.config();
    let next = job.next_fires(Timestamp::now(), 1).ok().and_then(|next| next.first().copied());
    let need = operations::fire_need(job);
    let missed = next.zip(need).map(|(next, need)| format!("{next}, missed unless {need} before"));
    let delay = config.filter(|_| next.is_none()).and_then(operations::delay_description);
    let exclusion = config.and_then(|config| operations::exclusion_at(config, Timestamp::now()));
    let (items, instances) = (operations::slot_briefs(job), instance_briefs(job));
    let servers: Vec<_> = job.view().servers().collect();
    let text = |text: Option<String>| text.unwrap_or_default();
    let mut shown = pairs([
        (Column::plain("job"), brief.job_name.clone()),
        (Column::state("state"), state_text(&brief)),
        (Column::plain("fault"), text(brief.config_fault.clone())),
        (Column::plain("description"), text(brief.description.clone())),
        (Column::plain("cron"), brief.cron.clone().unwrap_or_else(|| "on request".to_owned())),
        (Column::plain("time zone"), text(config.and_then(|config| config.time_zone.clone()))),
        (Column::time("next fire"), text(next.filter(|_| need.is_none()).map(|n| n.to_string()))),
        (Column::plain("next fire"), text(missed)),
        (Column::plain("next fire"), text(delay)),
        (Column::plain("excluded"), text(exclusion.as_ref().map(excluded))),
        (Column::plain("dialect"), brief.dialect.to_owned()),
        (Column::plain("failover"), text(config.map(|config| config.failover.to_string()))),
        (Column::plain("requests"), requests(job, &items)),
        (Column::plain("runs"), text(brief.runs.map(|of| format!("{of}, in all")))),
        (Column::plain("processed"), text(brief.processed.map(|of| format!("{of}, in all runs")))),
        (Column::plain("servers"), list(servers.iter().map(|(ip, state)| format!("{ip} {state}")))),
    ]);
    shown.push_str("\n");
    shown.push(item_table(&items));
    shown.push(progress_table(&items));
    shown.push(failure_table(&items));
    if !instances.is_empty() {
        shown.push_str("\n");
        shown.push(instance_table(&instances, false));
    }
    let servers: Vec<_> = servers
        .iter()
        .map(|(ip, state)| json!({ "server": ip.as_str(), "state": state.to_string() }))
        .collect();
    let document = json!({
        "job": snake_case(&brief),
        "config": config.map(config_fields::document),
        "revision": job.config_revision().map(|revision| revision.to_string()),
        "next_fire": next.map(|next| next.to_string()),
        "next_fire_needs": next.and(need),
        "exclusion": exclusion.map(|exclusion| json!({
            "reason": exclusion.reason,
            "until": exclusion.until.map(|until| until.to_string()),
        })),
        "leader": job.view().leader().map(ToString::to_string),
        "items": snake_case(&items),
        "instances": instances,
        "servers": servers,
    });
    Page::new(shown, &document)
}

/// Returns the reason of an exclusion and its end.
fn excluded(exclusion: &Exclusion) -> String {
    let until = exclusion.until.map(|until| format!(" until {until}"));
    format!("{}{}", exclusion.reason, until.unwrap_or_else(|| ", without end".to_owned()))
}

fn list(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(", ")
}

/// Returns the waiting manual requests: those the leader has yet to read, and those in records.
fn requests(job: &JobSnapshot, items: &[ItemBrief]) -> String {
    let unread = job.view().requests().filter(|(_, of)| of.is_none_or(|of| !of.is_empty()));
    let unread = unread.map(|(id, of)| match of {
        None => format!("{id} waits for all items"),
        Some(of) => {
            let of: Vec<_> = of.iter().map(|item| item.index()).collect();
            format!("{id} waits for {}", named_items(&of))
        }
    });
    let waiting: Vec<_> = items.iter().filter(|item| item.requested).map(|i| i.item).collect();
    let waiting = (!waiting.is_empty())
        .then(|| format!("a request to run waits for {}", named_items(&waiting)));
    list(unread.chain(waiting))
}

/// Draws the items, each with its further slots that have a run; the present run and the last run
/// have separate columns.
fn item_table(items: &[ItemBrief]) -> Table {
    let row = |item: &ItemBrief| {
        let moves = item.moves_to.as_ref().map(|to| format!(", moves to {to}"));
        let state = format!("{}{}", item_state(item), moves.unwrap_or_default());
        let (began, fire) = (item.began_ms.map(moment), item.fire_ms.map(moment));
        let (began, present_fire, last_fire) =
            if item.running { (began, fire, None) } else { (None, None, fire) };
        vec![
            item.name(),
            state,
            or_dash(item.instance_id.as_ref()),
            or_dash(item.runs_on.as_ref()),
            or_dash(began),
            or_dash(present_fire),
            or_dash(item.outcome),
            or_dash(last_fire),
            or_dash(item.ended_ms.map(moment)),
        ]
    };
    let columns = [
        Column::plain("ITEM"),
        Column::state("STATE"),
        Column::plain("OWNER"),
        Column::plain("RUNS ON"),
        Column::time("SINCE"),
        Column::time("FOR FIRE").extra(),
        Column::state("LAST RUN"),
        Column::time("LAST FIRE").extra(),
        Column::time("ENDED"),
    ];
    Table::new(&columns, items.iter().map(row))
}

/// Draws the progress of the present or last runs, and the records that all runs have processed;
/// empty if no run has reported any.
fn progress_table(items: &[ItemBrief]) -> Text {
    let has_counts = items.iter().any(|item| item.processed.is_some());
    let row = |item: &ItemBrief| {
        if item.progress.is_none() && item.processed.is_none() {
            return None;
        }
        let (numbers, at, message) = item.progress.as_ref().map_or_else(Default::default, |it| {
            (it.numbers(), moment(it.at_ms), it.message.clone())
        });
        let counts = item.processed.map(|of| of.to_string()).unwrap_or_default();
        let cells = [item.name(), numbers, at].into_iter().chain(has_counts.then_some(counts));
        Some(cells.chain([message]).collect())
    };
    let rows: Vec<_> = items.iter().filter_map(row).collect();
    let mut text = Text::default();
    if !rows.is_empty() {
        let mut columns =
            vec![Column::plain("ITEM"), Column::plain("PROGRESS"), Column::time("REPORTED")];
        columns.extend(has_counts.then(|| Column::plain("PROCESSED IN ALL RUNS")));
        columns.push(Column::text("MESSAGE"));
        text.push_str("\n");
        text.push(Table::new(&columns, rows));
    }
    text
}

/// Draws the reasons of the last failures; empty if there are none.
fn failure_table(items: &[ItemBrief]) -> Text {
    let row = |item: &ItemBrief| Some(vec![item.name(), item.failure.clone()?]);
    let rows: Vec<_> = items.iter().filter_map(row).collect();
    let mut text = Text::default();
    if !rows.is_empty() {
        text.push_str("\n");
        text.push(Table::new(&[Column::plain("ITEM"), Column::text("LAST FAILURE")], rows));
    }
    text
}

fn item_state(item: &ItemBrief) -> &'static str {
    match (item.status, item.running, item.orphaned) {
        (ItemState::Disabled, true, _) => "DISABLED, runs",
        (ItemState::Disabled, false, _) => "DISABLED",
        (ItemState::Running, ..) if item.failover => "RUNNING (failover)",
        (ItemState::Running, false, _) => "RUNNING (other slots)",
        (ItemState::Running, ..) => "RUNNING",
        (_, _, true) => "ORPHANED",
        (ItemState::Unowned, ..) => "UNOWNED",
        (ItemState::Pending, ..) => "PENDING",
    }
}

#[derive(Debug, Args)]
pub(crate) struct NextArguments {
    /// Name of the job, unless --cron is given
    #[arg(value_parser = job_name, required_unless_present = "cron", conflicts_with = "cron")]
    job: Option<JobName>,
    /// Quartz expression, instead of a job
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// Time zone of the expression
    #[arg(long, value_name = "ZONE", requires = "cron", conflicts_with = "job")]
    time_zone: Option<String>,
    /// Number of fires
    #[arg(short, value_name = "COUNT", default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..=1000))]
    n: u16,
    /// Show fires after this time [default: now]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    after: Option<Timestamp>,
}

impl NextArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let (config, job) = self.config(cx).await?;
        let after = self.after.unwrap_or_else(Timestamp::now);
        let n = usize::from(self.n);
        let fires = match &job {
            Some(job) => job.next_fires(after, n),
            None => operations::next_fires(&config, after, n),
        };
        let fires = fires.map_err(|error| {
            let option = error.field.replace('_', "-");
            Fault::usage(format!("--{option} is {}; valid is {}", error.value, error.valid))
        })?;
        let delay = operations::delay_description(&config);
        if let Some(cron) = &self.cron
            && fires.is_empty()
            && delay.is_none()
        {
            return Err(Fault::usage(format!(
                "--cron is {cron:?}; valid is an expression that fires after {after}; this one never fires after that"
            )));
        }
        let zone = config.time_zone.as_deref().and_then(|zone| TimeZone::get(zone).ok());
        let row = |fire: &Timestamp| match &zone {
            Some(zone) => format!("{fire}  {}\n", fire.to_zoned(zone.clone())),
            None => format!("{fire}\n"),
        };
        let exclusion = operations::exclusion_at(&config, after);
        let text = if let Some(delay) = delay {
            let next = fires.iter().map(row);
            next.chain([line(&delay)]).collect()
        } else if !fires.is_empty() {
            let excluded = exclusion.map(|exclusion| line(&exclusion.to_string()));
            excluded.into_iter().chain(fires.iter().map(row)).collect()
        } else if config.cron.is_none() {
            "the job has no schedule and runs on request only\n".to_owned()
        } else {
            "the schedule has no further fire\n".to_owned()
        };
        Ok(Page::new(
            text,
            &json!({ "fires": fires.iter().map(Timestamp::to_string).collect::<Vec<_>>() }),
        ))
    }

    async fn config(&self, cx: &Context<'_>) -> Result<(JobConfig, Option<JobSnapshot>), Fault> {
        if let Some(name) = &self.job {
            let job = cx.operations().await?.job(name).await?;
            return Ok((usable(&job)?.clone(), Some(job)));
        }
        let name = JobName::new("expression").map_err(Fault::usage)?;
        let (cron, time_zone) = (self.cron.clone(), self.time_zone.clone());
        let config = JobConfig::new(name, 1).with(|it| {
            it.cron = cron;
            it.time_zone = time_zone;
        });
        Ok((config, None))
    }
}

/// Returns the configuration in force, or an error if there is none.
pub(crate) fn usable(job: &JobSnapshot) -> Result<&JobConfig, Fault> {
    job.config().ok_or_else(|| match job.config_fault() {
        Some(fault) => Fault::refused(format!(
            "the configuration of job {} cannot be used: {fault}; `ejob config get {0} --document` shows it",
            job.job()
        )),
        None => Fault::no_job(job.job()),
    })
}

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Name of the job [default: all jobs and groups]
    #[arg(value_parser = job_name)]
    job: Option<JobName>,
    /// Name of the group of jobs, instead of a job
    #[arg(long, value_name = "NAME", value_parser = group_name, conflicts_with = "job")]
    group: Option<GroupName>,
    #[command(flatten)]
    store: StoreArguments,
    /// At most this many changes, the last ones
    #[arg(long, value_name = "COUNT", default_value_t = 200,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl AuditArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let options = self.store.options()?;
        // Without the history the answer still has the last 32 changes of each job and group.
        let (stored, remark) = match self.stored(options).await {
            Ok(stored) => (stored, String::new()),
            Err(fault) => (Vec::new(), line(&format!("remark: without the history: {fault}"))),
        };
        let operations = cx.operations().await?;
        let (namespace, groups) = self.registered(&operations, !stored.is_empty()).await?;
        let registered = audited_changes(&namespace.jobs, &groups);
        let mut records: Vec<(AuditSubject, &AuditRecord)> =
            all_changes(registered, &stored).collect();
        records.sort_by_key(|(_, record)| record.at_ms);
        let n_left_out = records.len().saturating_sub(self.limit as usize);
        records.drain(..n_left_out);
        let rows = records.iter().map(|(subject, record)| {
            let texts = [&record.act, &record.target, &record.who, &record.why, &record.what];
            let cells = [moment(record.at_ms), subject.to_string()].into_iter();
            cells.chain(texts.into_iter().cloned()).collect()
        });
        let columns = [
            Column::time("WHEN"),
            Column::plain("JOB"),
            Column::plain("ACTION"),
            Column::plain("TARGET"),
            Column::plain("AUTHOR"),
            Column::text("REASON"),
            Column::text("CHANGE"),
        ];
        let mut text = if records.is_empty() {
            Text::from("no changes\n")
        } else {
            Table::new(&columns, rows).into()
        };
        if n_left_out > 0 {
            text.push_str("earlier changes exist: raise --limit\n");
        }
        let documents = records.iter().map(|(subject, record)| {
            let (job, group) = match subject {
                AuditSubject::Job(job) => (Some(job.as_str()), None),
                AuditSubject::Group(group) => (None, Some(group.as_str())),
            };
            json!({ "job": job, "group": group, "record": record })
        });
        let document = json!({ "records": documents.collect::<Vec<_>>(), "more": n_left_out > 0 });
        Ok(with_unread(text, &document, &namespace).beside(remark))
    }
}

impl AuditArguments {
    /// Returns the named job or group of the registry; all jobs and groups without a name.
    async fn registered(
        &self,
        operations: &Operations,
        has_stored: bool,
    ) -> Result<(Namespace, Vec<GroupSnapshot>), Fault> {
        if let Some(group) = &self.group {
            return Ok((Namespace::default(), vec![operations.group(group).await?]));
        }
        let Some(job) = &self.job else {
            return Ok((operations.namespace().await?, operations.groups().await?));
        };
        let jobs = match operations.job(job).await {
            Ok(job) => vec![job],
            // The history has the changes of a job that was removed.
            Err(operations::Error::NoSuchJob { .. }) if has_stored => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok((Namespace { jobs, ..Namespace::default() }, Vec::new()))
    }

    /// Returns the last changes that a history has; none without one.
    async fn stored(&self, options: Option<HistoryOptions>) -> Result<Vec<StoredAudit>, Fault> {
        let Some(options) = options else { return Ok(Vec::new()) };
        self.store.check_exists()?;
        let mut query = AuditQuery::default();
        if let Some(job) = &self.job {
            query = query.job(job.as_str());
        }
        if let Some(group) = &self.group {
            query = query.group(group.as_str());
        }
        let found = reading(options, async |history: &History| {
            history.audit(&query, self.limit, None).await
        });
        Ok(found.await??.records)
    }
}

#[derive(Debug, Args)]
pub(crate) struct DumpArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
}

impl DumpArguments {
    /// Prints one line for each node.
    ///
    /// Line breaks and control characters in data are escaped; `--json` has the raw data.
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let job = cx.operations().await?.job(&self.job).await?;
        let nodes: Vec<_> = job
            .nodes()
            .map(|node| {
                let ephemeral = node.stat.owner.is_some();
                let data = String::from_utf8_lossy(&node.data).into_owned();
                (node.path.to_string(), data, ephemeral, node.stat.version.0)
            })
            .collect();
        let row = |(path, data, ephemeral, _): &(String, String, bool, u32)| {
            let sign = if *ephemeral { " (ephemeral)" } else { "" };
            line(&format!("{path}{sign} | {data}"))
        };
        let document = |(path, data, ephemeral, version): &(String, String, bool, u32)| json!({ "path": path, "data": data, "ephemeral": ephemeral, "version": version });
        let text: String = nodes.iter().map(row).collect();
        let documents: Vec<_> = nodes.iter().map(document).collect();
        Ok(Page::new(text, &json!({ "nodes": documents })))
    }
}
