//! The measured crates behind one interface.

use std::str::FromStr;

use chrono::DateTime;
use chrono_tz::Tz;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use trigger::{CronExpression, CronSchedule, Zone};

/// Number of instants from which each expression is evaluated.
pub(crate) const INSTANTS: usize = 64;

/// An expression parsed by one of the crates, with the instants from which it is evaluated.
pub(crate) trait Subject: Sized {
    /// Parses an expression for a zone; `None` if the crate cannot.
    fn read(expression: &str, zone: Tz) -> Option<Self>;

    /// Returns the first fire time, in seconds, after the instant at `place`.
    fn next(&self, place: usize) -> Option<i64>;

    /// Returns true if the expression has the same meaning in the crate as in Quartz. The
    /// comparison is in UTC, so that the rules for clock changes do not matter.
    fn agrees(expression: &str) -> bool {
        let (Some(own), Some(trigger)) =
            (Self::read(expression, Tz::UTC), Trigger::read(expression, Tz::UTC))
        else {
            return false;
        };
        (0..INSTANTS).all(|place| own.next(place) == trigger.next(place))
    }
}

/// Returns instants spread over fifteen years from 2020 on, out of order, in seconds.
fn seconds() -> impl Iterator<Item = i64> {
    const START: i64 = 1_577_836_800;
    const SPAN: i64 = 15 * 365 * 86_400;
    // A step by the golden ratio keeps all instants apart.
    (0..64_i64).map(|n| START + n * 292_331_797 % SPAN)
}

fn dates(zone: Tz) -> Vec<DateTime<Tz>> {
    let date = |second| DateTime::from_timestamp(second, 0).expect("a second of this century");
    seconds().map(|second| date(second).with_timezone(&zone)).collect()
}

/// This crate.
pub(crate) struct Trigger {
    schedule: CronSchedule,
    after: Vec<Timestamp>,
}

impl Subject for Trigger {
    fn read(expression: &str, zone: Tz) -> Option<Trigger> {
        let expression = CronExpression::parse(expression).ok()?;
        let after = seconds().map(|second| Timestamp::from_second(second).ok());
        Some(Trigger {
            schedule: CronSchedule::new(expression, Zone::parse(zone.name()).ok()?),
            after: after.collect::<Option<_>>()?,
        })
    }

    fn next(&self, place: usize) -> Option<i64> {
        self.schedule.next_after(self.after[place]).map(Timestamp::as_second)
    }
}

/// The crate `cron`.
pub(crate) struct Cron {
    schedule: cron::Schedule,
    after: Vec<DateTime<Tz>>,
}

impl Subject for Cron {
    fn read(expression: &str, zone: Tz) -> Option<Cron> {
        let schedule = cron::Schedule::from_str(expression).ok()?;
        Some(Cron { schedule, after: dates(zone) })
    }

    fn next(&self, place: usize) -> Option<i64> {
        self.schedule.after(&self.after[place]).next().map(|fire| fire.timestamp())
    }
}

/// The crate `croner`, configured to number the days of the week as Quartz does.
pub(crate) struct Croner {
    cron: croner::Cron,
    after: Vec<DateTime<Tz>>,
}

impl Subject for Croner {
    fn read(expression: &str, zone: Tz) -> Option<Croner> {
        let parser = CronParser::builder()
            .seconds(Seconds::Required)
            .year(Year::Optional)
            .alternative_weekdays(true)
            .sloppy_ranges(true)
            .build();
        Some(Croner { cron: parser.parse(expression).ok()?, after: dates(zone) })
    }

    fn next(&self, place: usize) -> Option<i64> {
        let next = self.cron.find_next_occurrence(&self.after[place], false);
        next.ok().map(|fire| fire.timestamp())
    }
}
