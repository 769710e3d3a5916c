//! Conversion of texts and times to values that the store can hold.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::store_url::Kind;

/// Truncates a text to `max_chars` characters, and replaces NUL, which PostgreSQL cannot hold.
pub(crate) fn clip(text: &str, max_chars: usize) -> String {
    let storable = |c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().take(max_chars).map(storable).collect()
}

/// Range of a column of type TIMESTAMP on MySQL, in milliseconds: from second 1 of 1970 to
/// 2038-01-19T03:14:07Z.
const MYSQL_RANGE: RangeInclusive<i64> = 1_000..=2_147_483_647_999;

/// Formats a time for the tables of ElasticJob: UTC, with milliseconds.
///
/// On MySQL it has whole seconds, because some versions would round a fraction and others truncate
/// it. Returns `None`, which is stored as NULL, if the column cannot hold the time.
pub(crate) fn sql_time(kind: Kind, ms: i64) -> Option<String> {
    let is_mysql = kind == Kind::MySql;
    if is_mysql && !MYSQL_RANGE.contains(&ms) {
        return None;
    }
    let format = if is_mysql { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M:%S%.3f" };
    let bound = if ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let time = Timestamp::from_millisecond(ms).unwrap_or(bound);
    Some(time.to_zoned(TimeZone::UTC).strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(clip("äöü", 2), "äö");
        assert_eq!(clip("a\0b", 9), "a\u{fffd}b");
        assert_eq!(clip("", 0), "");
    }

    #[test]
    fn time_has_milliseconds_except_on_mysql_and_no_zone() {
        let sqlite_time = |ms| sql_time(Kind::Sqlite, ms).unwrap();
        let mysql_time = |ms| sql_time(Kind::MySql, ms);
        assert_eq!(sqlite_time(1_709_208_000_000), "2024-02-29 12:00:00.000");
        assert_eq!(sqlite_time(-1), "1969-12-31 23:59:59.999");
        assert_eq!(&sqlite_time(i64::MAX)[..4], "9999");
        assert_eq!(mysql_time(1_709_208_000_999).unwrap(), "2024-02-29 12:00:00");
        assert_eq!(mysql_time(2_147_483_647_999).unwrap(), "2038-01-19 03:14:07");
        assert_eq!([mysql_time(999), mysql_time(2_147_483_648_000)], [None, None]);
    }
}
