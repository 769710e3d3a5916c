//! Description of an expression in words.

use super::day_rule::DayRule;
use super::field::{CronField, Item};
use super::parse::Fields;

/// Returns text such as `at 02:30:00, on the last Friday of the month, in January`.
pub(crate) fn fields(fields: &Fields) -> String {
    let mut phrases = vec![format!("at {}", times(fields))];
    phrases.extend(days(&fields.days).map(|days| format!("on {days}")));
    phrases.extend(unless_every(CronField::Month, &fields.months).map(|list| format!("in {list}")));
    phrases.extend(unless_every(CronField::Year, &fields.years).map(|list| format!("in {list}")));
    // `at every second` is not idiomatic.
    phrases.join(", ").replacen("at every", "every", 1)
}

/// Returns the times of day: as clock times if there are only single values, else a list for each
/// unit.
fn times(fields: &Fields) -> String {
    if let ([Item::One(second)], [Item::One(minute)], Some(hours)) =
        (&fields.seconds[..], &fields.minutes[..], only_values(&fields.hours))
    {
        let times = hours.iter().map(|hour| format!("{hour:02}:{minute:02}:{second:02}"));
        return enumerated(times.collect());
    }
    let units = [
        (CronField::Second, &fields.seconds),
        (CronField::Minute, &fields.minutes),
        (CronField::Hour, &fields.hours),
    ];
    let mut phrases = Vec::new();
    let mut every_finer_unit = false;
    for (field, items) in units {
        let list = unless_every(field, items);
        // `every minute` is implied by `every second`, but not by `second 0`.
        let every = (!every_finer_unit).then(|| format!("every {field}"));
        every_finer_unit = list.is_none();
        phrases.extend(list.or(every));
    }
    phrases.join(", ")
}

/// Returns the days, or `None` for every day.
fn days(rule: &DayRule) -> Option<String> {
    let weekday = |day: &u32| name(CronField::DayOfWeek, *day);
    Some(match rule {
        DayRule::Days(items) => {
            format!("{} of the month", unless_every(CronField::DayOfMonth, items)?)
        }
        DayRule::Weekdays(items) => unless_every(CronField::DayOfWeek, items)?,
        DayRule::LastDay { before } => day_before_end(*before),
        DayRule::NearestWeekday { day } => {
            format!("the working day nearest to day {day} of the month")
        }
        DayRule::NearestWeekdayToLastDay { before } => {
            format!("the working day nearest to {}", day_before_end(*before))
        }
        DayRule::LastWeekday { weekday: day } => format!("the last {} of the month", weekday(day)),
        DayRule::NthWeekday { weekday: day, nth } => {
            format!("the {} {} of the month", ordinal(*nth), weekday(day))
        }
    })
}

fn day_before_end(before: u32) -> String {
    match before {
        0 => "the last day of the month".to_owned(),
        1 => "the day before the last day of the month".to_owned(),
        _ => format!("{before} days before the last day of the month"),
    }
}

/// Returns the values if all items are single values.
fn only_values(items: &[Item]) -> Option<Vec<u32>> {
    items
        .iter()
        .map(|item| match item {
            Item::One(value) => Some(*value),
            Item::Every { .. } | Item::From { .. } | Item::Range { .. } => None,
        })
        .collect()
}

/// Returns the items of a field as text, or `None` if one of them stands for all values.
fn unless_every(field: CronField, items: &[Item]) -> Option<String> {
    let is_every = |item: &Item| matches!(item, Item::Every { step: 0 | 1 });
    if items.iter().any(is_every) {
        return None;
    }
    Some(enumerated(items.iter().map(|item| phrase(field, *item)).collect()))
}

fn phrase(field: CronField, item: Item) -> String {
    let min = field.min();
    match item {
        Item::Every { step } => every(field, step, &format!(" from {}", name(field, min))),
        Item::One(value) | Item::From { first: value, step: 0 } => unit(field, value),
        Item::Range { first: value, step: 0, .. } => unit(field, value),
        Item::From { first, step } => every(field, step, &format!(" from {}", name(field, first))),
        Item::Range { first, last, step } => {
            let span = format!("{} to {}", name(field, first), name(field, last));
            match (step, noun(field)) {
                (1, Some(noun)) => format!("{noun}s {span}"),
                (1, None) => span,
                _ => every(field, step, &format!(" from {span}")),
            }
        }
    }
}

fn every(field: CronField, step: u32, bounds: &str) -> String {
    let field = field.to_string();
    let thing = field.strip_suffix(" of month").unwrap_or(&field);
    match step {
        1 => format!("every {thing}{bounds}"),
        _ => format!("every {} {thing}{bounds}", ordinal(step)),
    }
}

/// Returns text such as `minute 5`, `Friday`, `2030`.
fn unit(field: CronField, value: u32) -> String {
    let name = name(field, value);
    noun(field).map_or(name.clone(), |noun| format!("{noun} {name}"))
}

/// Returns the noun for a number of the field; names and years need none.
fn noun(field: CronField) -> Option<&'static str> {
    match field {
        CronField::Second => Some("second"),
        CronField::Minute => Some("minute"),
        CronField::Hour => Some("hour"),
        CronField::DayOfMonth => Some("day"),
        CronField::Month | CronField::DayOfWeek | CronField::Year => None,
    }
}

fn name(field: CronField, value: u32) -> String {
    (1..)
        .zip(field.names())
        .find(|(number, _)| *number == value)
        .map_or_else(|| value.to_string(), |(_, name)| (*name).to_owned())
}

fn ordinal(n: u32) -> String {
    let suffix = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{suffix}")
}

/// Returns text such as `a`, `a and b`, `a, b and c`.
fn enumerated(mut items: Vec<String>) -> String {
    match items.pop() {
        Some(last) if items.is_empty() => last,
        Some(last) => format!("{} and {last}", items.join(", ")),
        None => String::new(),
    }
}
