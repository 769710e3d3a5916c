//! Drain: disable or pause a server, and wait until no item of the job runs on it.

use std::time::Duration;

use coordination::{JobName, JobView, Layout, NodeKind, ServerIp, ServerState, server_of};
use serde::Serialize;
use sharding::InstanceId;

use super::{Scope, servers};
use crate::held::DRAIN;
use crate::snapshot::runner;
use crate::{By, JobSnapshot, Operations, Report, Result};

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

impl Operations {
    /// Disables servers as [`disable`](Self::disable), recorded as the begin of a drain, and does not
    /// wait for its end.
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
        let report = match mode {
            DrainMode::Disable => self.begin_drain(&scope, by).await?,
            DrainMode::Pause => self.pause(&scope, by).await?,
        };
        let layout = Layout::new(job).speaking(before.dialect());
        let (mut shown, mut is_held_back) = (Occupied::default(), false);
        let in_time = self.watch_until(layout, deadline, |view| {
            shown = Occupied::of(view, server);
            is_held_back = match view.server_state(server) {
                // Removing a server also shuts its instances down.
                None => true,
                Some(state) => state != ServerState::Enabled,
            };
            // If the change was left alone, the report says why, and waiting would never end.
            !is_held_back || shown.is_drained(view, mode)
        });
        let complete = in_time.await? && is_held_back;
        let Occupied { running, owned } = shown;
        Ok(Drained { report, complete, running, owned })
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
        let of = |is_it: &dyn Fn(&coordination::ItemView) -> bool| {
            view.items().filter(|(_, item)| is_it(item)).map(|(item, _)| item.index()).collect()
        };
        Self {
            running: of(&|item| on_it(runner(item))),
            owned: of(&|item| on_it(item.owner.as_ref().map(|owner| &owner.value))),
        }
    }

    fn is_drained(&self, view: &JobView, mode: DrainMode) -> bool {
        let somewhere_to_go = view.instances().any(|id| view.is_available(id));
        let stays = mode == DrainMode::Pause || !somewhere_to_go;
        self.running.is_empty() && (stays || self.owned.is_empty())
    }
}
