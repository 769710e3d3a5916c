//! Manual requests that this process handles.

use std::collections::{BTreeMap, BTreeSet};

use sharding::ShardingItem;

use crate::protocol::run_request::Triggered;
use crate::{FireTime, RequestParameter};

/// Manual requests. Those of this process outlast its sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Requests {
    /// An operator's request to run items of a job without monitoring. Written when this instance
    /// accepts the request; written and read by the start of unmonitored runs.
    pub unmonitored: Option<UnmonitoredRequest>,
    /// Manual requests that this process has to write to the registry, by id. Written by events,
    /// commits, replies and observations of the view; read by the trigger duty.
    pub wanted: BTreeMap<String, WantedTrigger>,
    /// The time of the last manual request of this process. Written and read when a request gets
    /// its id.
    pub(crate) last_at: Option<FireTime>,
    /// The operator's request seen at the node of this incarnation. Written and read by
    /// observations of the view.
    pub trigger_seen: Option<Triggered>,
}

impl Requests {
    /// Marks sent requests as in doubt: replies to commits of this incarnation no longer arrive.
    pub(crate) fn put_in_doubt(&mut self) {
        for wanted in self.wanted.values_mut().filter(|w| w.progress == RequestProgress::Sent) {
            wanted.progress = RequestProgress::InDoubt;
        }
    }

    /// Records the end of the session, whose node showed the operator's request.
    pub(super) fn lose_session(&mut self) {
        self.trigger_seen = None;
        self.put_in_doubt();
    }
}

/// A manual request for items of an unmonitored job. The registry has no record of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnmonitoredRequest {
    /// The time at which this instance noticed the request. It identifies the runs.
    pub(crate) at: FireTime,
    /// The items that have not run for it yet.
    pub(crate) items: BTreeSet<ShardingItem>,
}

/// A manual request that this process has to write to the registry and has not seen there yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WantedTrigger {
    /// The time of the request. It identifies the runs.
    pub(crate) at: FireTime,
    pub(crate) progress: RequestProgress,
    /// The parameter that its runs receive.
    pub(crate) parameter: Option<RequestParameter>,
}

impl WantedTrigger {
    pub(crate) fn new(at: FireTime, parameter: Option<RequestParameter>) -> Self {
        Self { at, progress: RequestProgress::Unsent, parameter }
    }
}

/// Progress of a manual request on its way to the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RequestProgress {
    /// It was not sent.
    Unsent,
    /// This incarnation has sent it and repeats it until the view shows it. No other instance
    /// removes it while this incarnation is registered.
    Sent,
    /// A former incarnation has sent it. It may have been answered and removed meanwhile, so
    /// sending it again could run the items twice.
    InDoubt,
}
