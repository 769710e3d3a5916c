//! Limits of the runs that begin: those of the job, and those of its group.

use super::Context;
use super::group::GroupShare;
use super::permits::Permits;
use super::starts::{Left, Starts};
use crate::Ledger;
use crate::plan::Step;

/// The limits that each run of a plan has to keep.
pub(crate) struct Limits<'a> {
    permits: Permits,
    starts: Starts,
    left: Left,
    group: GroupShare<'a>,
}

impl<'a> Limits<'a> {
    pub(crate) fn of(cx: &Context<'a>) -> Self {
        let starts = Starts::of(cx);
        let (permits, left, group) = (Permits::of(cx), starts.left(), GroupShare::of(cx));
        Self { permits, starts, left, group }
    }

    /// Returns true if runs may have to wait for a limit.
    pub(crate) fn are_any(&self) -> bool {
        self.permits.are_limited() || self.starts.are_limited() || self.group.exists()
    }

    /// Returns true if a limit lets no further run begin now.
    pub(crate) fn are_reached(&self) -> bool {
        self.permits.left() == Some(0) || self.left.is_none() || self.group.is_full()
    }

    /// Returns the record of a run that begins, with its permits. `None` if the run waits.
    ///
    /// The limits of the job come first: a run that they stop does not wait for the group.
    pub(crate) fn grant(&mut self, begun: Ledger) -> Option<Ledger> {
        let (permits, left) = (&mut self.permits, &mut self.left);
        let granted = left.take().then(|| permits.grant(begun))??;
        self.group.grant(granted)
    }

    /// Returns these steps of a plan, with the steps that record its starts and the wait of the
    /// job.
    pub(crate) fn recorded(self, cx: &Context<'_>, steps: Vec<Step>) -> Vec<Step> {
        self.group.recorded(cx, self.starts.recorded(cx, steps))
    }
}
