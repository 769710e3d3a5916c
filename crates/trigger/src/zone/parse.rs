//! Parser of time zone names.

use jiff::tz::TimeZoneDatabase;

use super::error::{ZoneError, ZoneErrorReason as Reason};
use super::{Inner, Segments, Zone};

pub(super) fn parse(name: &str) -> Result<Zone, ZoneError> {
    let zone = match offset_text(name) {
        Some((sign, digits)) => offset(sign, digits),
        None => named(name),
    };
    zone.map_err(|reason| ZoneError { name: name.to_owned(), reason })
}

/// Returns the sign and the text after it, if the name has the form `GMT+8`.
fn offset_text(name: &str) -> Option<(i32, &str)> {
    let (gmt, offset) = name.split_at_checked(3)?;
    let sign = match offset.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    gmt.eq_ignore_ascii_case("GMT").then_some((sign, &offset[1..]))
}

/// Parses the forms that Java accepts: `h`, `hh`, `h:mm`, `hh:mm`, `hmm`, `hhmm`.
fn offset(sign: i32, text: &str) -> Result<Zone, Reason> {
    let (hours, minutes) = match text.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return Err(Reason::NoOffset),
        None if text.len() > 2 => text.split_at_checked(text.len() - 2).ok_or(Reason::NoOffset)?,
        None => (text, "00"),
    };
    let number = |digits: &str| {
        let is_number = matches!(digits.len(), 1 | 2) && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.parse::<i32>().ok()).flatten().ok_or(Reason::NoOffset)
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    if hours > 23 || minutes > 59 {
        return Err(Reason::OffsetTooLarge);
    }
    let seconds = sign * (hours * 60 + minutes) * 60;
    Ok(Zone::fixed(offset_name(seconds), seconds))
}

/// Returns a name such as `GMT+08:00`, or `GMT` for offset 0.
fn offset_name(seconds: i32) -> String {
    let (hours, minutes) = (seconds.abs() / 3_600, seconds.abs() / 60 % 60);
    match seconds {
        0 => "GMT".to_owned(),
        1.. => format!("GMT+{hours:02}:{minutes:02}"),
        _ => format!("GMT-{hours:02}:{minutes:02}"),
    }
}

fn named(name: &str) -> Result<Zone, Reason> {
    let database = TimeZoneDatabase::bundled();
    let Some(zone) = database.get(name).ok().filter(|zone| !zone.is_unknown()) else {
        return Err(match similar(&database, name) {
            Some(similar) => Reason::DidYouMean(similar),
            None if is_abbreviation(name) => Reason::Abbreviation,
            None => Reason::Unknown,
        });
    };
    let name = zone.iana_name().ok_or(Reason::Unknown)?.to_owned();
    Ok(Zone(std::sync::Arc::new(Inner { name, segments: Segments::of(&zone) })))
}

/// Returns the valid name that an invalid one probably stands for: `GMT+08:00` for `UTC+8`, and
/// `Asia/Shanghai` for `Shanghai` and for `Asia/Shangai`.
fn similar(database: &TimeZoneDatabase, name: &str) -> Option<String> {
    let wanted = name.trim().replace(' ', "_").to_ascii_lowercase();
    let sign_and_digits = wanted.strip_prefix("utc").unwrap_or(&wanted);
    if let Some((sign, digits)) = offset_text(&format!("GMT{sign_and_digits}")) {
        return offset(sign, digits).ok().map(|zone| zone.name().to_owned());
    }
    let known: Vec<String> = database.available().map(|known| known.as_str().to_owned()).collect();
    let is_last_part = |known: &&String| {
        known.rsplit('/').next().is_some_and(|part| part.eq_ignore_ascii_case(&wanted))
    };
    if let Some(known) = known.iter().find(is_last_part) {
        return Some(known.clone());
    }
    // Short names are too similar to each other.
    let most = if wanted.len() < 7 { 0 } else { 2 };
    let distances =
        known.iter().map(|known| (distance(&wanted, &known.to_ascii_lowercase()), known));
    let closest = distances.filter(|(distance, _)| *distance <= most).min();
    closest.map(|(_, known)| known.clone())
}

