//! Texts as the store can hold them.

use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::store_url::Kind;

/// Cuts a text to so many characters, and replaces the character that PostgreSQL cannot hold.
pub(crate) fn clip(text: &str, max_chars: usize) -> String {
    let held = |c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().take(max_chars).map(held).collect()
}

/// What a column of type TIMESTAMP takes on MySQL: from the first second of 1970 to the one before 2038-01-19T03:14:08Z.
const MYSQL_RANGE: RangeInclusive<i64> = 1_000..=2_147_483_647_999;

/// Returns a time as the tables of ElasticJob hold it: UTC, with milliseconds but for MySQL, whose columns have whole
/// seconds. Some versions of it would round and others cut. `None`, and so NULL, if the column cannot hold it.
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
    fn a_text_is_cut_between_characters() {
        assert_eq!(clip("äöü", 2), "äö");
        assert_eq!(clip("a\0b", 9), "a\u{fffd}b");
        assert_eq!(clip("", 0), "");
    }

    #[test]
    fn a_time_has_milliseconds_if_the_column_has_and_no_zone() {
        let in_a_file = |ms| sql_time(Kind::Sqlite, ms).unwrap();
        let sql_time = |ms| sql_time(Kind::MySql, ms);
        assert_eq!(in_a_file(1_709_208_000_000), "2024-02-29 12:00:00.000");
        assert_eq!(in_a_file(-1), "1969-12-31 23:59:59.999");
        assert_eq!(&in_a_file(i64::MAX)[..4], "9999");
        assert_eq!(sql_time(1_709_208_000_999).unwrap(), "2024-02-29 12:00:00");
        assert_eq!(sql_time(2_147_483_647_999).unwrap(), "2038-01-19 03:14:07");
        assert_eq!([sql_time(999), sql_time(2_147_483_648_000)], [None, None]);
    }
}
