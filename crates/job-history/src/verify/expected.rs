//! Fires that a job owes in a period, by its configurations.

use std::collections::BTreeMap;

use checker::{Schedule, Texts};
use coordination::JobConfig;
use jiff::Timestamp;
use operations::ConfigPeriod;

use super::UnjudgedPeriod;
use super::evidence::time;

/// Maximum number of fires of items in a period.
pub(super) const MAX_FIRES: u64 = 1_000_000;

/// Distance from a change of the configuration, and from the first record, within which a fire
/// without a record is not owed, in milliseconds.
///
/// Instances need time to see a change, and the times of changes come from the clocks of operators.
const CHANGE_MS: i64 = 5_000;

/// A scheduled fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExpectedFire {
    pub(super) fire_ms: i64,
    /// Number of items of the job.
    pub(super) items: u32,
    /// False if it is so close to a change that it needs no record.
    pub(super) is_owed: bool,
    /// Index of its configuration.
    pub(super) period: usize,
}

/// The fires that a job owes.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// Ascending.
    pub(super) fires: Vec<ExpectedFire>,
    pub(super) unjudged: Vec<UnjudgedPeriod>,
    periods: Vec<PeriodFacts>,
    /// Times, also outside of the period, in which fires wait in a queue: beginning and exclusive
    /// end.
    queued: Vec<(i64, i64)>,
}

/// Facts of a configuration on which verdicts depend.
#[derive(Debug)]
struct PeriodFacts {
    from_ms: i64,
    until_ms: i64,
    /// Beginning or end of the configuration within the period.
    changes: Vec<i64>,
    is_known: bool,
    doubt: Option<String>,
    is_monitored: bool,
    /// Fires before this time need no record.
    owed_from_ms: i64,
    /// Number of items if the schedule is a fixed delay.
    items_of_fixed_delay: Option<u32>,
}

/// The period has more than `MAX_FIRES` fires: `until_ms` is the last end with fewer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyFires {
    pub(super) until_ms: i64,
}

impl Expected {
    /// Computes the fires of a period. Fires up to shortly after `first_record_ms` are not owed.
    pub(super) fn of(
        configs: &[ConfigPeriod],
        (from_ms, until_ms): (i64, i64),
        first_record_ms: Option<i64>,
    ) -> Result<Self, TooManyFires> {
        let mut expected = Self { queued: queued_times(configs), ..Self::default() };
        let begin = first_record_ms.map_or(until_ms, |first| first.clamp(from_ms, until_ms));
        if begin > from_ms {
            let reason = if first_record_ms.is_some() {
                "the first record of the job in the history is later"
            } else {
                "the history has no record of the job"
            };
            expected.leave_unjudged(from_ms, begin, reason.to_owned());
        }
        if configs.is_empty() {
            let reason = "the registry has no configuration of the job";
            expected.leave_unjudged(begin, until_ms, reason.to_owned());
        }
        let owed_from = if begin > from_ms { begin.saturating_add(CHANGE_MS) } else { from_ms };
        let mut budget = MAX_FIRES;
        for config in configs {
            expected.add(config, (begin, until_ms), owed_from, &mut budget)?;
        }
        Ok(expected)
    }

    fn add(
        &mut self,
        config: &ConfigPeriod,
        (from_ms, until_ms): (i64, i64),
        owed_from: i64,
        budget: &mut u64,
    ) -> Result<(), TooManyFires> {
        let ms = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
        let changes: Vec<i64> = [ms(config.from), ms(config.until)].into_iter().flatten().collect();
        let from_ms = ms(config.from).map_or(from_ms, |begin| begin.max(from_ms));
        let until_ms = ms(config.until).map_or(until_ms, |end| end.min(until_ms));
        if from_ms >= until_ms {
            return Ok(());
        }
        let schedule = match &config.config {
            Ok(config) => Schedule::parse(&texts_of(config)),
            Err(reason) => Err(reason.clone()),
        };
        let is_known = schedule.is_ok();
        let period = self.periods.len();
        let is_monitored = config.config.as_ref().is_ok_and(|config| config.monitor_execution);
        let doubt = config.doubt.clone();
        let is_fixed_delay = matches!(&schedule, Ok(Some(it)) if it.fixed_delay().is_some());
        let items = config.config.as_ref().map_or(0, |config| config.sharding_total_count);
        self.periods.push(PeriodFacts {
            from_ms,
            until_ms,
            changes,
            is_known,
            doubt,
            is_monitored,
            owed_from_ms: owed_from,
            items_of_fixed_delay: is_fixed_delay.then_some(items),
        });
        match (schedule, &config.config) {
            (Ok(Some(_)), _) if is_fixed_delay => {
                let reason = "with a fixed delay, a fire that no item has run is not known";
                self.leave_unjudged(from_ms, until_ms, reason.to_owned());
            }
            (Ok(Some(schedule)), Ok(_)) => {
                // Both ends of `between` are included.
                for fire_ms in schedule.between(from_ms, until_ms - 1) {
                    let left = budget.checked_sub(items.into());
                    *budget = left.ok_or(TooManyFires { until_ms: fire_ms })?;
                    let is_owed = fire_ms >= owed_from && !self.periods[period].is_near(fire_ms);
                    self.fires.push(ExpectedFire { fire_ms, items, is_owed, period });
                }
            }
            (Err(reason), _) => self.leave_unjudged(from_ms, until_ms, reason),
            (Ok(_), _) => {}
        }
        Ok(())
    }

