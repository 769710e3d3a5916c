//! Parsers for values of the command line, and safe output of text from other programs.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use coordination::{
    Dialect, JobName, Label, MAX_SHARDING_TOTAL_COUNT, RequestParameter, ServerIp, TemplateName,
    shortened,
};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use operations::ServerPattern;
use reg_center::Revision;
use sharding::{InstanceId, ShardingItem};

/// Puts a message on one line; a quotation with carets under it follows on two lines.
pub(crate) fn message(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let has_carets = |n: &usize| lines.get(n + 1).is_some_and(|next| is_marker(next));
    let quoted = (0..lines.len()).filter(has_carets);
    let quotations = quoted.map(|n| format!("\n{}\n{}", clean(lines[n]), lines[n + 1]));
    let rest = (0..lines.len()).filter(|n| !has_carets(n)).map(|n| lines[n]);
    let rest = one_line(&rest.collect::<Vec<_>>().join("\n"));
    rest + &quotations.collect::<String>()
}

fn is_marker(line: &str) -> bool {
    line.contains('^') && line.chars().all(|c| matches!(c, '^' | ' '))
}

/// Joins the lines of a text by semicolons, without lines of carets, escapes control characters,
/// and shortens it.
pub(crate) fn one_line(text: &str) -> String {
    clean(&shortened(&joined(text)))
}

/// Joins the lines of a text by semicolons, without lines of carets.
pub(crate) fn joined(text: &str) -> String {
    let mut whole = String::new();
    let lines = text.lines().filter(|line| !is_marker(line)).map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let is_continued = whole.is_empty() || whole.ends_with([':', ',', ';']);
        whole.push_str(if whole.is_empty() {
            ""
        } else if is_continued {
            " "
        } else {
            "; "
        });
        whole.push_str(line);
    }
    whole
}

/// Escapes control characters, line breaks, and characters that reorder or hide text.
///
/// So a value from the registry can neither move the cursor nor imitate other text or lines.
pub(crate) fn clean(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            write!(shown, "{}", c.escape_default()).expect("writing to a string cannot fail");
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Returns true for line separators, bidirectional controls, and characters without width.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Formats a time in milliseconds since 1970 UTC.
pub(crate) fn moment(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| format!("{ms} ms"), |time| time.to_string())
}

/// Formats the distance of a time from another one: `2m ago`, `in 40s`.
pub(crate) fn age(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - time.as_second();
    let n = seconds.unsigned_abs();
    let span = match n {
        0..60 => format!("{n}s"),
        60..3_600 => format!("{}m", n / 60),
        3_600..172_800 => format!("{}h", n / 3_600),
        _ => format!("{}d", n / 86_400),
    };
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("{span} ago"),
        _ => format!("in {span}"),
    }
}

/// Returns the question for the most similar known name, if one is similar enough.
pub(crate) fn did_you_mean<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let similar = known.into_iter().map(|known| (strsim::jaro_winkler(name, known), known));
    let close = similar.filter(|(similarity, _)| *similarity > 0.8);
    let closest = close.max_by(|(a, _), (b, _)| a.total_cmp(b));
    closest.map(|(_, closest)| format!("did you mean {closest}?"))
}

/// Formats a value, or `-` if it is missing.
pub(crate) fn or_dash(text: Option<impl ToString>) -> String {
    text.map_or_else(|| "-".to_owned(), |text| text.to_string())
}

/// Parses a duration with its unit, from 1 ms to a year.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const VALID: &str = "valid is a duration with its unit, such as 500ms, 5s or 1m 30s";
    let parsed: Result<SignedDuration, _> = text.parse();
    let time = parsed.ok().and_then(|time| Duration::try_from(time).ok());
    let max = Duration::from_secs(366 * 86_400);
    time.filter(|time| *time >= Duration::from_millis(1) && *time <= max)
        .ok_or_else(|| VALID.to_owned())
}

/// Parses a limit.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "valid is a whole number, from 1".to_owned())
}

pub(crate) fn job_name(text: &str) -> Result<JobName, String> {
    JobName::new(text).map_err(|error| error.to_string())
}

/// Parses the parameter of a manual request.
pub(crate) fn parameter(text: &str) -> Result<RequestParameter, String> {
    RequestParameter::new(text).map_err(|error| format!("valid is {}", error.valid))
}

pub(crate) fn template_name(text: &str) -> Result<TemplateName, String> {
    TemplateName::new(text).map_err(|error| error.to_string())
}

pub(crate) fn label(text: &str) -> Result<Label, String> {
    Label::new(text).map_err(|error| error.to_string())
}

pub(crate) fn server_ip(text: &str) -> Result<ServerIp, String> {
    ServerIp::new(text).map_err(|_| "valid is an IP address such as 10.0.0.7".to_owned())
}

pub(crate) fn server_pattern(text: &str) -> Result<ServerPattern, String> {
    ServerPattern::parse(text).map_err(|valid| format!("valid is {valid}"))
}

/// Parses an instance id, `ip@-@life`.
pub(crate) fn instance(text: &str) -> Result<InstanceId, String> {
    let id = InstanceId::new(text);
    match coordination::server_of(&id) {
        Some(_) => Ok(id),
        None => {
            Err("valid is an id such as 10.0.0.7@-@4123-k3f9a; `ejob instances` lists them"
                .to_owned())
        }
    }
}

pub(crate) fn dialect(text: &str) -> Result<Dialect, String> {
    let all = [Dialect::V2, Dialect::V3];
    let found = all.into_iter().find(|dialect| dialect.as_str() == text);
    found.ok_or_else(|| "valid is 2.1.5 or 3.x".to_owned())
}

