//! One rule of a schedule: an expression, an interval or a time.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::expression::Expression;

/// Longest interval, in seconds.
const MAX_INTERVAL: i64 = 366 * 86_400;

#[derive(Clone, Debug)]
pub(super) enum Rule {
    Cron(Expression),
    /// In seconds; the start is counted from 1970 UTC.
    Every {
        interval: i64,
        start: i64,
    },
    /// A second since 1970 UTC.
    At(i64),
}

impl Rule {
    pub(super) fn parse(text: &str, zone: &TimeZone) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("@every ") {
            let (interval, start) = match rest.split_once(" from ") {
                None => (rest, 0),
                Some((interval, start)) => (interval, second_of(start.trim(), zone)?),
            };
            let parsed: Option<SignedDuration> = interval.trim().parse().ok();
            let seconds = parsed.filter(|interval| interval.subsec_nanos() == 0);
            let seconds = seconds.map(|interval| interval.as_secs());
            let seconds = seconds.filter(|seconds| (1..=MAX_INTERVAL).contains(seconds));
            let interval =
                seconds.ok_or_else(|| format!("{interval:?} is no interval of 1 s to 366 days"))?;
            return Ok(Self::Every { interval, start });
        }
        match text.strip_prefix("@at ") {
            Some(at) => second_of(at.trim(), zone).map(Self::At),
            None => Expression::parse(text).map(Self::Cron),
        }
    }

    /// Parses a delay after the end of runs, in seconds; `None` if the text is another rule.
    pub(super) fn fixed_delay(text: &str) -> Option<Result<i64, String>> {
        let delay = text.trim().strip_prefix("@after ")?;
        let every = Self::parse(&format!("@every {delay}"), &TimeZone::UTC);
        Some(every.and_then(|rule| match rule {
            Self::Every { interval, .. } => Ok(interval),
            Self::Cron(_) | Self::At(_) => Err(format!("{delay:?} is no delay")),
        }))
    }

    /// Returns false if the rule certainly has no fire on a day.
    pub(super) fn may_fire_on(&self, day: Date) -> bool {
        match self {
            Self::Cron(expression) => expression.fires_on(day),
            Self::Every { .. } | Self::At(_) => true,
        }
    }
}

/// Returns the second of a time with an offset, or of one on the wall clock of a zone. Of two
/// occurrences on the wall clock, the later one counts.
pub(super) fn second_of(text: &str, zone: &TimeZone) -> Result<i64, String> {
    let invalid = || format!("{text:?} is no time in whole seconds that occurs in the zone");
    let at = match text.parse::<Timestamp>() {
        Ok(at) => at,
        Err(_) => {
            let reading: DateTime = text.parse().map_err(|_| invalid())?;
            let offset = match zone.to_ambiguous_timestamp(reading).offset() {
                AmbiguousOffset::Unambiguous { offset } => offset,
                AmbiguousOffset::Fold { after, .. } => after,
                AmbiguousOffset::Gap { .. } => return Err(invalid()),
            };
            offset.to_timestamp(reading).map_err(|_| invalid())?
        }
    };
    if at.subsec_nanosecond() == 0 { Ok(at.as_second()) } else { Err(invalid()) }
}
