//! Excluded times of a schedule: windows of the day, spans and events, each tested for a second.

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::event::Event;
use super::excluded::Excluded;

/// Maximum length of the text, in bytes.
const MAX_BYTES: usize = 65_536;
/// Maximum number of windows, days and spans.
const MAX_ENTRIES: usize = 100;
/// Maximum number of windows of a part of the day.
const MAX_WINDOWS: usize = 20;

/// Excluded times; none if the text is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct ExcludedTimes {
    windows: Vec<Window>,
    spans: Vec<(DateTime, DateTime)>,
    events: Vec<Event>,
}

/// Minutes and seconds of the days on which the window begins. Without an end it lasts until
/// midnight.
#[derive(Clone, Debug)]
struct Window {
    days: Option<Excluded>,
    from: Time,
    until: Option<Time>,
}

impl ExcludedTimes {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        if text.len() > MAX_BYTES {
            return Err(format!("{} bytes of excluded times; valid is {MAX_BYTES}", text.len()));
        }
        let mut times = Self::default();
        let mut calendar: Option<String> = None;
        for line in text.split_inclusive('\n') {
            let is = |wanted: &str| line.trim().eq_ignore_ascii_case(wanted);
            match &mut calendar {
                Some(lines) => {
                    lines.push_str(line);
                    if is("END:VCALENDAR") {
                        times.events.extend(Event::all(lines)?);
                        calendar = None;
                    }
                }
                None => times.parse_line(line, &mut calendar)?,
            }
        }
        if calendar.is_some() {
            return Err("a calendar has no end".to_owned());
        }
        let count = times.windows.len() + times.spans.len();
        let is_part = |window: &&Window| window.from != Time::midnight() || window.until.is_some();
        let parts = times.windows.iter().filter(is_part).count();
        if count > MAX_ENTRIES || parts > MAX_WINDOWS {
            return Err(format!(
                "{count} excluded times; valid is {MAX_ENTRIES}, of them {MAX_WINDOWS} windows"
            ));
        }
        if count == 0 && times.events.is_empty() {
            return Err(format!("{text:?} excludes no time"));
        }
        Ok(times)
    }

    fn parse_line(&mut self, line: &str, calendar: &mut Option<String>) -> Result<(), String> {
        let mut rest = line;
        while !rest.trim().is_empty() {
            if rest.trim_start().to_ascii_uppercase().starts_with("BEGIN:VCALENDAR") {
                *calendar = Some(rest.trim_start().to_owned());
                return Ok(());
            }
            let (entry, after) = rest.split_once(';').unwrap_or((rest, ""));
            rest = after;
            let times = entry.split('#').next().unwrap_or_default().trim();
            if entry.trim().is_empty() {
                continue;
            }
            let invalid = || format!("excluded time {entry:?} is neither a window nor a span");
            match span(times) {
                Some(span) => self.spans.push(span),
                None => self.windows.push(Window::parse(times).ok_or_else(invalid)?),
            }
        }
        Ok(())
    }

    /// Returns true if a second, at which the wall clock of the schedule has this reading, is
    /// excluded.
    pub(super) fn has(&self, second: i64, wall: i64) -> bool {
        if self.windows.is_empty() && self.spans.is_empty() && self.events.is_empty() {
            return false;
        }
        let Ok(at) = Timestamp::from_second(second) else { return false };
        let Ok(reading) = Timestamp::from_second(wall) else { return false };
        let reading = TimeZone::UTC.to_datetime(reading);
        self.windows.iter().any(|window| window.has(reading))
            || self.spans.iter().any(|(start, end)| *start <= reading && reading < *end)
            || self.events.iter().any(|event| event.has(at, reading))
    }
}

