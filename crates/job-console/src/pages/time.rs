//! Times and durations. The server writes RFC 3339 into `datetime`, and the script localises it.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use maud::{Markup, html};

use super::cx::Cx;
use super::locale::Lang;
use super::prefs::ZoneMode;
use crate::zones::{standard_name, zone_named};

/// Returns the zone of a job; UTC without one, or if its name is unknown.
fn zone(name: Option<&str>) -> TimeZone {
    name.and_then(zone_named).unwrap_or(TimeZone::UTC)
}

impl Cx<'_> {
    /// Returns an absolute time in the zone of a job.
    pub(crate) fn time(&self, at: Timestamp, zone_name: Option<&str>) -> Markup {
        self.time_as(at, zone_name, at.subsec_millisecond() != 0)
    }

    fn time_as(&self, at: Timestamp, zone_name: Option<&str>, has_millis: bool) -> Markup {
        let name = zone_name.filter(|_| self.prefs.zone == ZoneMode::Job);
        let zone = zone(name);
        let shown = clock(&at.to_zoned(zone.clone()), &self.now.to_zoned(zone), has_millis);
        html! {
            time datetime=(at) data-zone=[name.map(standard_name)] data-ms[has_millis] { (shown) }
        }
    }

    /// Returns a time relative to the present, such as `3 min ago` or `in 5 s`.
    pub(crate) fn relative(&self, at: Timestamp) -> Markup {
        let distance = at.duration_since(self.now);
        let length = duration(self.lang(), whole_seconds(distance.abs()));
        let (lang, is_future) = (self.lang(), distance.is_positive());
        html! {
            span.dim data-rel=(at) {
                @if self.is_stream {}
                @else if is_future { (lang.in_time(&length)) }
                @else { (lang.ago(&length)) }
            }
        }
    }

    /// Returns the duration from a time to the present, which the browser continues.
    pub(crate) fn elapsed(&self, from: Timestamp) -> Markup {
        let length = duration(self.lang(), self.now.duration_since(from).max(SignedDuration::ZERO));
        html! { span data-since=(from) { @if !self.is_stream { (length) } } }
    }

    /// Returns an absolute time, and the relative one in grey.
    pub(crate) fn when(&self, at: Timestamp, zone_name: Option<&str>) -> Markup {
        html! { (self.time(at, zone_name)) " " (self.relative(at)) }
    }
}

/// Returns a sentence of another crate in which times in UTC are shown as those of the page.
pub(crate) fn with_times(cx: &Cx<'_>, zone_name: Option<&str>, text: &str) -> Markup {
    let (mut rest, mut found) = (text, Vec::new());
    while let Some((begin, at, end)) = first_time(rest) {
        found.push((begin, at));
        rest = end;
    }
    html! {
        @for (begin, at) in found { (begin) (cx.time(at, zone_name)) }
        (rest)
    }
}

/// Lengths of a time in RFC 3339: without a fraction, and with nanoseconds.
const TIME_LENGTHS: [usize; 2] =
    ["2024-02-29T12:00:00Z".len(), "2024-02-29T12:00:00.123456789Z".len()];

/// Returns the first time in UTC of a text, with the text before and after it.
fn first_time(text: &str) -> Option<(&str, Timestamp, &str)> {
    let [shortest, longest] = TIME_LENGTHS;
    text.match_indices('Z').find_map(|(place, _)| {
        let end = place + 1;
        let starts = (shortest..=longest).filter_map(|length| end.checked_sub(length));
        starts.into_iter().find_map(|start| {
            let at = text.get(start..end)?.parse().ok()?;
            Some((&text[..start], at, &text[end..]))
        })
    })
}

