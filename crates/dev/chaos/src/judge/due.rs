//! Due fires of items, by the configurations of a job.

use std::collections::BTreeSet;

use crate::evidence::{ConfigSpan, JobFacts};

/// A fire of an item that was due, or may have been due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) item: u32,
    pub(super) fire_ms: i64,
    /// True if every configuration that may have been in force has the fire and the item.
    pub(super) is_certain: bool,
}

/// Returns the fires of all items between two instants, both included.
pub(super) fn fires(job: &JobFacts, first_ms: i64, last_ms: i64) -> Result<Vec<Due>, String> {
    let mut schedules = Vec::new();
    for config in &job.configs {
        let fires = checker::fires_between(&config.cron, first_ms, last_ms)?;
        schedules.push((config, fires.into_iter().collect::<BTreeSet<i64>>()));
    }
    let instants: BTreeSet<i64> = schedules.iter().flat_map(|(_, fires)| fires).copied().collect();
    let mut due = Vec::new();
    for fire_ms in instants {
        let in_force = in_force(&job.configs, fire_ms);
        let (first, last) = in_force.ok_or_else(|| {
            format!("no configuration of job {} was in force at {fire_ms}", job.name)
        })?;
        let totals = schedules[first..=last]
            .iter()
            .map(|(config, fires)| if fires.contains(&fire_ms) { config.total } else { 0 });
        let (least, most) =
            totals.fold((u32::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
        due.extend((0..most).map(|item| Due { item, fire_ms, is_certain: item < least }));
    }
    Ok(due)
}

/// Returns the indices of the first and the last configuration that may have been in force.
fn in_force(configs: &[ConfigSpan], at_ms: i64) -> Option<(usize, usize)> {
    let last = configs.iter().rposition(|config| config.from_ms <= at_ms)?;
    let settled = configs[..=last].iter().rposition(|config| config.settled_ms <= at_ms);
    Some((settled.unwrap_or(0), last))
}