    fn leave_unjudged(&mut self, from_ms: i64, until_ms: i64, reason: String) {
        if from_ms < until_ms {
            self.unjudged.push(UnjudgedPeriod {
                from: time(from_ms),
                until: time(until_ms),
                reason,
            });
        }
    }

    /// Returns the fire of the schedule at a time.
    pub(super) fn at(&self, fire_ms: i64) -> Option<&ExpectedFire> {
        let place = self.fires.binary_search_by_key(&fire_ms, |fire| fire.fire_ms).ok()?;
        self.fires.get(place)
    }

    /// Returns the fires of a window by their times. With a fixed delay, these are the fires that
    /// an item has run, which all items owe; `runs` are the fires and the starts of scheduled runs.
    pub(super) fn in_window(
        &self,
        (from_ms, until_ms): (i64, i64),
        runs: impl Iterator<Item = (i64, i64)>,
    ) -> Result<BTreeMap<i64, ExpectedFire>, TooManyFires> {
        let first = self.fires.partition_point(|fire| fire.fire_ms < from_ms);
        let end = self.fires.partition_point(|fire| fire.fire_ms < until_ms);
        let scheduled = self.fires.get(first..end).unwrap_or_default().iter().copied();
        let mut fires: BTreeMap<_, _> = scheduled.map(|fire| (fire.fire_ms, fire)).collect();
        let mut budget = MAX_FIRES;
        for (fire_ms, began_ms) in runs {
            let Some(fire) = self.with_fixed_delay(fire_ms, began_ms) else { continue };
            if let Some(known) = fires.get_mut(&fire_ms) {
                known.is_owed &= fire.is_owed;
                continue;
            }
            let left = budget.checked_sub(fire.items.into());
            budget = left.ok_or(TooManyFires { until_ms: fire_ms })?;
            fires.insert(fire_ms, fire);
        }
        Ok(fires)
    }

    /// Returns the fire with a fixed delay of which an item has a run.
    fn with_fixed_delay(&self, fire_ms: i64, began_ms: i64) -> Option<ExpectedFire> {
        let mut periods = self.periods.iter().enumerate();
        let (period, facts) = periods.find(|(_, it)| it.contains(fire_ms))?;
        let items = facts.items_of_fixed_delay?;
        // A shorter delay can put a fire before the change, and the items of that time owe nothing.
        let is_owed =
            fire_ms >= facts.owed_from_ms && began_ms < facts.until_ms && !facts.is_near(fire_ms);
        Some(ExpectedFire { fire_ms, items, is_owed, period })
    }

    /// Returns true if the fire follows from the end of the one before.
    pub(super) fn has_fixed_delay(&self, fire: &ExpectedFire) -> bool {
        self.periods.get(fire.period).is_some_and(|it| it.items_of_fixed_delay.is_some())
    }

    /// Returns true if the fires around this time are known for certain.
    pub(super) fn is_known_at(&self, fire_ms: i64) -> bool {
        self.period_at(fire_ms).is_some_and(|it| it.is_known && !it.is_near(fire_ms))
    }

    /// Returns why another configuration may have been in force.
    pub(super) fn doubt_at(&self, fire_ms: i64) -> Option<&str> {
        self.period_at(fire_ms)?.doubt.as_deref()
    }

    /// Returns true if the job records its missed fires.
    pub(super) fn is_monitored(&self, fire: &ExpectedFire) -> bool {
        self.periods.get(fire.period).is_some_and(|it| it.is_monitored)
    }

    /// Returns true if a fire that met the busy item at this time waited for a run of its own.
    pub(super) fn is_queued_at(&self, ms: i64) -> bool {
        self.queued.iter().any(|(from, until)| (*from..*until).contains(&ms))
    }

    fn period_at(&self, ms: i64) -> Option<&PeriodFacts> {
        self.periods.iter().find(|it| it.contains(ms))
    }
}

impl PeriodFacts {
    fn contains(&self, ms: i64) -> bool {
        (self.from_ms..self.until_ms).contains(&ms)
    }

    fn is_near(&self, fire_ms: i64) -> bool {
        self.changes.iter().any(|change| fire_ms.abs_diff(*change) < CHANGE_MS.unsigned_abs())
    }
}

fn queued_times(configs: &[ConfigPeriod]) -> Vec<(i64, i64)> {
    let has_queue = |period: &&ConfigPeriod| {
        period.config.as_ref().is_ok_and(|config| config.queue_limit().is_some())
    };
    let ms = |time: Option<Timestamp>, none| time.map_or(none, Timestamp::as_millisecond);
    let queued = configs.iter().filter(has_queue);
    queued.map(|it| (ms(it.from, i64::MIN), ms(it.until, i64::MAX))).collect()
}

fn texts_of(config: &JobConfig) -> Texts<'_> {
    Texts {
        cron: config.cron.as_deref().unwrap_or_default(),
        time_zone: config.time_zone.as_deref().unwrap_or_default(),
        excluded_days: config.excluded_days.as_deref().unwrap_or_default(),
        excluded_times: config.excluded_times.as_deref().unwrap_or_default(),
        not_before: config.not_before.as_deref().unwrap_or_default(),
        not_after: config.not_after.as_deref().unwrap_or_default(),
        repeated_hour: config.repeated_hour.as_deref().unwrap_or_default(),
    }
}
