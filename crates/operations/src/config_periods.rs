//! The configurations of a job over time, as far as the registry has them.

use std::sync::Arc;

use coordination::{FormerConfig, JobConfig, NodeKind};
use jiff::Timestamp;

use crate::JobSnapshot;

/// Largest difference between the clocks of an author and of the registry for the same write, in
/// milliseconds.
const SAME_WRITE_MS: i64 = 60_000;

/// A configuration, and the time for which it was in force.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConfigPeriod {
    /// Beginning; `None` if the registry does not have it.
    pub from: Option<Timestamp>,
    /// Exclusive end; `None` if the configuration is in force.
    pub until: Option<Timestamp>,
    /// The configuration, or why it is not on record.
    pub config: Result<Arc<JobConfig>, String>,
    /// Why another configuration may have been in force for a part of the time; `None` if none was.
    pub doubt: Option<String>,
}

impl ConfigPeriod {
    /// Creates a period without a doubt.
    #[must_use]
    pub fn new(
        from: Option<Timestamp>,
        until: Option<Timestamp>,
        config: Result<Arc<JobConfig>, String>,
    ) -> Self {
        Self { from, until, config, doubt: None }
    }
}

/// Returns the configurations of a job over time, earliest first, without a gap between them.
///
/// They come from the log of former configurations. Java instances, and programs of versions before
/// 0.2.0 that overwrite the configuration, write without the log. The number of writes of the node
/// shows that there were others. If the registry has a clock, the time of the last write shows
/// since when the present configuration is in force.
///
/// A job without a configuration has no period.
///
/// # Examples
/// ```
/// use coordination::JobName;
/// use operations::{JobSnapshot, config_periods};
///
/// let nothing = JobSnapshot::of_nodes(&JobName::new("report")?, Vec::new());
/// assert!(config_periods(&nothing).is_empty());
/// # Ok::<(), coordination::InvalidName>(())
/// ```
#[must_use]
pub fn config_periods(job: &JobSnapshot) -> Vec<ConfigPeriod> {
    let Some(node) = job.node(&NodeKind::Config) else { return Vec::new() };
    let modified = node.stat.modified_at.and_then(|time| Timestamp::try_from(time).ok());
    let (former, doubt) = match job.former_configs() {
        Ok(former) => {
            let former: Vec<_> = former.iter().map(|former| replaced(job, former)).collect();
            let doubt = unlogged(node.stat.version.0, former.len());
            (former, doubt)
        }
        Err(error) => {
            let doubt = format!("the log of former configurations cannot be read: {error}");
            (Vec::new(), Some(doubt))
        }
    };
    let present = match (job.config(), job.config_fault()) {
        (Some(config), None) => Ok(Arc::new(config.clone())),
        (_, fault) => {
            let fault = fault.unwrap_or("it cannot be read");
            Err(format!(
                "the stored configuration is not valid ({fault}): instances keep the last valid one"
            ))
        }
    };
    Records { former, present, modified, doubt }.periods()
}

/// A configuration that was replaced at a time.
type Replaced = (Timestamp, Result<Arc<JobConfig>, String>);

fn replaced(job: &JobSnapshot, former: &FormerConfig) -> Replaced {
    let config = job.restored(former).map(Arc::new).map_err(|error| error.to_string());
    let at = Timestamp::from_millisecond(former.replaced_ms);
    (at.unwrap_or(Timestamp::MIN), config)
}

/// Returns the doubt if the number of writes of the configuration since its creation is not that of
/// the logged replacements.
fn unlogged(writes: u32, logged: usize) -> Option<String> {
    let writes = usize::try_from(writes).unwrap_or(usize::MAX);
    match writes.checked_sub(logged) {
        Some(0) => None,
        Some(1) => Some("1 replacement of the configuration is not on record".to_owned()),
        Some(n) => Some(format!("{n} replacements of the configuration are not on record")),
        None => Some("the configuration was created again since".to_owned()),
    }
}

/// Records of a job's configurations in the registry.
struct Records {
    /// Logged replacements, earliest first.
    former: Vec<Replaced>,
    present: Result<Arc<JobConfig>, String>,
    /// Last write of the present configuration by the registry's clock, if it has one.
    modified: Option<Timestamp>,
    /// Why replacements are missing in the log, if any are.
    doubt: Option<String>,
}

