//! The end of a worker: signals, draining, and the final report.

use std::time::Duration;

use lite::{ItemEnding, Scheduler, ShutdownReport};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::RefusedJob;
use crate::fault::{Exit, Fault};
use crate::output::{Page, counted};

/// SIGTERM and ctrl-c.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, Fault> {
        let of = |kind| {
            signal(kind)
                .map_err(|error| Fault::refused(format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            interrupt: of(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Waits for a future; returns `None` if a signal comes first.
    pub(crate) async fn unless<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.next() => None,
            done = future => Some(done),
        }
    }
}

/// The way in which a worker ended.
pub(super) enum Ending {
    /// Every job has left, or was abandoned at the deadline.
    Left(Vec<ShutdownReport>),
    /// A second signal came during the drain.
    Stopped,
}

impl Ending {
    /// Shuts all jobs down; another signal stops at once.
    pub(super) async fn after(
        scheduler: &Scheduler,
        deadline: Duration,
        signals: &mut Signals,
    ) -> Self {
        tokio::select! {
            biased;
            () = signals.next() => {
                scheduler.abort();
                Self::Stopped
            }
            reports = scheduler.shutdown(deadline) => Self::Left(reports),
        }
    }

    /// Reports the ends of the runs of each job, and the jobs that were never registered.
    pub(super) fn page(&self, refused: &[RefusedJob], written: Result<(), Fault>) -> Page {
        let (mut text, jobs, is_clean) = match self {
            Self::Stopped => {
                ("stopped at once: runs were interrupted\n".to_owned(), json!(null), false)
            }
            Self::Left(reports) => (
                reports.iter().map(line).collect(),
                reports.iter().map(document).collect(),
                reports.iter().all(ShutdownReport::is_clean),
            ),
        };
        for RefusedJob { job, fault } in refused {
            text.push_str(&format!("{job}: not registered: {fault}\n"));
        }
        let refused: Vec<_> = refused.iter().map(RefusedJob::document).collect();
        let unwritten = written.err().map(|fault| fault.to_string());
        if let Some(fault) = &unwritten {
            text.push_str(&format!("history: {fault}\n"));
        }
        let is_clean = is_clean && unwritten.is_none() && refused.is_empty();
        let exit = if is_clean { Exit::Done } else { Exit::Partly };
        let document =
            json!({ "jobs": jobs, "not_registered": refused, "history_fault": unwritten });
        Page::new(text, &document).ending(exit)
    }
}

impl RefusedJob {
    fn document(&self) -> Value {
        json!({ "job": self.job.as_str(), "fault": self.fault.to_string() })
    }
}

fn line(report: &ShutdownReport) -> String {
    let finished =
        report.items.iter().filter(|item| matches!(item.ending, ItemEnding::Finished(_)));
    let (finished, all) = (finished.count(), report.items.len());
    let mut line = format!("{}: left; ", report.job);
    match all {
        0 => line.push_str("no run was under way"),
        _ => line.push_str(&format!("{} under way: {finished} finished", counted(all, "run"))),
    }
    if finished < all {
        line.push_str(&format!(", {} cut short", all - finished));
    }
    if !report.deregistered {
        line.push_str("; not deregistered yet");
    }
    line + "\n"
}

fn document(report: &ShutdownReport) -> Value {
    let ending = |ending: ItemEnding| match ending {
        ItemEnding::Finished(outcome) => format!("finished: {outcome}"),
        ItemEnding::Cancelled(outcome) => format!("cancelled: {outcome}"),
        ItemEnding::Dropped => "dropped".to_owned(),
        ItemEnding::StillRunning => "still running".to_owned(),
        _ => "unknown".to_owned(),
    };
    let items = report.items.iter().map(|item| {
        json!({
            "item": item.item.index(),
            "token": item.token.0,
            "fire_ms": item.fire.0,
            "ending": ending(item.ending),
        })
    });
    json!({
        "job": report.job.as_str(),
        "deregistered": report.deregistered,
        "took_ms": report.took.as_millis(),
        "items": items.collect::<Vec<_>>(),
    })
}
