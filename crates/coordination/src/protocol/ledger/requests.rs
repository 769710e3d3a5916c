//! Manual requests in the record of an item.

use std::sync::Arc;

use super::{Ledger, LedgerState, RunSource};
use crate::{FireTime, RequestParameter};

/// A manual request in the record of an item, until an instance claims the item for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ManualRequest {
    /// Id of the request.
    pub id: Arc<str>,
    /// Time of the request, an odd number of milliseconds since 1970 UTC. It identifies the run:
    /// scheduled fires come on whole seconds.
    pub at: FireTime,
    /// Parameter of the run.
    pub parameter: Option<RequestParameter>,
    /// Past fire to run, if the request belongs to a backfill. Its id is that of the backfill.
    pub past_fire: Option<FireTime>,
}

impl ManualRequest {
    /// Returns true if only a record can carry the request to its run: a Java instance receives
    /// neither a parameter nor a past fire.
    pub(crate) fn needs_record(&self) -> bool {
        self.parameter.is_some() || self.past_fire.is_some()
    }

    /// Returns the source of a run for the request.
    pub(super) fn source(&self) -> RunSource {
        if self.past_fire.is_some() { RunSource::Backfill } else { RunSource::Manual }
    }
}

impl Ledger {
    /// Any but retired → the same, with a manual request. `None` while an earlier one waits.
    #[must_use]
    pub fn with_request(&self, request: ManualRequest) -> Option<Self> {
        let free = self.request.is_none();
        // A retired item never runs, so that the request would wait for ever.
        let takes = free && self.state != LedgerState::Retired;
        takes.then(|| Self { request: Some(request), ..self.clone() })
    }

    /// Any → the same, without its manual request, which was dropped or handed on to a Java
    /// instance. `None` if none waits.
    #[must_use]
    pub fn drop_request(&self) -> Option<Self> {
        self.request.as_ref()?;
        Some(Self { request: None, ..self.clone() })
    }
}
