//! Drain: disable or pause a server, and wait until no item of the job runs on it.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::{JobName, JobView, Layout, NodeKind, ServerIp, ServerState, Slot, server_of};
use futures_util::StreamExt as _;
use serde::Serialize;
use sharding::InstanceId;
use tokio::time::Instant;

use super::{Change, Scope, preview, servers};
use crate::held::DRAIN;
use crate::slots::runner;
use crate::{By, Error, JobSnapshot, Operations, Report, Result};

/// Way in which a drain stops new runs on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DrainMode {
    /// Disable the server: its items get other owners as they become idle.
    Disable,
    /// Pause the server: its items stay and miss their fires.
    Pause,
}

/// Result of a drain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Drained {
    /// Report of the change to the server.
    pub report: Report,
    /// True if no item runs on the server and, with [`DrainMode::Disable`], it owns no items.
    pub complete: bool,
    /// Items that still run on the server.
    pub running: Vec<u32>,
    /// Items that the server still owns.
    pub owned: Vec<u32>,
}

/// Result of a drain of a server for all jobs that know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DrainedServer {
    /// Report of the changes to the server, one for each job.
    pub report: Report,
    /// The jobs that know the server, by their names.
    pub jobs: Vec<DrainedJob>,
}

/// State of one job at the end of a drain of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct DrainedJob {
    /// Name of the job.
    pub job: String,
    /// As [`Drained::complete`].
    pub complete: bool,
    /// Items that still run on the server.
    pub running: Vec<u32>,
    /// Items that the server still owns.
    pub owned: Vec<u32>,
}

impl DrainMode {
    /// Returns the change that begins a drain.
    fn change(self, scope: Scope) -> Change {
        match self {
            Self::Disable => Change::Disable(scope),
            Self::Pause => Change::Pause(scope),
        }
    }
}

/// Number of jobs that are followed at a time while a server is drained of all.
const AT_A_TIME: usize = 16;
/// Shortest time for which a job is followed, so that its state is read even after the deadline.
const LEAST_WAIT: Duration = Duration::from_secs(1);

