//! Names of time zones.

use jiff::Timestamp;
use trigger::{CronExpression, CronSchedule, OverlapPolicy, Zone};

/// Reads `bytes` as the name of a zone; bytes that are not UTF-8 are skipped.
pub fn run(bytes: &[u8]) {
    let Ok(name) = std::str::from_utf8(bytes) else { return };
    match Zone::parse(name) {
        Ok(zone) => {
            assert_eq!(Zone::parse(zone.name()).as_ref(), Ok(&zone), "{name:?}");
            assert_eq!(zone.to_string().parse(), Ok(zone.clone()), "{name:?}");
            check_noons(zone);
        }
        Err(error) => {
            assert_eq!(error.name, name);
            let message = error.to_string();
            let shown = format!("time zone is {name:?}; valid is ");
            assert!(message.starts_with(&shown), "{message}");
        }
    }
}

/// Checks that noon comes once a day: no zone changes its clocks at noon, and few skip a day
/// (Pacific/Apia did).
fn check_noons(zone: Zone) {
    let noon = CronExpression::parse("0 0 12 * * ?").expect("a valid expression");
    let schedule = CronSchedule::new(noon, zone.clone()).with_overlap(OverlapPolicy::Both);
    let start: Timestamp = "2024-02-27T00:00:00Z".parse().expect("a valid instant");
    let noons: Vec<_> = schedule.upcoming(start).take(400).collect();
    assert_eq!(noons.len(), 400, "{zone}");
    for pair in noons.windows(2) {
        let hours = pair[1].duration_since(pair[0]).as_secs() / 3_600;
        assert!((21..=27).contains(&hours), "{zone}: {} h from {} to {}", hours, pair[0], pair[1]);
    }
}
