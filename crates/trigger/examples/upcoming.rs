//! Prints the meaning of an expression in words and its next fire times.
//!
//! ```text
//! $ cargo run -p trigger --example upcoming -- '0 0/30 9-17 ? * MON-FRI' Europe/London \
//!     2026-03-27T17:00:00Z
//! at second 0, every 30th minute from 0, hours 9 to 17, on Monday to Friday
//! 2026-03-27T17:30:00Z  2026-03-27T17:30:00+00:00
//! 2026-03-30T08:00:00Z  2026-03-30T09:00:00+01:00
//! 2026-03-30T08:30:00Z  2026-03-30T09:30:00+01:00
//! 2026-03-30T09:00:00Z  2026-03-30T10:00:00+01:00
//! 2026-03-30T09:30:00Z  2026-03-30T10:30:00+01:00
//! ```
//!
//! Default zone: UTC. Default time: now.
#![expect(clippy::print_stdout, reason = "the result of the program")]
#![expect(clippy::disallowed_methods, reason = "a program reads the clock")]

use std::error::Error;
use std::process::ExitCode;

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use trigger::{CronExpression, CronSchedule, Zone};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}\nusage: upcoming EXPRESSION [ZONE [TIME]]");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let expression: CronExpression = arguments.first().ok_or("no expression was given")?.parse()?;
    let zone = arguments.get(1).map_or(Ok(Zone::utc()), |name| Zone::parse(name))?;
    let after = arguments.get(2).map_or(Ok(Timestamp::now()), |time| time.parse())?;

    println!("{}", expression.description());
    expression.caveats().iter().for_each(|caveat| println!("note: {caveat}"));
    // The database has no fixed offsets such as GMT+8; their fire times are printed in UTC only.
    let clock = TimeZoneDatabase::bundled().get(zone.name()).ok();
    for fire in CronSchedule::new(expression, zone).upcoming(after).take(5) {
        match &clock {
            Some(clock) => println!("{fire}  {}", fire.display_with_offset(clock.to_offset(fire))),
            None => println!("{fire}"),
        }
    }
    Ok(())
}