impl Operations {
    /// Disables servers as [`disable`](Self::disable), recorded as the start of a drain, and does
    /// not wait for its end.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    pub async fn begin_drain(&self, scope: &Scope, by: &By) -> Result<Report> {
        let plan = |job: &JobSnapshot| Ok(servers::disable(job, scope));
        self.change_all(scope, DRAIN, by, plan).await
    }

    /// Disables or pauses a server for a job, and waits until its runs have ended.
    ///
    /// With [`DrainMode::Disable`] it also waits until the items have other owners. No run is
    /// interrupted. At the deadline the result lists the remaining items, and the server stays
    /// disabled or paused.
    ///
    /// If no other server is available, items keep their owner. The drain is then complete when
    /// nothing runs.
    ///
    /// # Errors
    /// [`Error::NoSuch`](crate::Error::NoSuch) if the job does not know the server; otherwise as
    /// [`disable`](Self::disable).
    ///
    /// # Cancel safety
    /// The future can be dropped while it waits; the server stays disabled or paused.
    pub async fn drain(
        &self,
        job: &JobName,
        server: &ServerIp,
        mode: DrainMode,
        by: &By,
        deadline: Duration,
    ) -> Result<Drained> {
        let before = self.job(job).await?;
        if before.node(&NodeKind::Server(server.clone())).is_none() {
            return Err(servers::unknown(&before, server));
        }
        let scope = Scope::of_both(job.clone(), server.clone());
        let report = self.hold_back(&scope, mode, by).await?;
        let layout = Layout::new(job).speaking(before.dialect());
        let (complete, Occupied { running, owned }) =
            self.until_drained(layout, server, mode, deadline).await?;
        Ok(Drained { report, complete, running, owned })
    }

    /// Disables or pauses a server for all jobs that know it, and waits until the runs of all have
    /// ended, as [`drain`](Self::drain) does for one job. Nothing is left to wait for if no job
    /// knows the server: the report is empty then.
    ///
    /// The deadline is that of all jobs together. A job that cannot be changed or followed is a
    /// failure of the report. Of many jobs, 16 are followed at a time, and each for at least a
    /// second.
    ///
    /// # Errors
    /// As [`disable`](Self::disable).
    ///
    /// # Cancel safety
    /// As for [`drain`](Self::drain).
    pub async fn drain_server(
        &self,
        server: &ServerIp,
        mode: DrainMode,
        by: &By,
        deadline: Duration,
    ) -> Result<DrainedServer> {
        let end = Instant::now() + deadline;
        let mut report = self.hold_back(&Scope::of_server(server.clone()), mode, by).await?;
        let concerned = report.done.iter().chain(&report.left).map(|entry| entry.job.clone());
        let names: BTreeSet<String> = concerned.collect();
        let waits = names.into_iter().map(|name| async move {
            let left = end.saturating_duration_since(Instant::now()).max(LEAST_WAIT);
            let drained = self.drained_job(&name, server, mode, left).await;
            (name, drained)
        });
        let mut jobs = Vec::new();
        let all: Vec<_> = futures_util::stream::iter(waits).buffered(AT_A_TIME).collect().await;
        for (name, drained) in all {
            match drained {
                Ok(drained) => jobs.push(drained),
                // The job was removed meanwhile.
                Err(Error::NoSuchJob { .. }) => {}
                Err(error) => report.fail(&name, &format!("server {server}"), error),
            }
        }
        Ok(DrainedServer { report, jobs })
    }

    /// Returns the result that [`drain`](Self::drain) would have before its wait, with the items
    /// that run on the server or are owned by it now.
    ///
    /// # Errors
    /// As [`drain`](Self::drain), except the errors of the write.
    pub async fn preview_drain(
        &self,
        job: &JobName,
        server: &ServerIp,
        mode: DrainMode,
    ) -> Result<Drained> {
        let before = self.job(job).await?;
        if before.node(&NodeKind::Server(server.clone())).is_none() {
            return Err(servers::unknown(&before, server));
        }
        let scope = Scope::of_both(job.clone(), server.clone());
        let report = preview(&before, &mode.change(scope), self.present())?;
        let now = Occupied::of(before.view(), server);
        let complete = now.is_drained(before.view(), server, mode);
        Ok(Drained { report, complete, running: now.running, owned: now.owned })
    }

    /// Returns the result that [`drain_server`](Self::drain_server) would have before its wait, as
    /// [`preview_drain`](Self::preview_drain) does for one job.
    ///
    /// # Errors
    /// A registry error.
    pub async fn preview_drain_server(
        &self,
        server: &ServerIp,
        mode: DrainMode,
    ) -> Result<DrainedServer> {
        let change = mode.change(Scope::of_server(server.clone()));
        let (namespace, now) = (self.namespace().await?, self.present());
        let (mut report, mut jobs) = (Report::default(), Vec::new());
        for job in &namespace.jobs {
            let of_job = preview(job, &change, now)?;
            if !of_job.is_empty() {
                let now = Occupied::of(job.view(), server);
                let complete = now.is_drained(job.view(), server, mode);
                let Occupied { running, owned } = now;
                jobs.push(DrainedJob { job: job.job().to_string(), complete, running, owned });
            }
            report.extend(of_job);
        }
        for (job, error) in namespace.unread {
            report.fail(&job, "job", error);
        }
        Ok(DrainedServer { report, jobs })
    }

    async fn hold_back(&self, scope: &Scope, mode: DrainMode, by: &By) -> Result<Report> {
        match mode {
            DrainMode::Disable => self.begin_drain(scope, by).await,
            DrainMode::Pause => self.pause(scope, by).await,
        }
    }

    async fn drained_job(
        &self,
        name: &str,
        server: &ServerIp,
        mode: DrainMode,
        deadline: Duration,
    ) -> Result<DrainedJob> {
        let job = self.job(&JobName::new(name)?).await?;
        let layout = Layout::new(job.job()).speaking(job.dialect());
        let (complete, Occupied { running, owned }) =
            self.until_drained(layout, server, mode, deadline).await?;
        Ok(DrainedJob { job: name.to_owned(), complete, running, owned })
    }

    /// Waits until a server that is held back is drained of a job. Returns false if it is not, with
    /// the items that it has.
    async fn until_drained(
        &self,
        layout: Layout,
        server: &ServerIp,
        mode: DrainMode,
        deadline: Duration,
    ) -> Result<(bool, Occupied)> {
        let (mut shown, mut is_held_back) = (Occupied::default(), false);
        let in_time = self.watch_until(layout, deadline, |view| {
            shown = Occupied::of(view, server);
            is_held_back = match view.server_state(server) {
                // Removing a server also shuts its instances down.
                None => true,
                Some(state) => state != ServerState::Enabled,
            };
            // If the change was left alone, the report says why, and waiting would never end.
            !is_held_back || shown.is_drained(view, server, mode)
        });
        let complete = in_time.await? && is_held_back;
        Ok((complete, shown))
    }
}

#[derive(Clone, Debug, Default)]
struct Occupied {
    running: Vec<u32>,
    owned: Vec<u32>,
}

impl Occupied {
    fn of(view: &JobView, server: &ServerIp) -> Self {
        let on_it = |id: Option<&InstanceId>| id.and_then(server_of).as_ref() == Some(server);
        let first = view.items().map(|(item, _)| Slot::of(item));
        let slots = first.chain(view.further_slots().map(|(slot, _)| slot));
        let running = slots.filter(|slot| on_it(runner(view, slot.key())));
        let running: BTreeSet<_> = running.map(|slot| slot.item.index()).collect();
        let is_owned =
            |item: &coordination::ItemView| on_it(item.owner.as_ref().map(|owner| &owner.value));
        let owned = view.items().filter(|(_, item)| is_owned(item));
        Self {
            running: running.into_iter().collect(),
            owned: owned.map(|(item, _)| item.index()).collect(),
        }
    }

    fn is_drained(&self, view: &JobView, server: &ServerIp, mode: DrainMode) -> bool {
        let is_elsewhere = |id: &InstanceId| server_of(id).as_ref() != Some(server);
        let somewhere_to_go = view.instances().any(|id| is_elsewhere(id) && view.is_available(id));
        let stays = mode == DrainMode::Pause || !somewhere_to_go;
        self.running.is_empty() && (stays || self.owned.is_empty())
    }
}
