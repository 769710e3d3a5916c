//! The configuration in force.

use std::fmt;
use std::sync::Arc;

use reg_center::Version;

use super::JobView;
use crate::Versioned;
use crate::{ConfigError, FireTime, InvalidConfig, JobConfig, MaxTimeDiff};

/// State of the stored configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigState {
    /// No configuration is stored.
    Absent,
    /// The configuration is valid and in force.
    Valid(Versioned<Arc<JobConfig>>),
    /// The configuration is invalid.
    Invalid {
        /// Description of the fault.
        reason: String,
        /// Version of the invalid document.
        version: Version,
        /// Last valid configuration, which stays in force, with the version of the invalid
        /// document.
        last_good: Option<Versioned<Arc<JobConfig>>>,
    },
}

/// Version of a stored configuration, and its write time by the registry's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConfigStamp {
    pub(crate) version: Version,
    pub(crate) written_at: Option<FireTime>,
}

/// The stored configuration and the one in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigView {
    pub(super) state: ConfigState,
    /// The stored configuration, which may be invalid.
    stored: Option<ConfigStamp>,
    /// The configuration in force: the last valid one.
    valid: Option<ConfigStamp>,
}

impl ConfigView {
    pub(super) const ABSENT: Self = Self { state: ConfigState::Absent, stored: None, valid: None };

    /// Returns the view of a document that was read, without any earlier one.
    pub(super) fn of(read: Result<JobConfig, ConfigError>, stamp: ConfigStamp) -> Self {
        let (version, stored) = (stamp.version, Some(stamp));
        match read {
            Ok(config) => {
                let state = ConfigState::Valid(Versioned { value: Arc::new(config), version });
                Self { state, stored, valid: stored }
            }
            Err(error) => {
                let reason = error.to_string();
                let state = ConfigState::Invalid { reason, version, last_good: None };
                Self { state, stored, valid: None }
            }
        }
    }

    /// Returns the view after `next` was read. If `next` is invalid, the last valid configuration
    /// stays in force.
    pub(super) fn replaced_by(&self, next: Self) -> Self {
        let valid = if next.stored.is_some() { next.valid.or(self.valid) } else { None };
        Self { state: self.state.replaced_by(next.state), valid, ..next }
    }
}

impl ConfigState {
    fn replaced_by(&self, next: Self) -> Self {
        let Self::Invalid { reason, version, last_good: None } = next else { return next };
        let good = match self {
            Self::Absent => None,
            Self::Valid(config) => Some(&config.value),
            Self::Invalid { last_good, .. } => last_good.as_ref().map(|config| &config.value),
        };
        // Guards check the version of the stored document: they conflict once it is repaired.
        let last_good = good.map(|good| Versioned { value: Arc::clone(good), version });
        Self::Invalid { reason, version, last_good }
    }
}

/// Check of a configuration by the caller of this crate, which knows the grammar of schedules.
pub type ConfigCheck = fn(&JobConfig) -> Result<(), InvalidConfig>;

/// Check as a part of the view. Functions cannot be compared, so that all checks count as equal.
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
    /// Returns the state of the stored configuration.
    #[must_use]
    pub fn config_state(&self) -> &ConfigState {
        &self.config.state
    }

    /// Returns the configuration in force: the stored one, or the last valid one.
    #[must_use]
    pub fn config(&self) -> Option<&Arc<JobConfig>> {
        self.config_in_force().map(|config| &config.value)
    }

    /// Returns the stamp of the stored configuration, which may be invalid.
    pub(crate) fn stored_config(&self) -> Option<ConfigStamp> {
        self.config.stored
    }

    /// Returns the stamp of the configuration in force.
    ///
    /// While the stored one is invalid, its version does not show whose schedule is in force: each
    /// instance uses the last valid one that it has seen.
    pub(crate) fn valid_config(&self) -> Option<ConfigStamp> {
        self.config.valid
    }

    /// Returns the configuration in force, with the version of the stored document, by which guards
    /// notice its next change.
    pub(crate) fn config_in_force(&self) -> Option<&Versioned<Arc<JobConfig>>> {
        match &self.config.state {
            ConfigState::Absent => None,
            ConfigState::Valid(config) => Some(config),
            ConfigState::Invalid { last_good, .. } => last_good.as_ref(),
        }
    }

    pub(crate) fn config_version(&self) -> Option<Version> {
        self.config_in_force().map(|config| config.version)
    }

    /// Returns the bound on the difference between an instance's clock and the registry's.
    pub(crate) fn max_time_diff(&self) -> MaxTimeDiff {
        self.config().map_or(MaxTimeDiff::Default, |config| config.max_time_diff)
    }

    /// Returns true if the stored configuration is valid.
    pub(crate) fn has_usable_config(&self) -> bool {
        matches!(self.config.state, ConfigState::Valid(_))
    }

    /// Returns the configuration that a leader may decide by.
    ///
    /// While the stored one is invalid, each instance falls back to the last valid one that it has
    /// seen, which may be outdated. It is current if items were assigned by it, because then all
    /// instances have seen it. A record of a later version leaves the decisions to an instance of
    /// that version.
    pub(crate) fn config_to_lead_by(&self) -> Option<&Arc<JobConfig>> {
        if self.is_newer() {
            return None;
        }
        let config = self.config()?;
        let sure = self.has_usable_config() || self.is_assigned_by(config);
        sure.then_some(config)
    }

    /// Returns true if the items were assigned by this number of items and this strategy.
    fn is_assigned_by(&self, config: &JobConfig) -> bool {
        let Some(Versioned { value: current, .. }) = &self.assignment else { return false };
        current.total_count == config.sharding_total_count && current.strategy == config.strategy
    }

    /// Returns true if the assignment has as many items as the configuration in force.
    pub(crate) fn fits_config(&self) -> bool {
        let (Some(config), Some(assignment)) = (self.config(), &self.assignment) else {
            return false;
        };
        config.sharding_total_count == assignment.value.total_count
    }
}
