//! `backfill`: runs past fires again, lists backfills, and cancels one.

use std::time::Duration;

use clap::Args;
use coordination::JobName;
use jiff::Timestamp;
use operations::{BackfillPreview, BackfillProgress, BackfillRequest, BackfillState, Operations};
use serde_json::json;

use super::list::ranges;
use super::report;
use crate::context::{Context, Signed};
use crate::fault::{Exit, Fault};
use crate::output::{Column, Page, Table, Text, counted, line};
use crate::text::{Items, duration, items, job_name, moment, time_or_age};
use crate::waiting;

/// Number of fires that a preview shows at each end of a long list.
const SHOWN: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct BackfillArguments {
    /// Name of the job; without further options, its backfills are listed
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Run the fires from this time on: 2024-02-29T12:00:00Z, 2024-02-29 in UTC, or 2d for two days
    /// ago
    #[arg(long, value_name = "TIME", value_parser = time_or_age, requires = "to")]
    from: Option<Timestamp>,
    /// Run the fires before this time, written as for --from
    #[arg(long, value_name = "TIME", value_parser = time_or_age, requires = "from")]
    to: Option<Timestamp>,
    /// Items to run, such as 0,3-5 [default: all]
    #[arg(long, visible_alias = "item", value_name = "ITEMS", value_parser = items,
        requires = "from")]
    items: Option<Items>,
    /// Number of fires that may be in progress at once, 1 to 16
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    concurrency: usize,
    /// Cancel the backfill with this id: no item gets a further fire of it; runs in progress go on
    #[arg(long, value_name = "ID", conflicts_with_all = ["from", "wait"])]
    cancel: Option<String>,
    /// Show what would be done, and change nothing; without it, --why is required
    #[arg(long)]
    dry_run: bool,
    /// Wait this long for the end of the backfill
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "from",
        conflicts_with = "dry_run")]
    wait: Option<Duration>,
    #[command(flatten)]
    signed: Signed,
}

