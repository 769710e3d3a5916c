//! Claims of this process.

use std::collections::BTreeMap;
use std::sync::Arc;

use reg_center::Version;
use sharding::ShardingItem;

use crate::{FencingToken, JobConfig, Versioned};

/// Claims of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Claims {
    /// True while claims may be in flight: their runs can start without another decision. Written
    /// at each decision; read by the membership duty.
    pub in_flight: bool,
    /// Claims whose runs have not started here, by item: their outcome is unknown, or they wait,
    /// for example for the end of the item's former run. Written by replies and by the start of
    /// runs; read by the start of runs, the narrow watch and the release duty.
    pub unstarted: BTreeMap<ShardingItem, UnknownClaim>,
    /// The greatest token started here for each item, so that no run starts twice. It outlasts
    /// sessions. Written by the start of runs; read there and by the release duty.
    pub(crate) started: BTreeMap<ShardingItem, FencingToken>,
}

impl Claims {
    /// Returns true if a run of the item has started here under this token or a later one.
    pub(crate) fn has_started(&self, item: ShardingItem, token: FencingToken) -> bool {
        self.started.get(&item) >= Some(&token)
    }

    pub(super) fn note_start(&mut self, item: ShardingItem, token: FencingToken) {
        let started = self.started.entry(item).or_insert(token);
        *started = token.max(*started);
    }

    /// Records the end of the session.
    ///
    /// The registry rejects commits of an ended session, so claims in doubt cannot succeed later.
    /// A claim that did succeed is swept, because its holder is gone.
    pub(super) fn lose_session(&mut self) {
        self.unstarted.clear();
    }
}

/// Claims of one item whose commits have an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnknownClaim {
    /// The version of the item's record before the last of these claims.
    pub before: Version,
    /// The configurations that these claims have checked, each once.
    pub configs: Vec<Versioned<Arc<JobConfig>>>,
}

impl UnknownClaim {
    /// Adds another claim. Keeps all configurations, because any of the claims may have succeeded.
    pub(crate) fn add(&mut self, before: Version, config: Option<&Versioned<Arc<JobConfig>>>) {
        self.before = self.before.max(before);
        let is_new =
            |config: &&Versioned<_>| self.configs.iter().all(|c| c.version != config.version);
        self.configs.extend(config.filter(is_new).cloned());
    }
}
