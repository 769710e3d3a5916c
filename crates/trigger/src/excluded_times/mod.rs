//! Times at which a schedule does not fire: windows of the day, spans, and events of iCalendar.

mod calendar;
mod error;
mod event;
mod spans;
mod window;

use std::fmt;
use std::str::FromStr;

use crate::calendar::Wall;
use crate::zone::Zone;

use calendar::Calendars;
pub use error::{ExcludedTimesError, ExcludedTimesErrorReason};
use spans::{Span, Spans};
use window::Window;

/// Times without fires, each with a reason: a schedule has no fire time in them.
///
/// The text form has one entry a line. A semicolon also ends an entry. The text after `#` is the
/// reason.
///
/// | entry | excluded times |
/// |---|---|
/// | `22:00..06:00 # backup` | each day from 22:00 to before 06:00 of the next day |
/// | `MON..FRI 09:00..17:30` | from 09:00 to before 17:30 on these days |
/// | `SAT..SUN,12-25 # closed` | these days, in the form of [`ExcludedDays`](crate::ExcludedDays) |
/// | `FRI 22:00..06:00` | from 22:00 on each Friday to before 06:00 on the Saturday after it |
/// | `2026-12-24T18:00..2026-12-27T06:00 # freeze` | from the first time to before the second one |
/// | `BEGIN:VCALENDAR` to `END:VCALENDAR` | the events of an iCalendar text, of RFC 5545 |
///
/// A time of day is `HH:MM` or `HH:MM:SS`; a window may end at `24:00`. The wall clock of the
/// schedule's zone decides. If a reading of it occurs twice, both occurrences are excluded.
///
/// # iCalendar
///
/// Each `VEVENT` is excluded from its start to before its end, with its recurrences (`RRULE`,
/// `RDATE`, `EXDATE`) and the instances that replace others (`RECURRENCE-ID`). Its `SUMMARY` is the
/// reason. Cancelled events exclude nothing, and `TRANSP` has no influence. A time in UTC or with a
/// `TZID` is on the wall clock of that zone; other times, and dates, on that of the schedule.
///
/// # Bounds
///
/// | what | maximum |
/// |---|---|
/// | bytes of the text | [`MAX_BYTES`](Self::MAX_BYTES) |
/// | windows, days and spans | [`MAX_ENTRIES`](Self::MAX_ENTRIES) |
/// | windows of a part of the day | [`MAX_WINDOWS`](Self::MAX_WINDOWS) |
/// | events | [`MAX_EVENTS`](Self::MAX_EVENTS) |
/// | events with a `RRULE` | [`MAX_RULES`](Self::MAX_RULES) |
/// | occurrences of events until 2126 | [`MAX_OCCURRENCES`](Self::MAX_OCCURRENCES) |
/// | zones of events | 20 |
/// | length of an event | 366 days, and at least 1 s |
/// | bytes of a `RRULE` | 200 |
/// | `INTERVAL` of a `RRULE` | 1000 |
///
/// # Examples
///
/// ```
/// use jiff::Timestamp;
/// use trigger::{ExcludedTimes, JobSchedule, Zone};
///
/// let zone = Zone::parse("Asia/Shanghai")?;
/// let times = ExcludedTimes::parse("22:00..06:00 # backup; SAT..SUN # weekend")?;
/// let schedule = JobSchedule::parse("0 0 0/3 * * ?", &zone)?.with_excluded_times(times);
/// let friday: Timestamp = "2026-03-06T19:00:00+08:00".parse()?;
/// let fires: Vec<String> = schedule.upcoming(friday).take(2).map(|t| t.to_string()).collect();
/// assert_eq!(fires, ["2026-03-06T13:00:00Z", "2026-03-08T22:00:00Z"]);
///
/// let night: Timestamp = "2026-03-06T23:00:00+08:00".parse()?;
/// let exclusion = schedule.exclusion_at(night).expect("it is in a window");
/// assert_eq!(exclusion.to_string(), "excluded: backup until 2026-03-08T22:00:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Example: an invalid entry
///
/// ```
/// use trigger::ExcludedTimes;
///
/// let error = ExcludedTimes::parse("22:00..6:00").unwrap_err();
/// assert_eq!(error.entry, "22:00..6:00");
/// let text = "excluded times: `22:00..6:00` has none of the valid forms";
/// assert!(error.to_string().starts_with(text));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedTimes {
    text: String,
    windows: Vec<Window>,
    /// On the wall clock of the schedule's zone.
    local: Spans,
    /// On the wall clocks of other zones.
    zoned: Vec<(Zone, Spans)>,
}

