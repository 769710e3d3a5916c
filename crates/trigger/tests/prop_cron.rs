//! Laws of cron expressions and their fire times, compared with a model without search.

use crate::model;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use model::{is_shown_again, model, time_zone};
use proptest::prelude::*;
use trigger::{CronCaveat, CronExpression, CronSchedule, OverlapPolicy, Zone};

/// Zones with every kind of clock change, and some without.
const ZONES: [&str; 12] = [
    "UTC",
    "Asia/Shanghai",
    "America/New_York",
    "Europe/London",
    "Europe/Dublin",
    "Europe/Moscow",
    "America/Sao_Paulo",
    "America/Havana",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "Pacific/Apia",
];

fn zone() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&ZONES[..])
}

fn overlap() -> impl Strategy<Value = OverlapPolicy> {
    prop::sample::select(&[OverlapPolicy::Later, OverlapPolicy::Both][..])
}

/// Returns a zone and an instant, mostly within a few hours of a clock change.
fn zone_and_instant() -> impl Strategy<Value = (&'static str, Timestamp)> {
    (zone(), 0..4_900_000_000_i64, -10_800_000..10_800_000_i64, any::<bool>()).prop_map(
        |(name, second, milliseconds, is_any)| {
            let some = Timestamp::from_second(second).unwrap();
            let change = time_zone(name).following(some).next().map(|change| change.timestamp());
            let near = change.filter(|change| !is_any && change.as_second() < 4_900_000_000);
            let offset = SignedDuration::from_millis(milliseconds);
            (name, near.unwrap_or(some).checked_add(offset).unwrap())
        },
    )
}

fn schedule(text: &str, zone: &str, overlap: OverlapPolicy) -> CronSchedule {
    let expression = CronExpression::parse(text).unwrap();
    CronSchedule::new(expression, Zone::parse(zone).unwrap()).with_overlap(overlap)
}

