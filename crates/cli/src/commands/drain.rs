//! `drain`: disables or pauses a server, and waits until no item of a job runs there.

use std::time::Duration;

use clap::Args;
use coordination::{JobName, ServerIp};
use operations::{DrainMode, Drained};

use super::list::ranges;
use super::report;
use crate::context::{Context, Reasoned};
use crate::fault::{Exit, Fault};
use crate::output::Page;
use crate::text::{duration, job_name, server_ip};

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// IP address of the server
    #[arg(long, value_name = "IP", value_parser = server_ip)]
    server: ServerIp,
    /// Pause the server instead of disabling it: its items stay
    #[arg(long)]
    pause: bool,
    /// Deadline for the drain; the server stays disabled or paused after it
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    deadline: Duration,
    #[command(flatten)]
    signed: Reasoned,
}

impl DrainArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by()?;
        let operations = cx.operations().await?;
        let mode = if self.pause { DrainMode::Pause } else { DrainMode::Disable };
        let waiting = cx.waiting(format!("draining {} of {}", self.server, self.job));
        let drained = operations.drain(&self.job, &self.server, mode, &by, self.deadline).await;
        waiting.finish_and_clear();
        let drained = drained?;
        let exit = if drained.complete { Exit::Done } else { Exit::Partly };
        Ok(Page::new(self.text(&drained), &drained).ending(exit))
    }

    fn text(&self, drained: &Drained) -> String {
        let Self { job, server, deadline, .. } = self;
        let result = match (drained.complete, drained.running.is_empty(), drained.owned.is_empty())
        {
            (true, _, true) => format!("drained: no item of {job} runs on {server}"),
            (true, _, false) => format!(
                "drained: no item of {job} runs on {server}; it still owns items {}",
                ranges(&drained.owned)
            ),
            (false, true, true) => format!("not drained: {server} is neither disabled nor paused"),
            (false, true, false) => format!(
                "not drained within {deadline:?}: {server} still owns items {}",
                ranges(&drained.owned)
            ),
            (false, false, _) => format!(
                "not drained within {deadline:?}: items {} still run on {server}",
                ranges(&drained.running)
            ),
        };
        format!("{}{result}\n", report::text(&drained.report))
    }
}
