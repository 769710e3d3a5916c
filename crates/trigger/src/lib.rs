#![doc = include_str!("../README.md")]

mod bits;
mod calendar;
mod cron;
#[cfg(feature = "cron")]
mod cron_crate;
mod excluded_days;
mod excluded_times;
mod jitter;
mod job_schedule;
mod misfire;
mod schedule;
mod timer_queue;
mod zone;

pub use calendar::{FIRST_YEAR, LAST_YEAR};
pub use cron::{
    CronCaveat, CronExpression, CronField, CronParseError, CronParseErrorReason, CronSchedule,
};
#[cfg(feature = "cron")]
pub use cron_crate::CronCrateSchedule;
pub use excluded_days::{ExcludedDays, ExcludedDaysError, ExcludedDaysErrorReason};
pub use excluded_times::{ExcludedTimes, ExcludedTimesError, ExcludedTimesErrorReason};
pub use jitter::{Jitter, JitterError};
pub use job_schedule::{
    Exclusion, InvalidScheduleText, JobSchedule, ScheduleError, ScheduleErrorReason, ScheduleRule,
    ScheduleTexts,
};
pub use misfire::{
    FireCount, FireRange, FireVerdict, MisfireDecision, MisfirePolicy, Situation, SkipReason,
    decide,
};
pub use schedule::{FixedInterval, IntervalError, Once, Schedule, Upcoming};
pub use timer_queue::TimerQueue;
pub use zone::{OverlapPolicy, Zone, ZoneError, ZoneErrorReason};