impl ExcludedTimes {
    /// Maximum length of the text, in bytes.
    pub const MAX_BYTES: usize = 65_536;
    /// Maximum number of windows, days and spans.
    pub const MAX_ENTRIES: usize = 100;
    /// Maximum number of windows of a part of the day. It bounds the search for a next fire, which
    /// visits the windows of each day until 2126 if they exclude all fires.
    pub const MAX_WINDOWS: usize = 20;
    /// Maximum number of events.
    pub const MAX_EVENTS: usize = 1_000;
    /// Maximum number of events with a recurrence rule.
    pub const MAX_RULES: usize = 100;
    /// Maximum number of occurrences of all events.
    pub const MAX_OCCURRENCES: usize = 20_000;

    /// Parses entries.
    ///
    /// # Errors
    ///
    /// [`ExcludedTimesError`] names the entry and what would be valid.
    pub fn parse(text: &str) -> Result<ExcludedTimes, ExcludedTimesError> {
        use ExcludedTimesErrorReason::{NoEntry, TooLong, TooMany, TooManyWindows};
        if text.len() > Self::MAX_BYTES {
            let bytes = format!("{} bytes", text.len());
            return Err(ExcludedTimesError::new(&bytes, TooLong));
        }
        let (mut windows, mut spans, mut calendars) =
            (Vec::new(), Vec::new(), Calendars::default());
        for part in Parts(text) {
            if calendar::begins(part) {
                calendars.add(part)?;
                continue;
            }
            match Entry::parse(part).map_err(|reason| ExcludedTimesError::new(part, reason))? {
                Entry::Window(window) => windows.push(window),
                Entry::Span(span) => spans.push(span),
            }
        }
        let count = windows.len() + spans.len();
        if count > Self::MAX_ENTRIES {
            return Err(ExcludedTimesError::new(&format!("{count} entries"), TooMany));
        }
        let parts = windows.iter().filter(|window| !window.is_whole_day()).count();
        if parts > Self::MAX_WINDOWS {
            let windows = format!("{parts} windows of a part of the day");
            return Err(ExcludedTimesError::new(&windows, TooManyWindows));
        }
        let (local, zoned) = calendars.finish(spans)?;
        if count == 0 && local.is_empty() && zoned.is_empty() {
            return Err(ExcludedTimesError::new(text, NoEntry));
        }
        Ok(ExcludedTimes { text: text.to_owned(), windows, local, zoned })
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the end and the reason of one of the exclusions that contain a reading of the
    /// schedule's wall clock; `None` if none does.
    pub(crate) fn local_at(&self, reading: Wall) -> Option<(Wall, &str)> {
        let window =
            self.windows.iter().find_map(|window| Some((window.end_at(reading)?, &*window.reason)));
        window.or_else(|| self.local.at(reading).map(|span| (span.end, &*span.reason)))
    }

    /// Returns the zones that have a wall clock of their own, with the spans on it.
    pub(crate) fn zoned(&self) -> impl Iterator<Item = (&Zone, &Spans)> {
        self.zoned.iter().map(|(zone, spans)| (zone, spans))
    }
}

/// Entry of a text, other than an iCalendar text.
enum Entry {
    Window(Window),
    Span(Span),
}

impl Entry {
    fn parse(text: &str) -> Result<Entry, ExcludedTimesErrorReason> {
        let (times, reason) = match text.split_once('#') {
            Some((times, reason)) => (times.trim(), reason.trim()),
            None => (text, ""),
        };
        let reason = error::reason_of(if reason.is_empty() { times } else { reason });
        if times.is_empty() {
            return Err(ExcludedTimesErrorReason::MissingTime);
        }
        match spans::parse(times) {
            Some(span) => {
                span.and_then(|(start, end)| Span::new(start, end, reason)).map(Entry::Span)
            }
            None => Window::parse(times, reason).map(Entry::Window),
        }
    }
}

/// The entries of a text. Empty lines are none.
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let rest = self.0.trim_start_matches([' ', '\t', '\r', '\n', ';']);
            let end = if calendar::begins(rest) {
                calendar::length(rest)
            } else {
                rest.find(['\n', ';']).unwrap_or(rest.len())
            };
            let part;
            (part, self.0) = rest.split_at(end);
            if !part.trim().is_empty() {
                return Some(part.trim());
            }
            if self.0.is_empty() {
                return None;
            }
        }
    }
}

impl FromStr for ExcludedTimes {
    type Err = ExcludedTimesError;

    fn from_str(text: &str) -> Result<ExcludedTimes, ExcludedTimesError> {
        ExcludedTimes::parse(text)
    }
}

/// Writes the number of entries, such as `2 windows, 1 span`: the text may have many lines.
impl fmt::Display for ExcludedTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spans =
            self.local.len() + self.zoned.iter().map(|(_, spans)| spans.len()).sum::<usize>();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let windows = self.windows.len();
        write!(f, "{windows} window{}, {spans} span{}", plural(windows), plural(spans))
    }
}

#[cfg(test)]
mod tests;
