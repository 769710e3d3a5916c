//! The leader is killed: Java takes over from Rust, and Rust from Java.

use super::Setting;
use super::common::{RECOVERY, assigned, average, between_fires, fires, judge, next_fire};
use crate::protocol::JobPlan;
use crate::stage::{Cast, Failure, Kind, Worker};
use crate::suite::Report;

const TOTAL: u32 = 4;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.cast().await?;
    let workers = [
        (Kind::Rust, "rustLeads", 1),
        (Kind::Java, "javaFollows", 2),
        (Kind::Java, "javaLeads", 3),
        (Kind::Rust, "rustFollows", 4),
    ];
    let [rust_leads, java_follows, java_leads, rust_follows] = cast.all(workers).await?;
    let lost = succession(&cast, "rustLed", &rust_leads, &java_follows, report).await;
    report.part(lost);
    succession(&cast, "javaLed", &java_leads, &rust_follows, report).await?;
    cast.tree.close().await
}

/// One leads and is killed; the other follows and goes on alone.
async fn succession(
    cast: &Cast<'_>,
    job: &str,
    leader: &Worker,
    follower: &Worker,
    report: &mut Report,
) -> Result<(), Failure> {
    let plan = JobPlan::new(job, TOTAL);
    let leader_id = leader.schedule(&plan).await?;
    assigned(cast, job, TOTAL, &[&leader_id]).await?;
    let alone = between_fires(cast, &[job], TOTAL).await?;
    let follower_id = follower.schedule(&plan).await?;
    let what = format!("leader of {} and {}", leader.name(), follower.name());
    report.same(&what, &Some(leader_id.clone()), &cast.nodes().leader(job));
    let both = [&*leader_id, &*follower_id];
    assigned(cast, job, TOTAL, &both).await?;
    report.same("items of both", &average(job, TOTAL, &both), &cast.nodes().owners(job));
    let what = format!("fires while {} leads and {} joins", leader.name(), follower.name());
    let together = all_run(cast, job, alone, &what, report).await;
    report.part(together);

    leader.kill().await?;
    let expected = format!("{follower_id} leads after the loss of {leader_id}");
    let elected = cast.tree.wait(RECOVERY, expected, |nodes| match nodes.leader(job) {
        Some(id) if id == follower_id => Ok(id),
        other => Err(format!("{other:?}")),
    });
    let found = elected.await?;
    let what = format!("leader after {} was killed", leader.name());
    report.same(&what, &follower_id, &found);
    assigned(cast, job, TOTAL, &[&follower_id]).await?;
    let alone = next_fire(cast, job, TOTAL).await?;
    let what = format!("fires of {} alone", follower.name());
    all_run(cast, job, alone, &what, report).await?;
    follower.leave().await
}

/// Expects that fires run, every item once, from one until some that are still to come.
async fn all_run(
    cast: &Cast<'_>,
    job: &str,
    from: i64,
    what: &str,
    report: &mut Report,
) -> Result<(), Failure> {
    let to = fires(cast, job, TOTAL, next_fire(cast, job, TOTAL).await?, 4).await?;
    judge(cast, job, TOTAL, (from, to), what, report);
    Ok(())
}
