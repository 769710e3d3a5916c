//! Events of iCalendar texts, tested day by day.
//!
//! It supports the parts `FREQ`, `INTERVAL`, `COUNT`, `UNTIL`, `BYMONTH`, `BYMONTHDAY`, `BYDAY` and
//! `WKST` of recurrence rules.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};

use super::excluded_times::after;

/// An event with its recurrences.
#[derive(Clone, Debug)]
pub(super) struct Event {
    start: Moment,
    /// In seconds.
    length: i64,
    rule: Option<Rule>,
    dates: Vec<DateTime>,
    exdates: Vec<DateTime>,
}

/// A reading of the wall clock of a zone; without one, of that of the schedule.
#[derive(Clone, Debug)]
struct Moment {
    reading: DateTime,
    zone: Option<TimeZone>,
    is_date: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    freq: String,
    interval: i32,
    count: Option<usize>,
    until: Option<DateTime>,
    months: Vec<i8>,
    month_days: Vec<i8>,
    /// Ordinals, 0 for each, and weekdays from Monday, 1.
    weekdays: Vec<(i16, i8)>,
    week_start: i8,
}

/// Properties of one event: name, parameters, and value.
type Lines = Vec<(String, String, String)>;

impl Event {
    /// Returns the events of a calendar that are not cancelled.
    pub(super) fn all(calendar: &str) -> Result<Vec<Self>, String> {
        let text = calendar.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "");
        let (mut depth, mut event, mut events): (usize, Lines, Vec<Lines>) = Default::default();
        for line in text.lines() {
            let (head, value) =
                line.split_once(':').ok_or_else(|| format!("the line {line:?} has no colon"))?;
            let (name, params) = head.split_once(';').unwrap_or((head, ""));
            let name = name.to_ascii_uppercase();
            let is_event = value.trim().eq_ignore_ascii_case("VEVENT");
            match &*name {
                "BEGIN" => depth += 1,
                "END" if depth == 2 && is_event => events.push(std::mem::take(&mut event)),
                _ if depth == 2 => event.push((name.clone(), params.to_owned(), value.to_owned())),
                _ => {}
            }
            if name == "END" {
                depth = depth.saturating_sub(1);
            } else if name == "BEGIN" && depth == 2 {
                event.clear();
            }
        }
        let one = |lines: &Lines| Self::of(lines, &events);
        let is_on = |lines: &&Lines| {
            find(lines, "STATUS")
                .is_none_or(|(_, status)| !status.trim().eq_ignore_ascii_case("CANCELLED"))
        };
        events.iter().filter(is_on).map(one).collect()
    }

    fn of(lines: &Lines, all: &[Lines]) -> Result<Self, String> {
        let (params, value) = find(lines, "DTSTART").ok_or("an event has no DTSTART")?;
        let start = Moment::parse(params, value)?;
        let mut exdates = start.moments(lines, "EXDATE")?;
        let uid = find(lines, "UID");
        if uid.is_some() && find(lines, "RECURRENCE-ID").is_none() {
            for other in all.iter().filter(|other| find(other, "UID") == uid) {
                exdates.extend(start.moments(other, "RECURRENCE-ID")?);
            }
        }
        let rule = find(lines, "RRULE").map(|(_, rule)| Rule::parse(rule, &start)).transpose()?;
        Ok(Self {
            length: length(lines, &start)?,
            dates: start.moments(lines, "RDATE")?,
            start,
            rule,
            exdates,
        })
    }

    /// Returns true if the event takes place at an instant, at which the wall clock of the schedule
    /// has this reading.
    pub(super) fn has(&self, at: Timestamp, reading: DateTime) -> bool {
        let reading = self.start.zone.as_ref().map_or(reading, |zone| zone.to_datetime(at));
        let contains = |start: DateTime| {
            let end = after(start, self.length);
            start <= reading && end.is_some_and(|end| reading < end)
        };
        let single = self.dates.iter().copied().chain([self.start.reading]);
        if single.filter(|start| !self.exdates.contains(start)).any(contains) {
            return true;
        }
        let Some(rule) = &self.rule else { return false };
        let time = self.start.reading.time();
        (0..=self.length / 86_400 + 1).any(|back| {
            let Ok(date) = reading.date().checked_sub(back.days()) else { return false };
            let start = date.to_datetime(time);
            contains(start) && !self.exdates.contains(&start) && rule.has(start, &self.start)
        })
    }
}

