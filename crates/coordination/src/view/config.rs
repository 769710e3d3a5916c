//! The configuration in force.

use std::fmt;
use std::sync::Arc;

use reg_center::Version;

use super::{JobView, Versioned};
use crate::{FireTime, InvalidConfig, JobConfig};

/// The stored configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigState {
    /// There is none (any more).
    Absent,
    /// It can be used.
    Valid(Versioned<Arc<JobConfig>>),
    /// It cannot be used.
    Invalid {
        /// What is wrong with it.
        reason: String,
        /// Which document it is.
        version: Version,
        /// What stays in force until it is repaired, with the version of the document that cannot be used.
        last_good: Option<Versioned<Arc<JobConfig>>>,
    },
}

impl ConfigState {
    /// Returns the state after `next` was read: if it cannot be used, what was in force stays in force.
    pub(super) fn replaced_by(&self, next: Self) -> Self {
        let Self::Invalid { reason, version, last_good: None } = next else { return next };
        let good = match self {
            Self::Absent => None,
            Self::Valid(config) => Some(&config.value),
            Self::Invalid { last_good, .. } => last_good.as_ref().map(|config| &config.value),
        };
        let last_good = good.map(|good| Versioned { value: Arc::clone(good), version });
        Self::Invalid { reason, version, last_good }
    }
}

/// What only the shell can check of a configuration: the grammar of its schedule.
pub type ConfigCheck = fn(&JobConfig) -> Result<(), InvalidConfig>;

/// A check, which makes no difference between views.
#[derive(Clone, Copy)]
pub(super) struct Check(pub(super) ConfigCheck);

impl PartialEq for Check {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Check {}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}

impl JobView {
    /// Returns the stored configuration.
    #[must_use]
    pub fn config_state(&self) -> &ConfigState {
        &self.config
    }

    /// Returns the configuration in force: the stored one, or the last one that could be used.
    #[must_use]
    pub fn config(&self) -> Option<&Arc<JobConfig>> {
        self.config_in_force().map(|config| &config.value)
    }

    /// Returns when the stored configuration was written, by the registry's clock if it has one.
    pub(crate) fn config_written_at(&self) -> Option<FireTime> {
        self.config_written_at
    }

    /// Returns the configuration in force, with the version of the stored document, to guard against its next change.
    pub(crate) fn config_in_force(&self) -> Option<&Versioned<Arc<JobConfig>>> {
        match &self.config {
            ConfigState::Absent => None,
            ConfigState::Valid(config) => Some(config),
            ConfigState::Invalid { last_good, .. } => last_good.as_ref(),
        }
    }

    pub(crate) fn config_version(&self) -> Option<Version> {
        self.config_in_force().map(|config| config.version)
    }

    /// Returns true if the stored configuration can be used, and so is the one in force.
    pub(crate) fn has_usable_config(&self) -> bool {
        matches!(self.config, ConfigState::Valid(_))
    }

    /// Returns the configuration that a leader may decide by. While the stored one cannot be used, instances fall back to
    /// the last good one that each of them has seen, and that may have been replaced since: it does if items were assigned
    /// by it, because then all have seen it.
    pub(crate) fn config_to_lead_by(&self) -> Option<&Arc<JobConfig>> {
        let config = self.config()?;
        let assigned_by_it = || {
            let current = &self.assignment.as_ref()?.value;
            let same = current.total_count == config.sharding_total_count;
            Some(same && current.strategy == config.strategy)
        };
        let sure = self.has_usable_config() || assigned_by_it() == Some(true);
        Some(config).filter(|_| sure)
    }

    /// Returns true if there is an assignment, made for as many items as the configuration in force has.
    pub(crate) fn fits_config(&self) -> bool {
        let total = self.config().map(|config| config.sharding_total_count);
        let assigned = self.assignment.as_ref().map(|assignment| assignment.value.total_count);
        total.is_some() && total == assigned
    }
}
