//! `drain`: disables or pauses a server, and waits until no item of a job, or of all, runs there.

use std::time::Duration;

use clap::Args;
use coordination::{JobName, ServerIp};
use operations::{By, DrainMode, Drained, DrainedJob, Operations};

use super::list::ranges;
use super::report;
use crate::context::{Context, Reasoned};
use crate::fault::{Exit, Fault};
use crate::output::{Page, line};
use crate::text::{duration, job_name, server_ip};
use crate::waiting;

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// Name of the job [default: all jobs that know the server]
    #[arg(value_parser = job_name)]
    job: Option<JobName>,
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
        match &self.job {
            Some(job) => self.of_job(&operations, job, &by).await,
            None => self.of_all(&operations, &by).await,
        }
    }

    fn mode(&self) -> DrainMode {
        if self.pause { DrainMode::Pause } else { DrainMode::Disable }
    }

    async fn of_job(&self, operations: &Operations, job: &JobName, by: &By) -> Result<Page, Fault> {
        let Self { server, deadline, .. } = self;
        let what = format!("draining {server} of {job}, for at most {deadline:?}");
        let drained = operations.drain(job, server, self.mode(), by, *deadline);
        let drained = waiting::shown(&what, drained).await?;
        let exit = if drained.complete { Exit::Done } else { Exit::Partly };
        let Drained { report, complete, running, owned, .. } = &drained;
        let text = report::text(report) + &self.line(job.as_str(), *complete, running, owned);
        Ok(Page::new(text, &drained).ending(exit))
    }

    async fn of_all(&self, operations: &Operations, by: &By) -> Result<Page, Fault> {
        let Self { server, deadline, .. } = self;
        let what = format!("draining {server} of all its jobs, for at most {deadline:?}");
        let drained = operations.drain_server(server, self.mode(), by, *deadline);
        let drained = waiting::shown(&what, drained).await?;
        if drained.report.is_empty() {
            return Err(Fault::no_server(server));
        }
        let mut text = report::text(&drained.report);
        for DrainedJob { job, complete, running, owned, .. } in &drained.jobs {
            text.push_str(&self.line(job, *complete, running, owned));
        }
        let is_complete = drained.jobs.iter().all(|job| job.complete);
        let exit = if !drained.report.failed.is_empty() {
            report::exit(&drained.report)
        } else if is_complete {
            Exit::Done
        } else {
            Exit::Partly
        };
        Ok(Page::new(text, &drained).ending(exit))
    }

    /// Returns the line about one job.
    fn line(&self, job: &str, complete: bool, running: &[u32], owned: &[u32]) -> String {
        let Self { server, deadline, .. } = self;
        let result = match (complete, running.is_empty(), owned.is_empty()) {
            (true, _, true) => format!("drained: no item of {job} runs on {server}"),
            (true, _, false) => format!(
                "drained: no item of {job} runs on {server}; it still owns items {}",
                ranges(owned)
            ),
            (false, true, true) => {
                format!("not drained: {server} is neither disabled nor paused in {job}")
            }
            (false, true, false) => format!(
                "not drained within {deadline:?}: {server} still owns items {} of {job}",
                ranges(owned)
            ),
            (false, false, _) => format!(
                "not drained within {deadline:?}: items {} of {job} still run on {server}",
                ranges(running)
            ),
        };
        line(&result)
    }
}