/// Returns the parameters and the value of a property.
fn find<'l>(lines: &'l Lines, name: &str) -> Option<(&'l str, &'l str)> {
    let line = lines.iter().find(|(other, _, _)| other == name)?;
    Some((&line.1, &line.2))
}

fn length(lines: &Lines, start: &Moment) -> Result<i64, String> {
    let length = match (find(lines, "DTEND"), find(lines, "DURATION")) {
        (Some((params, value)), _) => {
            let end = start.on_clock(&Moment::parse(params, value)?)?;
            end.duration_since(start.reading).as_secs()
        }
        (None, Some((_, text))) => {
            let span: Span = text.trim().parse().map_err(|_| format!("duration {text:?}"))?;
            let days = i64::from(span.get_weeks()) * 7 + i64::from(span.get_days());
            let hours = days * 24 + i64::from(span.get_hours());
            (hours * 60 + span.get_minutes()) * 60 + span.get_seconds()
        }
        (None, None) if start.is_date => 86_400,
        (None, None) => 0,
    };
    let is_valid = (1..=366 * 86_400).contains(&length);
    if is_valid {
        Ok(length)
    } else {
        Err(format!("an event of {length} s; valid is 1 s to 366 days"))
    }
}

impl Moment {
    fn parse(params: &str, value: &str) -> Result<Self, String> {
        let invalid = || format!("{value:?} is no date or time of an event");
        let (text, is_utc) = match value.trim().strip_suffix('Z') {
            Some(text) => (text, true),
            None => (value.trim(), false),
        };
        let reading: DateTime = text.parse().map_err(|_| invalid())?;
        if !matches!(text.len(), 8 | 15) || !(1900..=2126).contains(&reading.year()) {
            return Err(invalid());
        }
        let named = params.split(';').filter_map(|param| param.split_once('='));
        let mut zones = named.filter(|(name, _)| name.eq_ignore_ascii_case("TZID"));
        let id = zones.next().map(|(_, id)| id);
        let zone = match id.filter(|_| !is_utc) {
            None if is_utc => Some(TimeZone::UTC),
            None => None,
            Some(id) => Some(super::zone_of(id.trim_matches('"'))?),
        };
        Ok(Self { reading, zone, is_date: text.len() == 8 })
    }

    /// Returns the reading of another moment on the wall clock of this one.
    fn on_clock(&self, other: &Self) -> Result<DateTime, String> {
        let (Some(zone), Some(own)) = (&other.zone, &self.zone) else { return Ok(other.reading) };
        if zone == own {
            return Ok(other.reading);
        }
        let at = zone.to_ambiguous_timestamp(other.reading).later();
        Ok(own.to_datetime(at.map_err(|error| error.to_string())?))
    }

    /// Returns all moments of a property on the wall clock of this one.
    fn moments(&self, lines: &Lines, name: &str) -> Result<Vec<DateTime>, String> {
        let of_name = lines.iter().filter(|(other, _, _)| other == name);
        let each =
            of_name.flat_map(|(_, params, value)| value.split(',').map(move |v| (params, v)));
        each.map(|(params, value)| self.on_clock(&Self::parse(params, value)?)).collect()
    }
}

const WEEKDAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