impl Window {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let first_time = words.iter().position(|word| word.contains(':')).unwrap_or(words.len());
        let (days, times) = words.split_at(first_time);
        let (days, times) = (days.concat(), times.concat());
        if days.is_empty() && times.is_empty() {
            return None;
        }
        let days = if days.is_empty() { None } else { Some(Excluded::any(&days).ok()?) };
        if times.is_empty() {
            return Some(Self { days, from: Time::midnight(), until: None });
        }
        let (from, until) = times.split_once("..")?;
        let from = time(from)?;
        let until = if until == "24:00" || until == "24:00:00" { None } else { Some(time(until)?) };
        let until = until.filter(|until| *until != Time::midnight() || from == Time::midnight());
        if until == Some(from) {
            return None;
        }
        Some(Self { days, from, until })
    }

    fn has(&self, reading: DateTime) -> bool {
        let on = |date| self.days.as_ref().is_none_or(|days| days.has(date));
        let (date, time) = (reading.date(), reading.time());
        let begins_before = self.from <= time && on(date);
        match self.until {
            None => begins_before,
            Some(until) if self.from < until => begins_before && time < until,
            Some(until) => {
                let began = date.yesterday().is_ok_and(on);
                begins_before || (time < until && began)
            }
        }
    }
}

/// Parses `HH:MM` or `HH:MM:SS`.
fn time(text: &str) -> Option<Time> {
    let is_digits = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = text.split(':').collect();
    if !matches!(parts.len(), 2 | 3) || !parts.iter().all(|part| is_digits(part)) {
        return None;
    }
    let number = |index: usize| parts.get(index).map_or(Some(0), |part| part.parse::<i8>().ok());
    Time::new(number(0)?, number(1)?, number(2)?, 0).ok()
}

/// Parses two times with dates; `None` if the text has another form.
fn span(text: &str) -> Option<(DateTime, DateTime)> {
    let (start, end) = text.split_once("..")?;
    let reading = |text: &str| -> Option<DateTime> {
        let (date, clock) = text.trim().split_once('T')?;
        let reading: DateTime = format!("{date}T00:00").parse().ok()?;
        let is_valid = date.len() == 10 && (1970..=2126).contains(&reading.year());
        let clock = time(clock).filter(|_| is_valid)?;
        reading.checked_add(clock.duration_since(Time::midnight())).ok()
    };
    let (start, end) = (reading(start)?, reading(end)?);
    (start < end).then_some((start, end))
}