fn seconds_after(after: Timestamp, count: i64) -> impl Iterator<Item = Timestamp> {
    let second = i64::try_from(after.as_nanosecond().div_euclid(1_000_000_000)).unwrap();
    (1..=count).map(move |n| Timestamp::from_second(second + n).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(384))]

    /// The search agrees with a check of each second of six hours.
    #[test]
    fn next_after_is_the_first_second_that_fires(
        model in model(),
        (zone, after) in zone_and_instant(),
        overlap in overlap(),
    ) {
        let schedule = schedule(&model.text, zone, overlap);
        let time_zone = time_zone(zone);
        let next = schedule.next_after(after);
        let window = 6 * 3_600;
        // The wall clock decides: readings before the present one are over.
        let shown = time_zone.to_datetime(seconds_after(after, 1).next().unwrap());
        let is_over = |at: &Timestamp| {
            overlap == OverlapPolicy::Later && time_zone.to_datetime(*at) < shown
        };
        let first = seconds_after(after, window)
            .find(|at| model.fires(*at, &time_zone, overlap) && !is_over(at));
        match first {
            Some(first) => prop_assert_eq!(next, Some(first), "{}", model.text),
            None => {
                let end = seconds_after(after, window).last().unwrap();
                prop_assert!(next.is_none_or(|next| next > end), "{}: {:?}", model.text, next);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Fire times increase, match, are full seconds, and fire in the model.
    #[test]
    fn upcoming_fires_increase_and_match(
        model in model(),
        (zone, after) in zone_and_instant(),
        overlap in overlap(),
    ) {
        let schedule = schedule(&model.text, zone, overlap);
        let time_zone = time_zone(zone);
        let mut last = after;
        for fire in schedule.upcoming(after).take(20) {
            prop_assert!(fire > last, "{}: {} after {}", model.text, fire, last);
            prop_assert!(schedule.matches(fire) && fire.subsec_nanosecond() == 0);
            prop_assert!(model.fires(fire, &time_zone, overlap), "{}: {}", model.text, fire);
            last = fire;
        }
    }

    /// The result is the same for every instant before it, except that the wall clock decides in
    /// the first pass of an overlap.
    #[test]
    fn next_after_is_the_earliest(
        model in model(),
        (zone, after) in zone_and_instant(),
        overlap in overlap(),
        part in 0.0..1.0_f64,
    ) {
        let schedule = schedule(&model.text, zone, overlap);
        let Some(next) = schedule.next_after(after) else {
            let later = after.checked_add(Duration::from_secs(86_400 * 400)).unwrap();
            prop_assert_eq!(schedule.next_after(later), None);
            return Ok(());
        };
        let between = after.checked_add(next.duration_since(after).mul_f64(part)).unwrap();
        let between = between.min(next.checked_sub(Duration::from_nanos(1)).unwrap());
        let from_between = schedule.next_after(between);
        let is_in_first_pass =
            |at| is_shown_again(seconds_after(at, 1).next().unwrap(), &time_zone(zone));
        let is_quirk = overlap == OverlapPolicy::Later
            && (is_in_first_pass(after) || is_in_first_pass(between));
        prop_assert!(from_between == Some(next) || is_quirk, "{}: {:?}", model.text, from_between);
        prop_assert!(from_between.is_none_or(|further| further > between));
    }

    /// The policy `Both` has all fire times of the policy `Later`.
    #[test]
    fn the_policy_both_has_all_fires_of_the_policy_later(
        model in model(),
        (zone, after) in zone_and_instant(),
    ) {
        let later = schedule(&model.text, zone, OverlapPolicy::Later);
        let both = schedule(&model.text, zone, OverlapPolicy::Both);
        if let Some(next) = later.next_after(after) {
            let before = next.checked_sub(Duration::from_nanos(1)).unwrap();
            prop_assert_eq!(both.next_after(before), Some(next));
        }
    }

    #[test]
    fn display_survives_a_round_trip(model in model(), blanks in "[ \t]{1,3}") {
        let spaced = model.text.replace(' ', &blanks);
        let expression = CronExpression::parse(&spaced).unwrap();
        let shown = expression.to_string();
        prop_assert_eq!(&shown, &model.text.to_uppercase());
        let again: CronExpression = shown.parse().unwrap();
        prop_assert_eq!(&again, &expression);
        prop_assert_eq!(again.description(), expression.description());
        prop_assert!(!expression.description().contains("  "));
    }

    /// All methods agree on an expression that never fires.
    #[test]
    fn all_methods_agree_on_never_fires(model in model()) {
        let expression = CronExpression::parse(&model.text).unwrap();
        let never = expression.never_fires();
        prop_assert_eq!(never, schedule(&model.text, "UTC", OverlapPolicy::Later).never_fires());
        prop_assert_eq!(never, expression.caveats().contains(&CronCaveat::NeverFires));
        prop_assert_eq!(never, expression.description().starts_with("never"));
    }

    /// Any text is parsed, or rejected with a span inside it.
    #[test]
    fn any_text_is_parsed_or_rejected(text in "\\PC{0,60}") {
        check_any_text(&text)?;
    }

    /// The same with symbols of the dialect, which reach more branches of the parser.
    #[test]
    fn any_symbols_are_parsed_or_rejected(text in "([0-9*/?LW#,-]{1,5}|MON|JAN|é|\t| ){0,9}( [0-9*/?LW#,-]{1,4}){5,8}") {
        check_any_text(&text)?;
    }

    /// A valid expression with one changed character is parsed or rejected. If it is parsed, its
    /// search ends.
    #[test]
    fn any_change_is_parsed_or_rejected(
        model in model(),
        place in any::<prop::sample::Index>(),
        symbol in prop::sample::select(&[' ', ',', '-', '/', '*', '?', 'L', 'W', '#', '0', '9', 'é'][..]),
    ) {
        let mut symbols: Vec<char> = model.text.chars().collect();
        *place.get_mut(&mut symbols) = symbol;
        check_any_text(&symbols.into_iter().collect::<String>())?;
    }
}

fn check_any_text(text: &str) -> Result<(), TestCaseError> {
    match CronExpression::parse(text) {
        Err(error) => {
            prop_assert!(text.get(error.span.clone()).is_some(), "{:?}", error);
            prop_assert_eq!(&error.expression, text);
            prop_assert!(error.to_string().contains("valid are"), "{}", error);
            prop_assert_eq!(error.to_string().lines().count(), 3, "{}", error);
        }
        Ok(expression) => {
            prop_assert_eq!(
                &expression.to_string().parse::<CronExpression>().unwrap(),
                &expression
            );
            let schedule = CronSchedule::new(expression, Zone::parse("America/New_York").unwrap());
            let fires = schedule.upcoming(Timestamp::MIN).take(50).collect::<Vec<_>>();
            prop_assert!(fires.is_sorted());
            prop_assert_eq!(fires.is_empty(), schedule.never_fires());
        }
    }
    Ok(())
}

#[test]
fn the_search_ends_for_expressions_that_never_fire() {
    let never = [
        "0 0 0 30 2 ?",
        "* * * 31 2,4,6,9,11 ?",
        "0 0 0 L-30 2,4 ?",
        "0 0 0 29 2 ? 2023",
        "0 0 0 31 4 ? 1970-2199",
        "0 0 0 ? 2 1#5 2027",
        "0 0 0 1 1 ? 1969",
        "0 0 0 1 1 ? 2127-2199",
        "0 0 0 30W 2 ? 2026",
    ];
    for text in never {
        let expression = CronExpression::parse(text).unwrap();
        assert!(expression.never_fires(), "{text}");
        for zone in ZONES {
            for overlap in [OverlapPolicy::Later, OverlapPolicy::Both] {
                let schedule = schedule(text, zone, overlap);
                assert!(schedule.never_fires(), "{text} in {zone}");
                for after in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
                    assert_eq!(schedule.next_after(after), None, "{text} in {zone}");
                }
            }
        }
    }
}

/// The only time of the expression lies in a gap of the zone, so the schedule never fires although
/// the expression can.
#[test]
fn a_time_in_a_gap_of_the_zone_never_fires() {
    let text = "0 30 2 8 3 ? 2026";
    assert!(!CronExpression::parse(text).unwrap().never_fires());
    assert!(schedule(text, "America/New_York", OverlapPolicy::Later).never_fires());
    assert!(!schedule(text, "Europe/London", OverlapPolicy::Later).never_fires());
}

#[test]
fn the_first_and_the_last_fire_time() {
    let cases = [
        ("UTC", "1970-01-01T00:00:00Z", "2126-12-31T23:59:59Z"),
        ("GMT+14", "1969-12-31T10:00:00Z", "2126-12-31T09:59:59Z"),
        ("GMT-12", "1970-01-01T12:00:00Z", "2127-01-01T11:59:59Z"),
        ("America/New_York", "1970-01-01T05:00:00Z", "2127-01-01T04:59:59Z"),
    ];
    for (zone, first, last) in cases {
        let every_second = schedule("* * * * * ?", zone, OverlapPolicy::Later);
        let (first, last): (Timestamp, Timestamp) = (first.parse().unwrap(), last.parse().unwrap());
        for before in [Timestamp::MIN, first.checked_sub(Duration::from_nanos(1)).unwrap()] {
            assert_eq!(every_second.next_after(before), Some(first), "{zone} after {before}");
        }
        let before_last = last.checked_sub(Duration::from_nanos(1)).unwrap();
        assert_eq!(every_second.next_after(before_last), Some(last), "{zone}");
        for after in [last, Timestamp::MAX] {
            assert_eq!(every_second.next_after(after), None, "{zone} after {after}");
            assert!(!every_second.matches(Timestamp::MAX), "{zone}");
        }
    }
}