/// Returns how many characters must be inserted, deleted or replaced to make one text the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (n, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], n + 1);
        for (m, b) in other.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[m + 1];
            row[m + 1] = replaced.min(diagonal + 1).min(row[m] + 1);
        }
    }
    row[other.chars().count()]
}

fn is_abbreviation(name: &str) -> bool {
    (2..=5).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_parsed_as_by_java() {
        let cases = [
            ("GMT+8", "GMT+08:00", 8 * 3_600),
            ("GMT+08", "GMT+08:00", 8 * 3_600),
            ("gmt+8:00", "GMT+08:00", 8 * 3_600),
            ("GMT+08:00", "GMT+08:00", 8 * 3_600),
            ("GMT+0800", "GMT+08:00", 8 * 3_600),
            ("GMT+530", "GMT+05:30", 5 * 3_600 + 1_800),
            ("GMT-3", "GMT-03:00", -3 * 3_600),
            ("GMT-03:30", "GMT-03:30", -3 * 3_600 - 1_800),
            ("GMT+0", "GMT", 0),
            ("GMT-00:00", "GMT", 0),
            ("GMT+23:59", "GMT+23:59", 24 * 3_600 - 60),
        ];
        for (text, name, seconds) in cases {
            let zone = Zone::parse(text).unwrap();
            assert_eq!(zone.name(), name, "{text}");
            assert_eq!(zone.reading(jiff::Timestamp::UNIX_EPOCH).0, seconds, "{text}");
            assert_eq!(Zone::parse(name).unwrap(), zone, "{text}");
        }
    }

    #[test]
    fn an_invalid_zone_name_is_an_error() {
        let cases = [
            ("", Reason::Unknown),
            ("Mars/Olympus", Reason::Unknown),
            ("Etc/Unknown", Reason::Unknown),
            ("München", Reason::Unknown),
            ("xyz", Reason::Unknown),
            ("China Standard Time", Reason::Unknown),
            ("UTC+24", Reason::Unknown),
            ("CST", Reason::Abbreviation),
            ("+08:00", Reason::DidYouMean("GMT+08:00".to_owned())),
            ("UTC+8", Reason::DidYouMean("GMT+08:00".to_owned())),
            ("utc-3:30", Reason::DidYouMean("GMT-03:30".to_owned())),
            ("Asia/Shangai", Reason::DidYouMean("Asia/Shanghai".to_owned())),
            ("Europe/Berlyn", Reason::DidYouMean("Europe/Berlin".to_owned())),
            ("shanghai", Reason::DidYouMean("Asia/Shanghai".to_owned())),
            ("new york", Reason::DidYouMean("America/New_York".to_owned())),
            ("GMT+", Reason::NoOffset),
            ("GMT+x", Reason::NoOffset),
            ("GMT+8:", Reason::NoOffset),
            ("GMT+8:0", Reason::NoOffset),
            ("GMT+:30", Reason::NoOffset),
            ("GMT+08:000", Reason::NoOffset),
            ("GMT+00800", Reason::NoOffset),
            ("GMT++8", Reason::NoOffset),
            ("GMT+8é", Reason::NoOffset),
            ("GMT+é8", Reason::NoOffset),
            ("GMT+24", Reason::OffsetTooLarge),
            ("GMT-8:60", Reason::OffsetTooLarge),
        ];
        for (name, reason) in cases {
            assert_eq!(Zone::parse(name).unwrap_err().reason, reason, "{name}");
        }
    }

    #[test]
    fn every_zone_of_the_database_is_accepted() {
        let database = TimeZoneDatabase::bundled();
        let names: Vec<_> = database.available().map(|name| name.as_str().to_owned()).collect();
        assert!(names.len() > 500, "{}", names.len());
        for name in names.iter().filter(|name| *name != "Etc/Unknown") {
            let zone = Zone::parse(name).unwrap();
            assert_eq!(Zone::parse(zone.name()).unwrap(), zone);
            assert!(zone.0.segments.are_in_order(), "{name}");
        }
    }
}
