//! Cron expressions: parsing, and the search for the next fire.

use arbitrary::Unstructured;
use jiff::{SignedDuration, Timestamp};
use trigger::{CronExpression, CronSchedule, OverlapPolicy, Zone};

/// Zones with every kind of clock change, and some without changes.
const ZONES: [&str; 8] = [
    "UTC",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "Antarctica/Troll",
    "GMT+14",
    "GMT-03:30",
];
/// Range of the instants in seconds, from before the first year with fires to after the last one.
const SECONDS: std::ops::RangeInclusive<i64> = -100_000_000..=5_000_000_000;
/// Number of seconds that are checked one by one: two days for one input in sixteen, else half an
/// hour.
const LONG_LOOK: i64 = 2 * 86_400;
const SHORT_LOOK: i64 = 1_800;

/// Takes an instant, a zone and a policy from the first bytes, and the expression from the rest.
pub fn run(bytes: &[u8]) {
    let Ok((after, schedule, look)) = input(Unstructured::new(bytes)) else { return };
    let Some(schedule) = schedule else { return };
    match schedule.next_after(after) {
        Some(next) => check_next(&schedule, after, next, look),
        None => check_silence(&schedule, after, look),
    }
    check_monotone(&schedule, after);
}

fn input(mut u: Unstructured<'_>) -> arbitrary::Result<(Timestamp, Option<CronSchedule>, i64)> {
    let nanosecond = u.int_in_range(0..=999_999_999)?;
    let after = Timestamp::new(u.int_in_range(SECONDS)?, nanosecond);
    let after = after.expect("the range is within that of jiff");
    let zone = Zone::parse(u.choose(&ZONES)?).expect("the zones of the table exist");
    let overlap = *u.choose(&[OverlapPolicy::Later, OverlapPolicy::Both])?;
    let look = if u.ratio(1, 16)? { LONG_LOOK } else { SHORT_LOOK };
    let text = String::from_utf8_lossy(u.take_rest()).into_owned();
    let expression = read(&text);
    let schedule = expression.map(|e| CronSchedule::new(e, zone).with_overlap(overlap));
    Ok((after, schedule, look))
}

/// Parses an expression and checks its written form, or checks the error.
fn read(text: &str) -> Option<CronExpression> {
    match CronExpression::parse(text) {
        Ok(expression) => {
            let again: CronExpression =
                expression.to_string().parse().expect("a written expression can be parsed");
            assert_eq!(again, expression, "{text:?}");
            assert_eq!(again.never_fires(), expression.never_fires(), "{text:?}");
            assert!(!expression.description().is_empty());
            Some(expression)
        }
        Err(error) => {
            assert_eq!(error.expression, text);
            assert!(text.get(error.span.clone()).is_some(), "{error:?}");
            assert!(error.to_string().contains("valid are"), "{error}");
            None
        }
    }
}

fn check_next(schedule: &CronSchedule, after: Timestamp, next: Timestamp, look: i64) {
    let expression = schedule.expression();
    assert!(next > after, "{expression}: {next} is not after {after}");
    assert!(schedule.matches(next), "{expression}: {next} does not match");
    assert!(!schedule.never_fires(), "{expression} fires at {next}");
    assert_eq!(next.subsec_nanosecond(), 0, "{expression}: {next}");
    let early = seconds_between(after, look).take_while(|at| *at < next);
    check_none(schedule, early, after);
}

fn check_silence(schedule: &CronSchedule, after: Timestamp, look: i64) {
    check_none(schedule, seconds_between(after, look), after);
}

/// Checks that none of the seconds matches.
///
/// With [`OverlapPolicy::Later`], a wall clock time that was over at `after` does not match again.
fn check_none(schedule: &CronSchedule, seconds: impl Iterator<Item = Timestamp>, after: Timestamp) {
    let later = schedule.overlap() == OverlapPolicy::Later;
    for at in seconds {
        let missed = schedule.matches(at) && !(later && is_repeat(schedule.zone(), after, at));
        assert!(
            !missed,
            "{} in {}: the fire at {at} was skipped",
            schedule.expression(),
            schedule.zone()
        );
    }
}

/// Returns true if the clock went back after `after`, so that it shows at `at` a time that it had
/// shown before.
fn is_repeat(zone: &Zone, after: Timestamp, at: Timestamp) -> bool {
    let Ok(zone) = jiff::tz::TimeZone::get(zone.name()) else { return false };
    let begin = after.checked_add(SignedDuration::from_secs(1)).unwrap_or(after);
    zone.to_datetime(at) < zone.to_datetime(begin)
}

/// Checks that a later start never gives an earlier fire. In UTC this has no exception.
fn check_monotone(schedule: &CronSchedule, after: Timestamp) {
    let schedule = CronSchedule::new(schedule.expression().clone(), Zone::utc());
    let starts = [0, 1, 59, 3_600, 86_400, 40_000_000].map(|seconds| {
        after
            .checked_add(SignedDuration::from_secs(seconds))
            .expect("the range is within that of jiff")
    });
    let nexts = starts.map(|start| schedule.next_after(start).unwrap_or(Timestamp::MAX));
    assert!(nexts.is_sorted(), "{}: {nexts:?} after {starts:?}", schedule.expression());
}

fn seconds_between(after: Timestamp, look: i64) -> impl Iterator<Item = Timestamp> {
    let floor = after.as_nanosecond().div_euclid(1_000_000_000);
    let floor = i64::try_from(floor).expect("seconds within the range of jiff fit");
    (1..=look).map(move |n| Timestamp::from_second(floor + n).expect("within the range of jiff"))
}
