//! A configuration without a time zone: each process uses its own zone.
//!
//! Processes of both languages with the same zone fire at the same time.

use super::common::{assigned, between_fires, fires, verify};
use crate::protocol::JobPlan;
use crate::stage::{CheckEnv, Failure, Kind, WorkerOptions, now_ms};
use crate::suite::Report;

const JOB: &str = "zoned";
const TOTAL: u32 = 4;
/// Zone of the processes, and its offset from UTC in hours.
const ZONE: (&str, i64) = ("GMT+08:00", 8);
const HOUR: i64 = 3_600_000;

/// Expects that a job fires every second of the zone's present hour and the next one. In UTC it
/// would not fire.
pub(super) async fn check(env: &CheckEnv<'_>, report: &mut Report) -> Result<(), Failure> {
    let options = WorkerOptions { time_zone: ZONE.0, ..WorkerOptions::default() };
    let java = env.start_with(Kind::Java, "javaInZone", 2, options)?;
    let rust = env.start_with(Kind::Rust, "rustInZone", 3, options)?;
    java.ready().await?;
    rust.ready().await?;
    let hour = (now_ms() / HOUR + ZONE.1) % 24;
    let cron = format!("* * {hour},{} * * ?", (hour + 1) % 24);
    let plan = JobPlan { cron, ..JobPlan::new(JOB, TOTAL) };
    let ids = [rust.schedule(&plan).await?, java.schedule(&plan).await?];
    assigned(env, JOB, TOTAL, &ids).await?;
    let from = between_fires(env, &[JOB], TOTAL).await?;
    let to = fires(env, JOB, TOTAL, from, 3).await?;
    let what = format!("fires of `{}` at {}", plan.cron, ZONE.0);
    verify(env, JOB, TOTAL, (from, to), &what, report);
    let stored = env.nodes().text(&format!("/{JOB}/config")).unwrap_or_default();
    let names_none = !stored.contains(ZONE.0);
    report.holds("the stored configuration", "no time zone", &stored, names_none);
    java.leave().await?;
    rust.leave().await
}
