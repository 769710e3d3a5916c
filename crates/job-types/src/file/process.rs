//! Options of a file for the process that runs its jobs.

use std::collections::BTreeMap;

use lite::{InstanceAttributes, InvalidPlacement, SchedulerBuilder};

use crate::Invalid;

/// Options of a file for the process that runs its jobs. They are not stored.
///
/// # Examples
/// ```
/// # use std::sync::Arc;
/// use job_types::JobFile;
/// use lite::Scheduler;
///
/// let file = JobFile::from_toml(
///     "max_concurrency = 8\nweight = 2\nzone = 'a'\nlabels = { disk = 'ssd' }\n\
///      [[jobs]]\nname = 'report'\nsharding_total_count = 1\nstored = true",
/// )?;
/// assert_eq!(file.process().weight, Some(2));
/// # let registry = Arc::new(reg_center::MemoryRegistry::new().connect());
/// let scheduler = file.process().configure(Scheduler::builder(registry))?.build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessOptions {
    /// Maximum number of items that run at the same time, of all jobs, at least 1. `None` for no
    /// limit.
    pub max_concurrency: Option<usize>,
    /// Weight of the process, 1 to 100. `None` for 1.
    pub weight: Option<u32>,
    /// Zone of the process. `None` for no zone.
    pub zone: Option<String>,
    /// Labels of the process, at most 32.
    pub labels: BTreeMap<String, String>,
}

impl ProcessOptions {
    /// Sets the options of a scheduler that these options have.
    ///
    /// # Errors
    /// [`Error::Config`](lite::Error::Config) if a field was set to a value that is not valid.
    pub fn configure(&self, mut builder: SchedulerBuilder) -> lite::Result<SchedulerBuilder> {
        if let Some(max) = self.max_concurrency {
            builder = builder.max_concurrency(max);
        }
        if let Some(weight) = self.weight {
            builder = builder.weight(weight)?;
        }
        if let Some(zone) = &self.zone {
            builder = builder.zone(zone.as_str())?;
        }
        for (key, value) in &self.labels {
            builder = builder.label(key.as_str(), value.as_str())?;
        }
        Ok(builder)
    }

    /// Checks the values.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.max_concurrency == Some(0) {
            return Err(Invalid::new("max_concurrency", 0, "1 or more, or no such key: no limit"));
        }
        let mut attributes = InstanceAttributes::default();
        if let Some(weight) = self.weight {
            attributes = attributes
                .with_weight(weight)
                .map_err(|error| Invalid::new("weight", error.value, error.valid))?;
        }
        if let Some(zone) = &self.zone {
            attributes = attributes.with_zone(zone).map_err(|error| quoted("zone", error))?;
        }
        for (key, value) in &self.labels {
            let with = attributes.with_label(key, value);
            attributes = with.map_err(|error| quoted(&format!("labels.{key}"), error))?;
        }
        Ok(())
    }
}

/// Returns the error for a text. The key of a label is part of the path.
fn quoted(key: &str, error: InvalidPlacement) -> Invalid {
    Invalid::new(key, format!("{:?}", error.value), error.valid)
}
