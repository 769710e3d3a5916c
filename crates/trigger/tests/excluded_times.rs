//! Times without fires: which instants each kind of entry excludes, and with which reason.

use jiff::Timestamp;
use trigger::{ExcludedDays, ExcludedTimes, JobSchedule, OverlapPolicy, ScheduleTexts, Zone};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn schedule(rules: &str, zone: &str, times: &str) -> JobSchedule {
    let times = ExcludedTimes::parse(times).unwrap_or_else(|error| panic!("{error}"));
    let zone = Zone::parse(zone).unwrap();
    JobSchedule::parse(rules, &zone).unwrap().with_excluded_times(times)
}

/// Returns the reason and the end of the exclusion at an instant.
fn exclusion(schedule: &JobSchedule, instant: &str) -> Option<(String, String)> {
    let found = schedule.exclusion_at(at(instant))?;
    Some((found.reason, found.until.map_or("never".to_owned(), |until| until.to_string())))
}

fn calendar(events: &[&str]) -> String {
    let events: String =
        events.iter().map(|lines| format!("BEGIN:VEVENT\r\n{lines}\r\nEND:VEVENT\r\n")).collect();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{events}END:VCALENDAR\r\n")
}

/// A moment, with the reason and the end of its exclusion.
type Looked<'a> = (&'a str, Option<(&'a str, &'a str)>);