/// Returns the reading a number of seconds later.
pub(super) fn after(reading: DateTime, seconds: i64) -> Option<DateTime> {
    reading.checked_add(seconds.seconds()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if a reading in UTC is excluded; `None` if the text is invalid.
    fn has(text: &str, reading: &str) -> Option<bool> {
        let second = format!("{reading}Z").parse::<Timestamp>().unwrap().as_second();
        ExcludedTimes::parse(text).ok().map(|times| times.has(second, second))
    }

    #[test]
    fn entries_exclude_the_times_that_they_name() {
        // 2026-03-06 is a Friday.
        let rows = [
            ("", "2026-03-06T12:00:00", Some(false)),
            ("22:00..06:00 # backup", "2026-03-06T22:00:00", Some(true)),
            ("22:00..06:00", "2026-03-06T05:59:59", Some(true)),
            ("22:00..06:00", "2026-03-06T06:00:00", Some(false)),
            ("22:00..24:00", "2026-03-06T23:59:59", Some(true)),
            ("22:00..00:00", "2026-03-06T00:00:00", Some(false)),
            ("FRI 22:00..06:00", "2026-03-07T05:00:00", Some(true)),
            ("FRI 22:00..06:00", "2026-03-06T05:00:00", Some(false)),
            ("MON..SUN 09:00..10:00:30", "2026-03-06T10:00:29", Some(true)),
            ("SAT, SUN # closed; 12:00..13:00", "2026-03-07T00:00:00", Some(true)),
            ("SAT, SUN # closed; 12:00..13:00", "2026-03-06T12:30:00", Some(true)),
            ("2026-03-05T18:00..2026-03-06T06:00", "2026-03-06T05:59:59", Some(true)),
            ("2026-03-05T18:00..2026-03-06T06:00", "2026-03-06T06:00:00", Some(false)),
            ("22:00", "2026-03-06T06:00:00", None),
            ("22:00..22:00", "2026-03-06T06:00:00", None),
            ("24:00..22:00", "2026-03-06T06:00:00", None),
            ("22:00-06:00", "2026-03-06T06:00:00", None),
            ("SONNTAG", "2026-03-06T06:00:00", None),
            ("2026-03-06T06:00..2026-03-05T18:00", "2026-03-06T06:00:00", None),
            (" ; ", "2026-03-06T06:00:00", None),
            ("# nothing", "2026-03-06T06:00:00", None),
            ("BEGIN:VCALENDAR\n", "2026-03-06T06:00:00", None),
            (&vec!["SAT"; 101].join("\n"), "2026-03-06T06:00:00", None),
            (&vec!["01:00..02:00"; 21].join("\n"), "2026-03-06T06:00:00", None),
        ];
        for (text, reading, expected) in rows {
            assert_eq!(has(text, reading), expected, "{text} at {reading}");
        }
    }

    #[test]
    fn events_exclude_their_occurrences() {
        let event = |lines: &str| {
            format!("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n{lines}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
        };
        let christmas = "DTSTART;VALUE=DATE:20201225\r\nDURATION:P2D\r\nRRULE:FREQ=YEARLY";
        let weekly = "DTSTART:20260302T100000Z\r\nDTEND:20260302T110000Z\r\n\
                      RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;COUNT=3";
        let fourth = "DTSTART;VALUE=DATE:20201126\r\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH";
        let last = "DTSTART;VALUE=DATE:20260130\r\nRRULE:FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20260601\r\n\
                    EXDATE;VALUE=DATE:20260327";
        let alarm = "DTSTART:20260302\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nEND:VALARM";
        let rows = [
            (christmas, "2026-12-26T23:59:59", Some(true)),
            (christmas, "2026-12-27T00:00:00", Some(false)),
            (weekly, "2026-03-02T10:30:00", Some(true)),
            (weekly, "2026-03-04T10:30:00", Some(true)),
            (weekly, "2026-03-09T10:30:00", Some(false)),
            (weekly, "2026-03-16T10:59:59", Some(true)),
            (weekly, "2026-03-18T10:30:00", Some(false)),
            (fourth, "2026-11-26T12:00:00", Some(true)),
            (fourth, "2026-11-19T12:00:00", Some(false)),
            (last, "2026-05-29T12:00:00", Some(true)),
            (last, "2026-03-27T12:00:00", Some(false)),
            (last, "2026-06-26T12:00:00", Some(false)),
            ("SUMMARY:x", "2026-03-06T06:00:00", None),
            ("DTSTART:20260302T100000", "2026-03-06T06:00:00", None),
            ("DTSTART:20260302\r\nRRULE:FREQ=HOURLY", "2026-03-06T06:00:00", None),
            ("DTSTART;TZID=Mars:20260302T100000\r\nDURATION:PT1H", "2026-03-06T06:00:00", None),
            ("STATUS:CANCELLED\r\nDTSTART:20260302", "2026-03-02T06:00:00", None),
            ("STATUS:Cancelled\r\nDTSTART:20260302", "2026-03-02T06:00:00", None),
            (
                "DTSTART;tzid=Asia/Tokyo:20260302T100000\r\nDURATION:PT1H",
                "2026-03-02T10:30:00",
                Some(false),
            ),
            (alarm, "2026-03-02T06:00:00", Some(true)),
            (alarm, "2026-03-03T06:00:00", Some(false)),
        ];
        for (lines, reading, expected) in rows {
            assert_eq!(has(&event(lines), reading), expected, "{lines} at {reading}");
        }
    }
}