pub(crate) fn revision(text: &str) -> Result<Revision, String> {
    let number = text.strip_prefix('r').unwrap_or(text).parse();
    number
        .map(Revision)
        .map_err(|_| "valid is a revision as `ejob config get` shows it, such as r42".to_owned())
}

pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let valid = "valid is a time such as 2024-02-29T12:00:00Z, or 2024-02-29T20:00:00+08:00";
    text.parse().map_err(|_| valid.to_owned())
}

/// Parses a time with a zone, a date or time in UTC, or an age.
pub(crate) fn time_or_age(text: &str) -> Result<Timestamp, String> {
    time_or_age_at(text, Timestamp::now())
}

fn time_or_age_at(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let valid = || {
        "valid is a time such as 2024-02-29T12:00:00Z, a date or time in UTC such as 2024-02-29 or \
         2024-02-29T12:00, or an age such as 5m or 2h"
            .to_owned()
    };
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(civil) = text.parse::<DateTime>() {
        return civil.to_zoned(TimeZone::UTC).map(|time| time.timestamp()).map_err(|_| valid());
    }
    let age = text.parse::<Span>().map_err(|_| valid())?.abs();
    let age = age.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| valid())?;
    now.checked_sub(age).map_err(|_| valid())
}

/// A set of items, written as `0,3-5`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Items(pub(crate) BTreeSet<ShardingItem>);

/// Parses the number of an item.
pub(crate) fn item(text: &str) -> Result<u32, String> {
    let item = text.parse().ok().filter(|item| *item < MAX_SHARDING_TOTAL_COUNT);
    item.ok_or_else(|| "valid is the number of an item, counted from 0".to_owned())
}

pub(crate) fn items(text: &str) -> Result<Items, String> {
    operations::parse_items(text).map(Items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_can_be_dates_in_utc_or_ages() {
        let now: Timestamp = "2024-03-01T12:00:00Z".parse().unwrap();
        let rows = [
            ("2024-02-29T12:00:00Z", Some("2024-02-29T12:00:00Z")),
            ("2024-02-29T20:00:00+08:00", Some("2024-02-29T12:00:00Z")),
            ("2024-02-29", Some("2024-02-29T00:00:00Z")),
            ("2024-02-29T10:00", Some("2024-02-29T10:00:00Z")),
            ("2024-02-29 10:00:30", Some("2024-02-29T10:00:30Z")),
            ("5m", Some("2024-03-01T11:55:00Z")),
            ("2h ago", Some("2024-03-01T10:00:00Z")),
            ("1d 1h", Some("2024-02-29T11:00:00Z")),
            ("5 minutes", Some("2024-03-01T11:55:00Z")),
            ("1mo", None),
            ("2024-02-30", None),
            ("5", None),
            ("noon", None),
            ("", None),
        ];
        for (text, expected) in rows {
            let found = time_or_age_at(text, now).map(|time| time.to_string());
            assert_eq!(found.as_deref().ok(), expected, "{text:?}: {found:?}");
        }
    }

    #[test]
    fn ages_have_one_unit() {
        let now: Timestamp = "2024-03-01T12:00:00Z".parse().unwrap();
        let rows = [
            ("2024-03-01T12:00:00.9Z", "now"),
            ("2024-03-01T11:59:20Z", "40s ago"),
            ("2024-03-01T12:00:40Z", "in 40s"),
            ("2024-03-01T11:58:01Z", "1m ago"),
            ("2024-02-29T09:00:00Z", "27h ago"),
            ("2024-03-04T12:00:00Z", "in 3d"),
        ];
        for (time, expected) in rows {
            assert_eq!(age(time.parse().unwrap(), now), expected, "{time}");
        }
    }

    #[test]
    fn durations_have_a_unit() {
        let rows = [
            ("500ms", Some(500)),
            ("1m 30s", Some(90_000)),
            ("2h", Some(7_200_000)),
            ("5", None),
            ("0s", None),
            ("-5s", None),
            ("soon", None),
        ];
        for (text, expected) in rows {
            assert_eq!(duration(text).ok(), expected.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn carets_stay_under_their_column() {
        let rows = [
            ("plain", "plain"),
            ("two\n  lines\n", "two; lines"),
            ("at\n  0 0 25 * * ?\n      ^^", "at\n  0 0 25 * * ?\n      ^^"),
            ("at\nhour\n  0 0 25\n      ^^\nagain", "at; hour; again\n  0 0 25\n      ^^"),
            ("at\n  \u{1b}[2J\n  ^", "at\n  \\u{1b}[2J\n  ^"),
        ];
        for (text, expected) in rows {
            assert_eq!(message(text), expected, "{text:?}");
        }
    }

    #[test]
    fn one_line_joins_lines_and_escapes_control_characters() {
        let rows = [
            ("plain", "plain"),
            ("two\n  lines\n", "two; lines"),
            ("these:\n  one\n", "these: one"),
            ("at\n  0 0 25 * * ?\n      ^^", "at; 0 0 25 * * ?"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\rb\u{7}", "a\\rb\\u{7}"),
            ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
            ("\u{2067}a\u{2069}\u{200b}\u{feff}", "\\u{2067}a\\u{2069}\\u{200b}\\u{feff}"),
            ("a\u{2028}b\u{85}c", "a\\u{2028}b\\u{85}c"),
            ("报表 é ñ", "报表 é ñ"),
        ];
        for (text, expected) in rows {
            assert_eq!(one_line(text), expected, "{text:?}");
        }
    }
}
