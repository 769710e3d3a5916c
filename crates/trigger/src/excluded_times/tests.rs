//! Tests of texts of excluded times.

use super::*;

fn reason(text: &str) -> Option<(String, ExcludedTimesErrorReason)> {
    ExcludedTimes::parse(text).err().map(|error| (error.entry, error.reason))
}

#[test]
fn an_invalid_entry_is_reported() {
    use crate::ExcludedDaysErrorReason as DaysReason;
    use ExcludedTimesErrorReason::{
        Backwards, Days, MissingTime, NoEntry, TooLong, TooMany, TooManyWindows, Unknown,
    };
    let many = vec!["SAT"; ExcludedTimes::MAX_ENTRIES + 1].join("\n");
    let windows = vec!["01:00..02:00"; ExcludedTimes::MAX_WINDOWS + 1].join("\n");
    let long = format!("01:00..02:00 #{}", " ".repeat(ExcludedTimes::MAX_BYTES));
    let long_bytes = format!("{} bytes", long.len());
    let rows = [
        ("", "", NoEntry),
        (" ; \n", " ;  ", NoEntry),
        ("# backup", "# backup", MissingTime),
        ("22:00", "22:00", Unknown),
        ("22:00-06:00", "22:00-06:00", Unknown),
        ("22:00..6:00", "22:00..6:00", Unknown),
        ("22:00..24:01", "22:00..24:01", Unknown),
        ("24:00..06:00", "24:00..06:00", Unknown),
        ("22:60..23:00", "22:60..23:00", Unknown),
        ("22:00:00:00..23:00", "22:00:00:00..23:00", Unknown),
        ("10:00..10:00", "10:00..10:00", Backwards),
        ("SATURDAY", "SATURDAY", Days(DaysReason::Unknown)),
        ("SAT, 09:00..10:00", "SAT, 09:00..10:00", Days(DaysReason::MissingEntry)),
        ("02-30 09:00..10:00", "02-30 09:00..10:00", Days(DaysReason::NoSuchDay)),
        ("01:00..02:00; SONNTAG", "SONNTAG", Days(DaysReason::Unknown)),
        ("2026-12-24T18:00", "2026-12-24T18:00", Unknown),
        ("2026-12-24T18:00..2026-12-27", "2026-12-24T18:00..2026-12-27", Unknown),
        ("2026-12-24T18:00..2026-12-27T06:00Z", "2026-12-24T18:00..2026-12-27T06:00Z", Unknown),
        ("2026-02-29T18:00..2026-12-27T06:00", "2026-02-29T18:00..2026-12-27T06:00", Unknown),
        ("2126-12-24T18:00..2127-12-27T06:00", "2126-12-24T18:00..2127-12-27T06:00", Unknown),
        ("2026-12-24T18:00..2026-12-24T18:00", "2026-12-24T18:00..2026-12-24T18:00", Backwards),
        ("2026-12-24T18:00..2025-12-24T19:00", "2026-12-24T18:00..2025-12-24T19:00", Backwards),
        (&many, "101 entries", TooMany),
        (&windows, "21 windows of a part of the day", TooManyWindows),
        (&long, &long_bytes, TooLong),
    ];
    for (text, entry, expected) in rows {
        assert_eq!(reason(text), Some((entry.to_owned(), expected)), "{text}");
    }
}

/// Returns the text of a calendar with one event.
fn event(lines: &str) -> String {
    format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\n{lines}\nEND:VEVENT\nEND:VCALENDAR")
}

#[test]
fn an_invalid_event_is_reported_by_its_summary_and_property() {
    let start = "SUMMARY:Freeze\nDTSTART;VALUE=DATE:20261224";
    let rows = [
        ("SUMMARY:Freeze", "no DTSTART"),
        ("SUMMARY:Freeze\nDTSTART:2026-12-24", "DTSTART \"2026-12-24\""),
        ("SUMMARY:Freeze\nDTSTART:20260230T100000", "DTSTART \"20260230T100000\""),
        ("SUMMARY:Freeze\nDTSTART:18991231T100000", "from 1900 to 2126"),
        ("SUMMARY:Freeze\nDTSTART;TZID=Mars:20261224T100000", "the TZID \"Mars\""),
        ("SUMMARY:Freeze\nDTSTART:20261224T100000", "no length"),
        ("SUMMARY:Freeze\nDTSTART:20261224T100000\nDTEND:20261224T100000", "no length"),
        ("SUMMARY:Freeze\nDTSTART:20261224T100000\nDURATION:P367D", "no length"),
        ("SUMMARY:Freeze\nDTSTART:20261224T100000\nDURATION:-PT1H", "no length"),
        (&format!("{start}\nRRULE:FREQ=NEVER"), "which is invalid"),
        (&format!("{start}\nRRULE:FREQ=DAILY;INTERVAL=0"), "which is invalid"),
        (&format!("{start}\nRRULE:FREQ=DAILY;COUNT=2;UNTIL=20270101"), "UNTIL and COUNT"),
        (&format!("{start}\nRRULE:FREQ=HOURLY"), "which recurs within a day"),
        (&format!("{start}\nRRULE:FREQ=DAILY;BYHOUR=1,2"), "which recurs within a day"),
        (&format!("{start}\nRRULE:FREQ=YEARLY;RSCALE=HEBREW"), "another calendar"),
        (&format!("{start}\nRRULE:FREQ=YEARLY;INTERVAL=1001"), "INTERVAL"),
        (&format!("{start}\nRRULE:FREQ=MONTHLY;BYDAY=0FR,-1MO;COUNT=3"), "a BYDAY of ordinal 0"),
        (&format!("{start}\nRRULE:FREQ=DAILY;BYDAY={}MO", "MO,".repeat(70)), "200 bytes"),
        (&format!("{start}\nRRULE:FREQ=DAILY;BYDAY=é1MO"), "of ASCII"),
        (&format!("{start}\nRRULE:FREQ=DAILY;COUNT=1\nRRULE:FREQ=DAILY;COUNT=2"), "than one RRULE"),
        (&format!("{start}\nEXRULE:FREQ=YEARLY"), "an EXRULE"),
        (&format!("{start}\nRDATE;VALUE=PERIOD:20261224T100000Z/PT1H"), "RDATE"),
        (&format!("{start}\nEXDATE:tomorrow"), "EXDATE"),
        (&format!("{start}\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261224"), "with a RANGE"),
    ];
    for (lines, part) in rows {
        let error = ExcludedTimes::parse(&event(lines)).expect_err(lines);
        assert_eq!(error.entry, "Freeze", "{lines}: {error}");
        assert!(matches!(error.reason, ExcludedTimesErrorReason::Property(_)), "{lines}: {error}");
        assert!(error.to_string().contains(part), "{lines}: {error}");
    }
}

