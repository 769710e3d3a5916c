//! The leader is killed: a Java leader follows a Rust leader, and a Rust leader follows a Java
//! leader.

use super::CheckSetup;
use super::common::{RECOVERY, assigned, average, between_fires, fires, next_fire, verify};
use crate::protocol::JobPlan;
use crate::stage::{CheckEnv, Failure, Kind, Worker};
use crate::suite::Report;

const TOTAL: u32 = 4;

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    let workers = [
        (Kind::Rust, "rustLeads", 1),
        (Kind::Java, "javaFollows", 2),
        (Kind::Java, "javaLeads", 3),
        (Kind::Rust, "rustFollows", 4),
    ];
    let [rust_leads, java_follows, java_leads, rust_follows] = env.all(workers).await?;
    let lost = succession(&env, "rustLed", &rust_leads, &java_follows, report).await;
    report.part(lost);
    succession(&env, "javaLed", &java_leads, &rust_follows, report).await?;
    env.tree.close().await
}

/// Kills the leader of two instances, and expects that the other instance becomes the leader and
/// runs all items.
async fn succession(
    env: &CheckEnv<'_>,
    job: &str,
    leader: &Worker,
    follower: &Worker,
    report: &mut Report,
) -> Result<(), Failure> {
    let plan = JobPlan::new(job, TOTAL);
    let leader_id = leader.schedule(&plan).await?;
    assigned(env, job, TOTAL, &[&leader_id]).await?;
    let alone = between_fires(env, &[job], TOTAL).await?;
    let follower_id = follower.schedule(&plan).await?;
    let what = format!("leader while {} and {} take part", leader.name(), follower.name());
    report.same(&what, &Some(leader_id.clone()), &env.nodes().leader(job));
    let both = [&*leader_id, &*follower_id];
    assigned(env, job, TOTAL, &both).await?;
    report.same("items of both", &average(job, TOTAL, &both), &env.nodes().owners(job));
    let what = format!("fires while {} leads and {} joins", leader.name(), follower.name());
    let together = verify_fires(env, job, alone, &what, report).await;
    report.part(together);

    leader.kill().await?;
    let expected = format!("{follower_id} leads after the loss of {leader_id}");
    let elected = env.tree.wait(RECOVERY, expected, |nodes| match nodes.leader(job) {
        Some(id) if id == follower_id => Ok(id),
        other => Err(format!("{other:?}")),
    });
    let found = elected.await?;
    let what = format!("leader after {} was killed", leader.name());
    report.same(&what, &follower_id, &found);
    assigned(env, job, TOTAL, &[&follower_id]).await?;
    let alone = next_fire(env, job, TOTAL).await?;
    let what = format!("fires of {} alone", follower.name());
    verify_fires(env, job, alone, &what, report).await?;
    follower.leave().await
}

/// Expects that every item runs once for each fire from `from` to a fire that is still to come.
async fn verify_fires(
    env: &CheckEnv<'_>,
    job: &str,
    from: i64,
    what: &str,
    report: &mut Report,
) -> Result<(), Failure> {
    let to = fires(env, job, TOTAL, next_fire(env, job, TOTAL).await?, 4).await?;
    verify(env, job, TOTAL, (from, to), what, report);
    Ok(())
}
