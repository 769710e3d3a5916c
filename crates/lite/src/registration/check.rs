//! Checks of a registration before its first request to the registry.

use std::num::NonZeroUsize;

use coordination::{InvalidConfig, JobConfig};

use super::{CodeSource, Registration};
use crate::error_handler::{self, Selection};
use crate::scheduler::Inner;
use crate::{RetryPolicy, config_check, output};

/// Returns the maximum number of concurrent runs of a job or a process, at least 1.
pub(crate) fn checked_concurrency(
    max: Option<usize>,
) -> Result<Option<NonZeroUsize>, InvalidConfig> {
    let Some(max) = max else { return Ok(None) };
    match NonZeroUsize::new(max) {
        Some(max) => Ok(Some(max)),
        None => {
            let valid = "1 or more, or no limit at all";
            Err(InvalidConfig::new("max_concurrency", max, valid))
        }
    }
}

impl Registration {
    /// Checks the configuration. That of a runtime job is the stored one, so only its use in this
    /// process is checked.
    pub(super) fn check_config(&self) -> Result<(), InvalidConfig> {
        let Inner { seams, strategies, default_time_zone, .. } = &*self.scheduler;
        match &self.code_source {
            CodeSource::Code => {
                config_check::check(&self.config, strategies, default_time_zone, seams.clock.wall())
            }
            CodeSource::Template(_) => {
                config_check::check_stored(&self.config, strategies, default_time_zone)
            }
        }
    }

    /// Checks the limits of runs and callbacks, and the retry policy.
    pub(super) fn check_limits(&self) -> Result<(), InvalidConfig> {
        if self.output_bytes > 0 && !output::OUTPUT_BYTES.contains(&self.output_bytes) {
            let valid = "0 for none, or 1024 to 16777216 bytes";
            return Err(InvalidConfig::new("output_limit", self.output_bytes, valid));
        }
        if self.timeout.is_some_and(|timeout| timeout.is_zero()) {
            let valid = "more than zero, or no timeout at all";
            return Err(InvalidConfig::new("timeout", "0s", valid));
        }
        let limits = [
            ("listener_timeout", self.listener_timeout),
            ("error_handler_timeout", self.errors.limit),
        ];
        if let Some((field, _)) = limits.into_iter().find(|(_, limit)| limit.is_zero()) {
            return Err(InvalidConfig::new(field, "0s", "more than zero"));
        }
        self.retry.iter().try_for_each(RetryPolicy::check)
    }

    /// Checks that the handler that a configuration chooses can be created.
    pub(super) fn check_error_handler(&self, config: &JobConfig) -> Result<(), InvalidConfig> {
        let error_handler::Rules { given, types, .. } = &self.errors;
        if !given.is_empty() {
            return Ok(());
        }
        Selection::of(config, types).make(config, types).map(drop)
    }
}