/// Returns the reading of a clock: without the date if it is the day of `now`.
fn clock(at: &Zoned, now: &Zoned, has_millis: bool) -> String {
    let time = if has_millis { "%H:%M:%S%.3f" } else { "%H:%M:%S" };
    let format = if at.date() == now.date() {
        time.to_owned()
    } else if at.year() == now.year() {
        format!("%m-%d {time}")
    } else {
        format!("%Y-%m-%d {time}")
    };
    at.strftime(&format).to_string()
}

/// Returns a duration in its two largest units, such as `4 min 12 s`.
pub(crate) fn duration(lang: Lang, length: SignedDuration) -> String {
    let [ms, s, min, h, d] = units(lang);
    let seconds = length.as_secs();
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large} {unit}")
        } else {
            format!("{large} {unit} {small} {small_unit}")
        }
    };
    match seconds {
        0 => format!("{} {ms}", length.as_millis()),
        1..60 => format!("{seconds} {s}"),
        60..3_600 => two(seconds / 60, min, seconds % 60, s),
        3_600..86_400 => two(seconds / 3_600, h, seconds / 60 % 60, min),
        _ => two(seconds / 86_400, d, seconds / 3_600 % 24, h),
    }
}

/// Returns a duration that no longer changes: short ones with a decimal.
pub(crate) fn precise(lang: Lang, length: SignedDuration) -> String {
    let tenths = length.as_millis() / 100;
    if !(10..100).contains(&tenths) {
        return duration(lang, length);
    }
    let [_, s, ..] = units(lang);
    format!("{}.{} {s}", tenths / 10, tenths % 10)
}

/// Returns a distance from now, which changes too fast for milliseconds.
fn whole_seconds(length: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(length.as_secs().max(1))
}

/// Returns the units of durations: millisecond, second, minute, hour, day.
pub(crate) fn units(lang: Lang) -> [&'static str; 5] {
    match lang {
        Lang::English => ["ms", "s", "min", "h", "d"],
        Lang::Chinese => ["毫秒", "秒", "分", "小时", "天"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_sentence_are_found() {
        let found = |text| first_time(text).map(|(begin, at, end)| (begin, at.to_string(), end));
        let text = "Zoe：(2024-02-29T12:00:00.5Z: 维护";
        let expected = ("Zoe：(", "2024-02-29T12:00:00.5Z".to_owned(), ": 维护");
        assert_eq!(found(text), Some(expected));
        let first = ("", "2024-02-29T12:00:00Z".to_owned(), " 2024-02-29T13:00:00Z");
        assert_eq!(found("2024-02-29T12:00:00Z 2024-02-29T13:00:00Z"), Some(first));
        assert_eq!(found("Z, 2024-02-29 and 99:00:00Z"), None);
    }

    #[test]
    fn durations_have_two_units() {
        for (ms, expected) in [
            (0, "0 ms"),
            (12, "12 ms"),
            (31_500, "31 s"),
            (60_000, "1 min"),
            (252_000, "4 min 12 s"),
            (7_500_000, "2 h 5 min"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(Lang::English, SignedDuration::from_millis(ms)), expected);
        }
    }

    #[test]
    fn clock_shows_the_date_of_other_days_in_the_zone_of_the_job() {
        let now: Timestamp = "2024-02-29T20:00:00Z".parse().unwrap();
        let show = |at: &str, name| {
            let (at, zone) = (at.parse::<Timestamp>().unwrap(), zone(name));
            clock(&at.to_zoned(zone.clone()), &now.to_zoned(zone), false)
        };
        assert_eq!(show("2024-02-29T12:00:00Z", None), "12:00:00");
        assert_eq!(show("2024-02-29T12:00:00Z", Some("GMT+08:00")), "02-29 20:00:00");
        assert_eq!(show("2024-02-29T20:30:00Z", Some("Asia/Shanghai")), "04:30:00");
        assert_eq!(show("2023-02-28T20:30:00Z", Some("no zone")), "2023-02-28 20:30:00");
        assert_eq!(show("2024-02-29T12:00:00Z", Some("gmt+8")), "02-29 20:00:00");
    }
}