impl Rule {
    fn parse(text: &str, start: &Moment) -> Result<Self, String> {
        let invalid = |part: &str| format!("{part:?} of the rule {text:?} is not supported");
        let mut rule = Self {
            freq: String::new(),
            interval: 1,
            count: None,
            until: None,
            months: Vec::new(),
            month_days: Vec::new(),
            weekdays: Vec::new(),
            week_start: 1,
        };
        for part in text.trim().split(';') {
            let (name, value) = part.split_once('=').ok_or_else(|| invalid(part))?;
            let numbers = || -> Result<Vec<i8>, String> {
                value.split(',').map(|n| n.parse().map_err(|_| invalid(part))).collect()
            };
            match name {
                "FREQ" => value.clone_into(&mut rule.freq),
                "INTERVAL" => rule.interval = value.parse().map_err(|_| invalid(part))?,
                "COUNT" => rule.count = Some(value.parse().map_err(|_| invalid(part))?),
                "UNTIL" => rule.until = Some(start.on_clock(&Moment::parse("", value)?)?),
                "BYMONTH" => rule.months = numbers()?,
                "BYMONTHDAY" => rule.month_days = numbers()?,
                "BYDAY" => {
                    let days =
                        value.split(',').map(|day| weekday(day).ok_or_else(|| invalid(part)));
                    rule.weekdays = days.collect::<Result<_, _>>()?;
                }
                "WKST" => rule.week_start = weekday(value).ok_or_else(|| invalid(part))?.1,
                _ => return Err(invalid(part)),
            }
        }
        let is_known = matches!(&*rule.freq, "DAILY" | "WEEKLY" | "MONTHLY" | "YEARLY");
        if is_known && rule.interval > 0 { Ok(rule) } else { Err(invalid("FREQ or INTERVAL")) }
    }

    /// Returns true if an occurrence begins at a reading, which has the time of the start.
    fn has(&self, at: DateTime, start: &Moment) -> bool {
        let first = start.reading;
        let is_within = first <= at && self.until.is_none_or(|until| at <= until);
        if !is_within || !self.is_on(at.date(), first.date()) {
            return false;
        }
        let Some(count) = self.count else { return true };
        let days = first.date().series(1.day()).take_while(|date| *date < at.date());
        days.filter(|date| self.is_on(*date, first.date())).take(count).count() < count
    }

    /// Returns true if the rule has a day, without regard to its end.
    fn is_on(&self, date: Date, first: Date) -> bool {
        let days = |date: Date| {
            i64::from(date.since(Date::constant(1970, 1, 1)).map_or(0, |s| s.get_days()))
        };
        let week = |date: Date| {
            let back = (date.weekday().to_monday_one_offset() - self.week_start).rem_euclid(7);
            (days(date) - i64::from(back)).div_euclid(7)
        };
        let months = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
        let passed = match &*self.freq {
            "DAILY" => days(date) - days(first),
            "WEEKLY" => week(date) - week(first),
            "MONTHLY" => months(date) - months(first),
            _ => i64::from(date.year()) - i64::from(first.year()),
        };
        let selects = !self.month_days.is_empty() || !self.weekdays.is_empty();
        let is_default = match &*self.freq {
            _ if selects => true,
            "DAILY" => true,
            "WEEKLY" => date.weekday() == first.weekday(),
            "MONTHLY" => date.day() == first.day(),
            _ => {
                date.day() == first.day()
                    && (!self.months.is_empty() || date.month() == first.month())
            }
        };
        let from_end = date.day() - date.days_in_month() - 1;
        let has = |list: &[i8], values: &[i8]| {
            list.is_empty() || values.iter().any(|value| list.contains(value))
        };
        passed % i64::from(self.interval) == 0
            && is_default
            && has(&self.months, &[date.month()])
            && has(&self.month_days, &[date.day(), from_end])
            && (self.weekdays.is_empty()
                || self.weekdays.iter().any(|day| self.is_weekday(*day, date)))
    }

    fn is_weekday(&self, (ordinal, weekday): (i16, i8), date: Date) -> bool {
        if date.weekday().to_monday_one_offset() != weekday {
            return false;
        }
        let (day, last) = match &*self.freq {
            "YEARLY" if self.months.is_empty() => (date.day_of_year(), date.days_in_year()),
            _ => (i16::from(date.day()), i16::from(date.days_in_month())),
        };
        ordinal == 0 || ordinal == (day - 1) / 7 + 1 || -ordinal == (last - day) / 7 + 1
    }
}

/// Parses `MO`, `4TH` or `-1FR`. The ordinal of each such day is 0.
fn weekday(text: &str) -> Option<(i16, i8)> {
    let (ordinal, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let number = (1..).zip(WEEKDAYS).find(|(_, known)| *known == name)?.0;
    if ordinal.is_empty() {
        return Some((0, number));
    }
    let ordinal = ordinal.parse().ok().filter(|ordinal| *ordinal != 0)?;
    Some((ordinal, number))
}