#[test]
fn windows_and_spans_exclude_from_their_start_to_before_their_end() {
    // 2026-03-06 is a Friday; Shanghai is eight hours ahead of UTC.
    let rows: [(&str, &[Looked<'_>]); 7] = [
        (
            "22:00..06:00 # backup",
            &[
                ("2026-03-06T13:59:59.999Z", None),
                ("2026-03-06T14:00:00Z", Some(("backup", "2026-03-06T22:00:00Z"))),
                ("2026-03-06T21:59:59.5Z", Some(("backup", "2026-03-06T22:00:00Z"))),
                ("2026-03-06T22:00:00Z", None),
            ],
        ),
        (
            "FRI 22:00..06:00",
            &[
                ("2026-03-05T14:00:00Z", None),
                ("2026-03-06T14:00:00Z", Some(("FRI 22:00..06:00", "2026-03-06T22:00:00Z"))),
                ("2026-03-06T20:00:00Z", Some(("FRI 22:00..06:00", "2026-03-06T22:00:00Z"))),
                ("2026-03-07T14:00:00Z", None),
            ],
        ),
        (
            "FRI 22:00..00:00 # a; SAT..SUN # b",
            &[
                ("2026-03-06T15:00:00Z", Some(("a", "2026-03-08T16:00:00Z"))),
                ("2026-03-06T16:00:00Z", Some(("b", "2026-03-08T16:00:00Z"))),
                ("2026-03-08T16:00:00Z", None),
            ],
        ),
        (
            "MON..SUN 09:00..09:30:15",
            &[("2026-03-06T01:30:14Z", Some(("MON..SUN 09:00..09:30:15", "2026-03-06T01:30:15Z")))],
        ),
        (
            "12-25,2026-04-03 # closed",
            &[
                ("2026-12-24T16:00:00Z", Some(("closed", "2026-12-25T16:00:00Z"))),
                ("2026-04-03T16:00:00Z", None),
            ],
        ),
        (
            "2026-12-24T18:00..2026-12-27T06:00:30 # freeze",
            &[
                ("2026-12-24T09:59:59Z", None),
                ("2026-12-24T10:00:00Z", Some(("freeze", "2026-12-26T22:00:30Z"))),
                ("2027-12-24T10:00:00Z", None),
            ],
        ),
        ("00:00..24:00 # always", &[("2026-03-06T01:00:00Z", Some(("always", "never")))]),
    ];
    for (times, instants) in rows {
        let schedule = schedule("* * * * * ?", "Asia/Shanghai", times);
        for (instant, expected) in instants {
            let expected = expected.map(|(reason, end)| (reason.to_owned(), end.to_owned()));
            assert_eq!(exclusion(&schedule, instant), expected, "{times} at {instant}");
        }
    }
}

#[test]
fn both_occurrences_of_a_repeated_hour_are_excluded() {
    let hourly = |times| {
        schedule("0 0/30 * * * ?", "America/New_York", times).with_overlap(OverlapPolicy::Both)
    };
    // Clocks go back from 02:00 to 01:00 at 06:00 UTC.
    let fires = |schedule: &JobSchedule| -> Vec<String> {
        let fires = schedule.upcoming(at("2026-11-01T04:30:00Z"));
        fires.take_while(|fire| *fire < at("2026-11-01T08:00:00Z")).map(|t| t.to_string()).collect()
    };
    assert_eq!(
        fires(&hourly("01:00..01:30")),
        [
            "2026-11-01T05:30:00Z",
            "2026-11-01T06:30:00Z",
            "2026-11-01T07:00:00Z",
            "2026-11-01T07:30:00Z"
        ]
    );
    // The end of the window lies in the gap: the clock jumps from 02:00 to 03:00 at 07:00 UTC.
    let spring = hourly("01:30..02:30 # gap");
    let found = exclusion(&spring, "2026-03-08T06:45:00Z");
    assert_eq!(found, Some(("gap".to_owned(), "2026-03-08T07:00:00Z".to_owned())));
    assert_eq!(spring.next_after(at("2026-03-08T06:15:00Z")), Some(at("2026-03-08T07:00:00Z")));
}

#[test]
fn events_exclude_their_occurrences_with_their_summaries() {
    let holidays = calendar(&[
        "SUMMARY:Christmas\\, closed\r\nDTSTART;VALUE=DATE:20001225\r\nDTEND;VALUE=DATE:20001227\r\n\
         RRULE:FREQ=YEARLY",
        "SUMMARY:Thanksgiving\r\nDTSTART;VALUE=DATE:20201126\r\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDA\r\n Y=4TH",
        "SUMMARY:Release\r\nDTSTART:20260310T100000Z\r\nDURATION:PT90M",
        "SUMMARY:Tokyo\r\nUID:t\r\nDTSTART;TZID=Asia/Tokyo:20260302T090000\r\n\
         DTEND;TZID=Asia/Tokyo:20260302T100000\r\n\
         RRULE:FREQ=WEEKLY;UNTIL=20260323T000000Z\r\nEXDATE;TZID=Asia/Tokyo:20260309T090000",
        "SUMMARY:Tokyo moved\r\nUID:t\r\nRECURRENCE-ID:20260316T000000Z\r\n\
         DTSTART;TZID=Asia/Tokyo:20260317T120000\r\nDURATION:PT1H",
        "SUMMARY:Off\r\nSTATUS:CANCELLED\r\nDTSTART;VALUE=DATE:20260501",
        "SUMMARY:Extra\r\nDTSTART;VALUE=DATE:20260601\r\nRDATE;VALUE=DATE:20260603,20260605",
        "DTSTART;VALUE=DATE:20260701",
    ]);
    let schedule = schedule("0 0 * * * ?", "Europe/Berlin", &holidays);
    let rows = [
        ("2026-12-24T22:59:59Z", None),
        ("2026-12-24T23:00:00Z", Some(("Christmas, closed", "2026-12-26T23:00:00Z"))),
        ("2099-12-26T12:00:00Z", Some(("Christmas, closed", "2099-12-26T23:00:00Z"))),
        ("1999-12-25T12:00:00Z", None),
        ("2026-11-26T12:00:00Z", Some(("Thanksgiving", "2026-11-26T23:00:00Z"))),
        ("2026-11-19T12:00:00Z", None),
        ("2026-03-10T11:29:59Z", Some(("Release", "2026-03-10T11:30:00Z"))),
        ("2026-03-10T11:30:00Z", None),
        ("2026-03-02T00:30:00Z", Some(("Tokyo", "2026-03-02T01:00:00Z"))),
        ("2026-03-09T00:30:00Z", None),
        ("2026-03-16T00:30:00Z", None),
        ("2026-03-17T03:30:00Z", Some(("Tokyo moved", "2026-03-17T04:00:00Z"))),
        // The rule ends at the start of this occurrence, in UTC.
        ("2026-03-23T00:30:00Z", Some(("Tokyo", "2026-03-23T01:00:00Z"))),
        ("2026-03-30T00:30:00Z", None),
        ("2026-05-01T12:00:00Z", None),
        ("2026-06-02T12:00:00Z", None),
        ("2026-06-05T12:00:00Z", Some(("Extra", "2026-06-05T22:00:00Z"))),
        ("2026-07-01T12:00:00Z", Some(("event without a SUMMARY", "2026-07-01T22:00:00Z"))),
    ];
    for (instant, expected) in rows {
        let expected = expected.map(|(reason, end)| (reason.to_owned(), end.to_owned()));
        assert_eq!(exclusion(&schedule, instant), expected, "{instant}");
    }
    // The text may have other entries before and after a calendar.
    let both = format!("12:00..13:00 # lunch\n{holidays}; SAT # closed");
    let both = self::schedule("0 0 * * * ?", "Europe/Berlin", &both);
    let reasons = ["2026-03-11T11:30:00Z", "2026-12-25T09:00:00Z", "2026-03-14T09:00:00Z"]
        .map(|instant| exclusion(&both, instant).unwrap().0);
    assert_eq!(reasons, ["lunch", "Christmas, closed", "closed"]);
}

#[test]
fn days_and_times_together_have_one_end() {
    let schedule = schedule("0 0 * * * ?", "UTC", "22:00..24:00 # backup")
        .with_excluded_days(ExcludedDays::parse("SAT").unwrap());
    // 2026-03-06 is a Friday.
    let friday = exclusion(&schedule, "2026-03-06T22:00:00Z").unwrap();
    assert_eq!(friday, ("backup".to_owned(), "2026-03-08T00:00:00Z".to_owned()));
    let saturday = exclusion(&schedule, "2026-03-07T12:00:00Z").unwrap();
    assert_eq!(saturday.0, "excluded day");
    assert_eq!(schedule.exclusion_at(at("2026-03-06T12:00:00Z")), None);
}

#[test]
fn intervals_and_single_times_are_excluded_too() {
    let window = "00:00..12:00";
    let every = schedule("@every 6h from 2026-03-06T03:00:00", "UTC", window);
    let fires: Vec<String> =
        every.upcoming(at("2026-03-06T00:00:00Z")).take(3).map(|t| t.to_string()).collect();
    assert_eq!(fires, ["2026-03-06T15:00:00Z", "2026-03-06T21:00:00Z", "2026-03-07T15:00:00Z"]);
    let once = schedule("@at 2026-03-06T03:00:00; @at 2026-03-06T13:00:00", "UTC", window);
    let fires: Vec<String> =
        once.upcoming(at("2026-03-01T00:00:00Z")).map(|t| t.to_string()).collect();
    assert_eq!(fires, ["2026-03-06T13:00:00Z"]);
}

#[test]
fn a_schedule_with_all_its_fires_excluded_is_rejected() {
    let now = at("2026-03-06T00:00:00Z");
    let rows = [
        ("0 0 3 * * ?", "02:00..04:00 # backup", false),
        ("@every 24h from 2026-03-06T03:00:00", "02:00..04:00", false),
        ("0 0 3 * * ?; 0 0 5 * * ?", "02:00..04:00", true),
        ("* * * * * ?", "00:00..12:00; 12:00..00:00", false),
        ("0 0 3 ? * SAT", "SAT", false),
        ("@at 2026-12-24T20:00:00", "2026-12-24T18:00..2026-12-27T06:00", false),
    ];
    for (cron, times, fires) in rows {
        let mut texts = ScheduleTexts::default();
        (texts.cron, texts.excluded_times) = (Some(cron), Some(times));
        let schedule = texts.schedule(&Zone::utc()).unwrap().unwrap();
        let checked = texts.check_fires_after(&schedule, now);
        assert_eq!(checked.is_ok(), fires, "{cron} without {times}: {checked:?}");
        if let Err(error) = checked {
            let text = error.to_string();
            assert!(text.contains("excluded_times being"), "{text}");
        }
    }
}

#[test]
fn an_invalid_text_is_named_and_shown_in_part() {
    let mut texts = ScheduleTexts::default();
    let long = format!("22:00..06:00 # {}; NEVER", "x".repeat(5_000));
    (texts.cron, texts.excluded_times) = (Some("0 0 3 * * ?"), Some(long.as_str()));
    let error = texts.schedule(&Zone::utc()).unwrap_err();
    assert_eq!(error.field, "excluded_times");
    assert!(error.value.len() < 300 && error.value.ends_with('…'), "{}", error.value);
    assert!(error.valid.contains("`NEVER` has invalid days"), "{}", error.valid);
}

/// With the greatest number of exclusions: each day has twenty.
#[test]
fn the_search_of_a_schedule_without_fires_ends() {
    let times: Vec<String> =
        (0..20).map(|hour| format!("{hour:02}:00:00..{hour:02}:00:30")).collect();
    let hourly = |hours: &str| {
        schedule(&format!("0 0 {hours} * * ?"), "America/New_York", &times.join("\n"))
    };
    let now = at("2110-03-06T06:00:00Z");
    assert_eq!(hourly("0-20").next_after(now), Some(at("2110-03-07T01:00:00Z")));
    assert_eq!(hourly("0-19").next_after(now), None);
}