impl Records {
    fn periods(self) -> Vec<ConfigPeriod> {
        let Self { former, present, modified, doubt } = self;
        let mut periods = Vec::new();
        let mut from = None;
        for (n, (until, config)) in former.into_iter().enumerate() {
            // The first entry may have been in force for an instant only.
            let is_cut = n == 0 && doubt.is_some();
            let config = if is_cut { Err(NOT_ON_RECORD.to_owned()) } else { config };
            let until = Some(until);
            periods.push(ConfigPeriod { from, until, config, doubt: doubt.clone() });
            from = until;
        }
        let last_write = modified.filter(|_| doubt.is_some());
        if let Some(written) = last_write
            && from.is_none_or(|from| is_later(written, from))
        {
            let (config, doubt) = (Err(NOT_ON_RECORD.to_owned()), doubt.clone());
            periods.push(ConfigPeriod { from, until: Some(written), config, doubt });
            from = Some(written);
        }
        let doubt = doubt.filter(|_| last_write.is_none());
        periods.push(ConfigPeriod { from, until: None, config: present, doubt });
        periods
    }
}

/// Reason of a period whose configuration the registry does not have.
const NOT_ON_RECORD: &str = "the configuration of that time is not on record";

/// Returns true if a write is not the logged one.
fn is_later(written: Timestamp, logged: Timestamp) -> bool {
    written.as_millisecond().saturating_sub(logged.as_millisecond()) > SAME_WRITE_MS
}

#[cfg(test)]
mod tests {
    use coordination::JobName;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_709_208_000 + minute * 60).unwrap()
    }

    fn config(items: u32) -> Result<Arc<JobConfig>, String> {
        Ok(Arc::new(JobConfig::new(JobName::new("report").unwrap(), items)))
    }

    /// Beginning and end in minutes, number of items, and whether there is a doubt.
    type Row = (Option<i64>, Option<i64>, Option<u32>, bool);

    fn rows(former: &[(i64, u32)], modified: Option<i64>, doubt: Option<String>) -> Vec<Row> {
        let former = former.iter().map(|(minute, items)| (at(*minute), config(*items))).collect();
        let (present, modified) = (config(9), modified.map(at));
        let periods = Records { former, present, modified, doubt }.periods();
        let minute = |time: Timestamp| (time.as_second() - 1_709_208_000) / 60;
        let row = |period: ConfigPeriod| {
            let items = period.config.ok().map(|config| config.sharding_total_count);
            (period.from.map(minute), period.until.map(minute), items, period.doubt.is_some())
        };
        periods.into_iter().map(row).collect()
    }

    #[test]
    fn complete_log_gives_all_configurations_without_doubt() {
        let complete = rows(&[(10, 1), (20, 2)], Some(90), None);
        let expected = [
            (None, Some(10), Some(1), false),
            (Some(10), Some(20), Some(2), false),
            (Some(20), None, Some(9), false),
        ];
        assert_eq!(complete, expected);
        assert_eq!(rows(&[], None, None), [(None, None, Some(9), false)]);
    }

    #[test]
    fn time_before_an_unlogged_write_is_not_on_record() {
        let doubt = || Some("1 replacement of the configuration is not on record".to_owned());
        let cut = (None, Some(10), None, true);
        let by_clock = rows(&[(10, 1), (20, 2)], Some(90), doubt());
        let expected = [
            cut,
            (Some(10), Some(20), Some(2), true),
            (Some(20), Some(90), None, true),
            (Some(90), None, Some(9), false),
        ];
        assert_eq!(by_clock, expected);
        let logged_last = rows(&[(10, 1), (20, 2)], Some(20), doubt());
        let expected = [cut, (Some(10), Some(20), Some(2), true), (Some(20), None, Some(9), false)];
        assert_eq!(logged_last, expected);
        let without_clock = rows(&[(10, 1)], None, doubt());
        assert_eq!(without_clock, [cut, (Some(10), None, Some(9), true)]);
        let never_logged = rows(&[], Some(90), doubt());
        assert_eq!(never_logged, [(None, Some(90), None, true), (Some(90), None, Some(9), false)]);
    }

    #[test]
    fn writes_beyond_the_log_are_a_doubt() {
        assert_eq!(unlogged(2, 2), None);
        let text = "1 replacement of the configuration is not on record";
        assert_eq!(unlogged(3, 2).as_deref(), Some(text));
        let text = "20 replacements of the configuration are not on record";
        assert_eq!(unlogged(40, 20).as_deref(), Some(text));
        let text = "the configuration was created again since";
        assert_eq!(unlogged(0, 2).as_deref(), Some(text));
    }
}
