//! `cancel`: ends unfinished runs.

use clap::Args;
use coordination::{FireTime, JobName};
use jiff::Timestamp;
use operations::RunsToCancel;

use super::report;
use crate::context::{Context, Signed};
use crate::fault::Fault;
use crate::output::Page;
use crate::text::{Items, items, job_name, timestamp};

#[derive(Debug, Args)]
pub(crate) struct CancelArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    #[command(flatten)]
    which: Which,
    /// Show which runs would be cancelled, and change nothing; without it, --why is required
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    signed: Signed,
}

/// The runs to cancel. One of the options is required, so that no run is cancelled by accident.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Cancel the runs of these items, such as 0,3-5
    #[arg(long, visible_alias = "item", value_name = "ITEMS", value_parser = items)]
    items: Option<Items>,
    /// Cancel the runs for the fire of this time, such as 2024-02-29T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    fire: Option<Timestamp>,
    /// Cancel all unfinished runs of the job
    #[arg(long)]
    all: bool,
}

impl Which {
    fn runs(self) -> RunsToCancel {
        let fire = self.fire.map(|time| FireTime(time.as_millisecond()));
        match (self.items, fire) {
            (Some(Items(items)), _) => RunsToCancel::OfItems(items),
            (None, Some(fire)) => RunsToCancel::OfFire(fire),
            (None, None) => RunsToCancel::All,
        }
    }
}

impl CancelArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let Self { job, which, dry_run, signed } = self;
        let by = if dry_run { None } else { Some(signed.by_with_reason("cancel")?) };
        let operations = cx.operations().await?;
        let which = which.runs();
        match by {
            Some(by) => Ok(report::page(&operations.cancel(&job, &which, &by).await?)),
            None => {
                let report = operations.preview_cancel(&job, &which).await?;
                Ok(report::preview_page(&report))
            }
        }
    }
}
