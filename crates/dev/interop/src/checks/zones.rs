//! A configuration without a time zone means that of each process: those of both languages that are set to the same one fire
//! at the same time.

use super::common::{assigned, between_fires, fires, judge};
use crate::protocol::JobPlan;
use crate::stage::{Cast, Failure, Habits, Kind, now_ms};
use crate::suite::Report;

const JOB: &str = "zoned";
const TOTAL: u32 = 4;
/// Where the processes are, and how many hours ahead of UTC.
const ZONE: (&str, i64) = ("GMT+08:00", 8);
const HOUR: i64 = 3_600_000;

/// The job fires every second of this hour and the next one, by the clocks of the zone: by those of UTC, not at all.
pub(super) async fn play(cast: &Cast<'_>, report: &mut Report) -> Result<(), Failure> {
    let habits = Habits { time_zone: ZONE.0, ..Habits::default() };
    let java = cast.start_with(Kind::Java, "javaInZone", 2, habits)?;
    let rust = cast.start_with(Kind::Rust, "rustInZone", 3, habits)?;
    java.ready().await?;
    rust.ready().await?;
    let hour = (now_ms() / HOUR + ZONE.1) % 24;
    let cron = format!("* * {hour},{} * * ?", (hour + 1) % 24);
    let plan = JobPlan { cron, ..JobPlan::new(JOB, TOTAL) };
    let ids = [rust.schedule(&plan).await?, java.schedule(&plan).await?];
    assigned(cast, JOB, TOTAL, &ids).await?;
    let from = between_fires(cast, &[JOB], TOTAL).await?;
    let to = fires(cast, JOB, TOTAL, from, 3).await?;
    let what = format!("fires of `{}` at {}", plan.cron, ZONE.0);
    judge(cast, JOB, TOTAL, (from, to), &what, report);
    let stored = cast.nodes().text(&format!("/{JOB}/config")).unwrap_or_default();
    let names_none = !stored.contains(ZONE.0);
    report.holds("the stored configuration", "no time zone", &stored, names_none);
    java.leave().await?;
    rust.leave().await
}
