//! `trigger`, `rerun`: manual requests and their outcomes.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use coordination::{JobName, RequestParameter};
use operations::{ItemRun, Operations, Triggered};
use serde_json::json;

use super::list::named_items;
use super::report;
use crate::context::{Context, Signed};
use crate::fault::{Exit, Fault};
use crate::output::{Column, Page, Table, Text};
use crate::text::{Items, duration, items, job_name, parameter};
use crate::waiting;

#[derive(Debug, Args)]
pub(crate) struct TriggerArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Items to run, such as 0,3-5 [default: all]
    #[arg(long, visible_alias = "item", value_name = "ITEMS", value_parser = items)]
    items: Option<Items>,
    /// Parameter for the runs; readable in the registry until they have ended, so no place for
    /// secrets
    #[arg(long, value_name = "TEXT", value_parser = parameter)]
    parameter: Option<RequestParameter>,
    #[command(flatten)]
    wait: Wait,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Debug, Args)]
pub(crate) struct RerunArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    #[command(flatten)]
    wait: Wait,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Debug, Args)]
struct Wait {
    /// Wait this long for the runs, and show how they ended
    #[arg(long, value_name = "TIME", value_parser = duration)]
    wait: Option<Duration>,
}

impl TriggerArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("trigger")?;
        let operations = cx.operations().await?;
        let items = self.items.as_ref().map(|Items(items)| items);
        let triggered = match &self.parameter {
            None => operations.trigger(&self.job, items, &by).await?,
            Some(parameter) => operations.trigger_with(&self.job, items, parameter, &by).await?,
        };
        self.wait.outcome(&operations, triggered).await
    }
}

impl RerunArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("rerun")?;
        let operations = cx.operations().await?;
        let triggered = operations.rerun_failed(&self.job, &by).await?;
        let has_failed = !triggered.report.is_empty();
        let page = self.wait.outcome(&operations, triggered).await?;
        if has_failed {
            return Ok(page);
        }
        let text = format!(
            "nothing to do: no item's last run failed; to run all items: `ejob trigger {}`\n",
            self.job
        );
        Ok(Page { text: text.into(), ..page })
    }
}

impl Wait {
    async fn outcome(&self, operations: &Operations, triggered: Triggered) -> Result<Page, Fault> {
        let Triggered { report, request, .. } = triggered;
        let exit = report::exit(&report);
        let mut text = Text::from(report::text(&report));
        let Some(deadline) = self.wait else {
            return Ok(Page::new(text, &json!({ "report": report })).ending(exit));
        };
        let Some(request) = request else {
            // Nothing was requested, or the request has ElasticJob's own form, which has no
            // outcome.
            let exit = if report.has_changed() {
                text.push_str("the outcome cannot be observed: see `ejob job`\n");
                Exit::Partly
            } else {
                exit
            };
            return Ok(Page::new(text, &json!({ "report": report, "runs": null })).ending(exit));
        };
        let what = format!("waiting at most {deadline:?} for the runs of {}", request.job);
        let runs = waiting::shown(&what, operations.outcome(&request, deadline)).await?;
        text.push(run_table(&runs));
        text.push_str(&not_ended(&runs, deadline));
        let document = json!({ "report": report, "runs": runs });
        let exit = if runs.values().all(has_succeeded) { exit } else { Exit::Partly };
        Ok(Page::new(text, &document).ending(exit))
    }
}

/// Returns the line about the runs that have not ended in time; empty if there are none.
fn not_ended(runs: &BTreeMap<u32, ItemRun>, deadline: Duration) -> String {
    let items = |is_meant: fn(&ItemRun) -> bool| {
        let items = runs.iter().filter(|(_, run)| is_meant(run));
        items.map(|(item, _)| *item).collect::<Vec<_>>()
    };
    let waiting = items(|run| matches!(run, ItemRun::Waiting));
    let running = items(|run| matches!(run, ItemRun::Running { .. }));
    let named = |items: &[u32], one: &str, several: &str| {
        let verb = if items.len() == 1 { one } else { several };
        (!items.is_empty()).then(|| format!("{} {verb}", named_items(items)))
    };
    let parts = [
        named(&running, "still runs", "still run"),
        named(&waiting, "has not begun", "have not begun"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("not ended within {deadline:?}: {}\n", parts.join("; "))
}

/// Returns true if a run is known to have succeeded.
fn has_succeeded(run: &ItemRun) -> bool {
    matches!(run, ItemRun::Ended { outcome: "succeeded", .. })
}

fn run_table(runs: &BTreeMap<u32, ItemRun>) -> Table {
    let result = |run: &ItemRun| match run {
        ItemRun::Waiting => "waiting".to_owned(),
        ItemRun::Running { holder } => format!("runs on {holder}"),
        ItemRun::Ended { outcome, reason } => match reason {
            None => (*outcome).to_owned(),
            Some(reason) => format!("{outcome}: {reason}"),
        },
        ItemRun::EndedUnseen => {
            "ended with an unknown outcome: the item has run again since".to_owned()
        }
        ItemRun::Dropped => {
            "dropped: the item is disabled or gone, or its parameter cannot be delivered".to_owned()
        }
        _ => "in a state that this program does not know".to_owned(),
    };
    let columns = [Column::plain("ITEM"), Column::state("RUN")];
    Table::new(&columns, runs.iter().map(|(item, run)| vec![item.to_string(), result(run)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_have_not_ended_are_named() {
        let running = || ItemRun::Running { holder: "10.0.0.1@-@1".to_owned() };
        let ended = || ItemRun::Ended { outcome: "succeeded", reason: None };
        let rows = [
            (vec![ended()], ""),
            (vec![ended(), running()], "not ended within 3s: item 1 still runs\n"),
            (
                vec![running(), running(), ItemRun::Waiting, ended()],
                "not ended within 3s: items 0-1 still run; item 2 has not begun\n",
            ),
        ];
        for (runs, expected) in rows {
            let runs = (0..).zip(runs).collect();
            assert_eq!(not_ended(&runs, Duration::from_secs(3)), expected, "{runs:?}");
        }
    }

    #[test]
    fn run_with_unknown_outcome_has_not_succeeded() {
        let rows = [
            (ItemRun::Ended { outcome: "succeeded", reason: None }, true),
            (ItemRun::Ended { outcome: "failed", reason: None }, false),
            (ItemRun::EndedUnseen, false),
            (ItemRun::Dropped, false),
            (ItemRun::Waiting, false),
            (ItemRun::Running { holder: "10.0.0.1@-@1".to_owned() }, false),
        ];
        for (run, expected) in rows {
            assert_eq!(has_succeeded(&run), expected, "{run:?}");
        }
    }
}
