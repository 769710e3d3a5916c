//! Drain: hold a server back, and wait until nothing of a job runs there any more.

use std::time::Duration;

use coordination::{JobName, JobView, Layout, NodeKind, ServerIp, ServerState, server_of};
use serde::Serialize;
use sharding::InstanceId;

use super::{Scope, servers};
use crate::snapshot::runner;
use crate::{By, Operations, Report, Result};

/// How a server is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DrainMode {
    /// It is disabled: its items move elsewhere as they become idle.
    Disable,
    /// It is paused: its items stay, and miss their fires.
    Pause,
}

/// How far a drain has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Drained {
    /// What was done to the server.
    pub report: Report,
    /// Nothing of the job runs on the server any more, and, if it was disabled, nothing belongs to it.
    pub complete: bool,
    /// The items that still run there.
    pub running: Vec<u32>,
    /// The items that still belong to it.
    pub owned: Vec<u32>,
}

impl Operations {
    /// Disables or pauses a server for a job, and waits until its runs have ended and, if it is disabled, its items have
    /// moved. Nothing is interrupted: at the deadline the result tells what is still there. The server stays as it is
    /// then.
    ///
    /// If it is the only server that is enabled, items stay where they are, as there is nowhere to go: the drain is then
    /// complete when nothing runs.
    ///
    /// # Errors
    /// [`Error::NoSuch`](crate::Error::NoSuch) if the job does not know the server; else as
    /// [`disable`](Self::disable).
    ///
    /// # Cancel safety
    /// The future can be dropped while it waits; the server stays as it is then.
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
            DrainMode::Disable => self.disable(&scope, by).await?,
            DrainMode::Pause => self.pause(&scope, by).await?,
        };
        let layout = Layout::new(job).speaking(before.dialect());
        let (mut shown, mut is_held_back) = (Occupied::default(), false);
        let in_time = self.watch_until(layout, deadline, |view| {
            shown = Occupied::of(view, server);
            is_held_back = match view.server_state(server) {
                // Whoever has removed the server meanwhile has shut its instances down.
                None => true,
                Some(state) => state != ServerState::Enabled,
            };
            // A server that is not held back is not waited for: it was left alone, for a reason that is reported.
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
