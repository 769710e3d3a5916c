//! Time zones by the names that configurations have.

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use trigger::Zone;

static PARSER: DateTimeParser = DateTimeParser::new();

/// Returns the name as RFC 9557 and browsers write it: the offset `gmt+8` of Java is `+08:00`.
pub(crate) fn standard_name(name: &str) -> String {
    // Parsing a name of the database is expensive, and would not change it.
    let is_offset = name.get(..3).is_some_and(|first| first.eq_ignore_ascii_case("GMT"));
    let zone = is_offset.then(|| Zone::parse(name).ok()).flatten();
    let offset = zone.as_ref().and_then(|zone| zone.name().strip_prefix("GMT"));
    offset.filter(|offset| offset.starts_with(['+', '-'])).unwrap_or(name).to_owned()
}

/// Returns a zone of the IANA database, or of an offset such as `GMT+08:00`.
pub(crate) fn zone_named(name: &str) -> Option<TimeZone> {
    PARSER.parse_time_zone(standard_name(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_of_java_have_standard_names() {
        for (name, expected) in [
            ("GMT-3", "-03:00"),
            ("gmt+8", "+08:00"),
            ("GMT+0530", "+05:30"),
            ("GMT+530", "+05:30"),
            ("GMT+0", "GMT+0"),
            ("GMT", "GMT"),
            ("Asia/Shanghai", "Asia/Shanghai"),
            ("no zone", "no zone"),
        ] {
            assert_eq!(standard_name(name), expected);
            assert_eq!(zone_named(name).is_some(), name != "no zone", "{name}");
        }
    }
}
