//! Backfills in the record of an item.

use std::sync::Arc;

use super::{Ledger, ManualRequest};
use crate::FireTime;

/// The last fire of a backfill that an item got.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backfilled {
    /// Id of the backfill.
    pub id: Arc<str>,
    /// The past fire.
    pub fire: FireTime,
}

impl Ledger {
    /// Any but retired → the same, with the request for a fire of a backfill. `None` if the item
    /// has got this fire or a later one of the backfill, or while an earlier request waits.
    #[must_use]
    pub fn with_backfill(&self, id: Arc<str>, fire: FireTime, at: FireTime) -> Option<Self> {
        let last = self.backfilled.as_ref().filter(|last| last.id == id);
        if last.is_some_and(|last| last.fire >= fire) {
            return None;
        }
        let request =
            ManualRequest { id: Arc::clone(&id), at, parameter: None, past_fire: Some(fire) };
        let requested = self.with_request(request)?;
        Some(Self { backfilled: Some(Arc::new(Backfilled { id, fire })), ..requested })
    }

    /// Returns true if a request of a backfill waits, or a run of a backfill is unfinished.
    pub(crate) fn is_backfilling(&self) -> bool {
        let waits = self.request.as_ref().is_some_and(|request| request.past_fire.is_some());
        waits || self.run().is_some_and(|run| run.past_fire.is_some())
    }

    /// Returns the id of the backfill whose request waits.
    pub(crate) fn waiting_backfill(&self) -> Option<&Arc<str>> {
        let request = self.request.as_ref()?;
        request.past_fire.map(|_| &request.id)
    }
}