#[test]
fn a_text_that_is_no_calendar_is_reported() {
    let nested =
        |depth: usize| format!("BEGIN:VCALENDAR\n{}END:VCALENDAR", "BEGIN:VEVENT\n".repeat(depth));
    // A folded line must not hide a component from the limit of the depth.
    let folded = format!("BEGIN:VCALENDAR\n{}END:VCALENDAR", "BEG\n IN:VEVENT\n".repeat(4_000));
    let rows = [
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT", "open"),
        ("BEGIN:VCALENDAR\nno colon\nEND:VCALENDAR", "separator"),
        ("BEGIN:VCALENDAR\nA:\r1\nEND:VCALENDAR", "carriage return"),
        (&nested(4), "deeper than 4"),
        (&nested(5_000), "deeper than 4"),
        (&folded, "deeper than 4"),
    ];
    for (text, part) in rows {
        let error = ExcludedTimes::parse(text).expect_err(part);
        assert!(matches!(error.reason, ExcludedTimesErrorReason::Syntax(_)), "{error}");
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

#[test]
fn events_and_their_occurrences_are_bounded() {
    use ExcludedTimesErrorReason::{TooManyEvents, TooManyOccurrences, TooManyRules, TooManyZones};
    let calendar = |events: &[String]| {
        let events: String =
            events.iter().map(|lines| format!("BEGIN:VEVENT\n{lines}\nEND:VEVENT\n")).collect();
        format!("BEGIN:VCALENDAR\n{events}END:VCALENDAR")
    };
    let times = |count: usize, lines: &str| calendar(&vec![lines.to_owned(); count]);
    let daily = "DTSTART:20260101\nRRULE:FREQ=DAILY";
    let zones: Vec<String> = (1..=21)
        .map(|hour| format!("DTSTART;TZID=GMT+{}:20260101T0000\nDURATION:PT1H", hour % 24))
        .map(|lines| lines.replace("T0000", "T000000"))
        .collect();
    let rows = [
        (times(ExcludedTimes::MAX_EVENTS, "DTSTART:20260101"), None),
        (times(ExcludedTimes::MAX_EVENTS + 1, "DTSTART:20260101"), Some(TooManyEvents)),
        (times(100, "DTSTART:20260101\nRRULE:FREQ=YEARLY"), None),
        (times(101, "DTSTART:20260101\nRRULE:FREQ=YEARLY"), Some(TooManyRules)),
        (times(1, &format!("{daily};COUNT=20000")), None),
        (times(1, &format!("{daily};COUNT=20001")), Some(TooManyOccurrences)),
        (times(1, daily), Some(TooManyOccurrences)),
        (times(1, &format!("{daily};UNTIL=20361231")), None),
        (calendar(&zones[..18]), None),
    ];
    for (text, expected) in rows {
        let found = ExcludedTimes::parse(&text).err();
        assert_eq!(found.as_ref().map(|error| &error.reason), expected.as_ref(), "{found:?}");
    }
    let names = ["Asia/Tokyo", "Asia/Seoul", "Europe/Paris"];
    let more = names.map(|name| format!("DTSTART;TZID={name}:20260101T000000\nDURATION:PT1H"));
    let error = ExcludedTimes::parse(&calendar(&[&zones[..18], &more].concat())).unwrap_err();
    assert_eq!(error.reason, TooManyZones);
}

#[test]
fn overlapping_spans_are_separated() {
    let wall = |hour: i64| Wall(hour * 3_600);
    let span = |from, to, reason: &str| Span::new(wall(from), wall(to), reason.into()).unwrap();
    let spans = Spans::new(vec![
        span(5, 9, "b"),
        span(1, 6, "a"),
        span(2, 3, "inner"),
        span(9, 10, "c"),
        span(20, 21, "d"),
    ]);
    let found: Vec<Option<&str>> =
        [0, 1, 2, 5, 6, 8, 9, 10, 20].map(|hour| spans.reason_at(wall(hour))).to_vec();
    let expected = [None, Some("a"), Some("a"), Some("a"), Some("b"), Some("b"), Some("c")];
    assert_eq!(found[..7], expected);
    assert_eq!(found[7..], [None, Some("d")]);
    assert_eq!(spans.first_included(wall(1)), wall(10));
    assert_eq!(spans.first_included(wall(10)), wall(10));
}