impl BackfillArguments {
    /// Returns true if the command lists the backfills.
    pub(crate) fn is_list(&self) -> bool {
        self.from.is_none() && self.cancel.is_none() && !self.dry_run
    }

    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        if let (Some(from), Some(to)) = (self.from, self.to) {
            let items = self.items.as_ref().map(|Items(items)| items.clone());
            let request = BackfillRequest::new(from, to).items(items).concurrency(self.concurrency);
            return self.request(cx, &request).await;
        }
        match &self.cancel {
            Some(id) => self.cancel(cx, id).await,
            None if self.dry_run => {
                Err(Fault::usage("--dry-run requires --from and --to, or --cancel"))
            }
            None => self.list(cx).await,
        }
    }

    async fn request(&self, cx: &Context<'_>, request: &BackfillRequest) -> Result<Page, Fault> {
        if self.dry_run {
            let operations = cx.operations().await?;
            let preview = operations.preview_backfill(&self.job, request).await?;
            let BackfillPreview { report, fires, warning, .. } = preview;
            let mut text = Text::from(fires_text(&fires));
            if let Some(warning) = warning {
                text.push_str(&line(&format!("warning: {warning}")));
            }
            let page = report::preview_page(&report);
            text.push(page.text);
            let document = json!({ "report": report, "fires": fires, "warning": warning });
            return Ok(Page::new(text, &document).ending(report::exit(&report)));
        }
        let by = self.signed.by_with_reason("backfill")?;
        let operations = cx.operations().await?;
        let requested = operations.backfill(&self.job, request, &by).await?;
        let report = &requested.report;
        let mut text = Text::from(report::text(report));
        let exit = report::exit(report);
        let (Some(deadline), Some(id)) = (self.wait, &requested.id) else {
            if requested.id.is_some() {
                text.push_str(&line(&format!("its progress: `ejob backfill {}`", self.job)));
            }
            let document = json!({ "report": report, "id": requested.id });
            return Ok(Page::new(text, &document).ending(exit));
        };
        let progress = self.outcome(&operations, id, deadline).await?;
        let is_done = progress.state == BackfillState::Done;
        let (state, total) = (progress.state.as_str(), counted(progress.total, "fire"));
        let result = if is_done {
            format!("all items have ended {total}")
        } else {
            format!("{state}: {} of {total} after {deadline:?}", progress.done)
        };
        text.push_str(&line(&result));
        let document = json!({ "report": report, "id": id, "progress": progress });
        Ok(Page::new(text, &document).ending(if is_done { exit } else { Exit::Partly }))
    }

    async fn outcome(
        &self,
        operations: &Operations,
        id: &str,
        deadline: Duration,
    ) -> Result<BackfillProgress, Fault> {
        let what = format!("waiting at most {deadline:?} for backfill {id} of {}", self.job);
        let outcome = operations.backfill_outcome(&self.job, id, deadline);
        Ok(waiting::shown(&what, outcome).await?)
    }

    async fn cancel(&self, cx: &Context<'_>, id: &str) -> Result<Page, Fault> {
        if self.dry_run {
            let operations = cx.operations().await?;
            let preview = operations.preview_cancel_backfill(&self.job, id).await?;
            return Ok(report::preview_page(&preview));
        }
        let by = self.signed.by_with_reason("backfill --cancel")?;
        let operations = cx.operations().await?;
        Ok(report::page(&operations.cancel_backfill(&self.job, id, &by).await?))
    }

    async fn list(&self, cx: &Context<'_>) -> Result<Page, Fault> {
        let job = cx.operations().await?.job(&self.job).await?;
        let backfills: Vec<_> = job.backfills().rev().collect();
        if backfills.is_empty() {
            let text = line(&format!("job {} has no backfills", self.job));
            return Ok(Page::new(text, &backfills));
        }
        let columns = [
            Column::name("BACKFILL"),
            Column::state("STATE"),
            Column::plain("FIRES"),
            Column::fire("FROM"),
            Column::fire("TO"),
            Column::plain("ITEMS"),
            Column::plain("AT ONCE").extra(),
            Column::plain("BY"),
            Column::text("REASON"),
        ];
        Ok(Page::new(Table::new(&columns, backfills.iter().map(row)), &backfills))
    }
}

fn row(backfill: &BackfillProgress) -> Vec<String> {
    let cancelled = match (&backfill.cancelled_by, &backfill.cancelled_why) {
        (Some(by), Some(why)) => format!("; cancelled by {by}: {why}"),
        (None, _) | (_, None) => String::new(),
    };
    vec![
        backfill.id.clone(),
        backfill.state.as_str().to_owned(),
        format!("{}/{}", backfill.done, backfill.total),
        moment(backfill.from_ms),
        moment(backfill.to_ms),
        ranges(&backfill.items),
        backfill.concurrency.to_string(),
        backfill.by.clone(),
        format!("{}{cancelled}", backfill.why),
    ]
}

/// Returns one line for each fire; of many, the first and the last ones.
fn fires_text(fires: &[Timestamp]) -> String {
    let mut text = String::new();
    let hidden = fires.len().saturating_sub(2 * SHOWN);
    for (n, fire) in fires.iter().enumerate() {
        if hidden > 0 && n == SHOWN {
            text.push_str(&format!("… {hidden} more\n"));
        }
        if hidden == 0 || n < SHOWN || n >= fires.len() - SHOWN {
            text.push_str(&format!("fire {fire}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_list_of_fires_is_shortened() {
        let fires = |n: i64| (0..n).map(|s| Timestamp::from_second(s).unwrap()).collect::<Vec<_>>();
        assert_eq!(fires_text(&fires(1)), "fire 1970-01-01T00:00:00Z\n");
        assert_eq!(fires_text(&fires(10)).lines().count(), 10);
        let shown = fires_text(&fires(15));
        assert_eq!(shown.lines().count(), 11, "{shown}");
        assert_eq!(shown.lines().nth(5), Some("… 5 more"));
        assert_eq!(shown.lines().nth(6), Some("fire 1970-01-01T00:00:10Z"));
    }
}
