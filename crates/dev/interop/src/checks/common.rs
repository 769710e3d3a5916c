//! Shared parts of the checks: waiting for assignments and fires, and the expected assignment of a
//! strategy.

use std::collections::BTreeMap;
use std::time::Duration;

use sharding::{AverageAllocation, InstanceId, ShardingItem, ShardingStrategy, StrategyInput};

use super::run_history::{RunHistory, SECOND};
use crate::protocol::Run;
pub(super) use crate::stage::now_ms;
use crate::stage::{CheckEnv, Entry, Failure, PATIENCE, Worker};
use crate::suite::{JavaVersion, Report};

/// Longest wait for the recovery from a lost instance: end of the session, election, resharding.
pub(super) const RECOVERY: Duration = Duration::from_secs(30);

/// Time without an end after which a run counts as held, in milliseconds.
const HELD_FOR: i64 = 500;

/// Waits until `instances` own the items of a job as the average strategy assigns them, and no
/// resharding is pending.
///
/// Owners that were written together become visible one after the other, and flags at any time.
pub(super) async fn assigned(
    env: &CheckEnv<'_>,
    job: &str,
    total: u32,
    instances: &[impl AsRef<str>],
) -> Result<(), Failure> {
    let instances: Vec<&str> = instances.iter().map(AsRef::as_ref).collect();
    let wanted = average(job, total, &instances);
    let expected = format!("the owners of the items are {wanted:?}");
    let look = |nodes: &crate::stage::Nodes| {
        let owners = nodes.owners(job);
        let settled = !has_flag(nodes, job, "necessary") && !has_flag(nodes, job, "processing");
        match settled && owners == wanted {
            true => Ok(()),
            false => Err(format!("{owners:?}; all nodes:\n{}", nodes.draw(&format!("/{job}")))),
        }
    };
    match env.tree.wait(REMINDED_AFTER, &*expected, look).await {
        Err(Failure::Deadline { .. }) => {
            remind_java(env, job).await?;
            env.tree.wait(PATIENCE, expected, look).await
        }
        settled => settled,
    }
}

fn has_flag(nodes: &crate::stage::Nodes, job: &str, flag: &str) -> bool {
    nodes.has(&format!("/{job}/leader/sharding/{flag}"))
}

/// Time after which a Java leader of 3.x that does not reshard is reminded.
const REMINDED_AFTER: Duration = Duration::from_secs(10);

/// Makes a Java leader of 3.x reshard if it has missed that an instance has joined.
///
/// It misses that if it sees the instance before its own election, or during a resharding. Then it
/// does not announce a resharding. An operator can enable a server that is already enabled, which
/// Java takes for a change.
async fn remind_java(env: &CheckEnv<'_>, job: &str) -> Result<(), Failure> {
    let nodes = env.nodes();
    let Some(leader) = nodes.leader(job) else { return Ok(()) };
    let is_announced = has_flag(&nodes, job, "necessary") || has_flag(&nodes, job, "processing");
    if env.release() != JavaVersion::V3_0_4 || is_announced || !nodes.is_java(job, &leader) {
        return Ok(());
    }
    Report::remark(&format!(
        "the Java leader {leader} has missed a resharding of {job} and is reminded"
    ));
    env.log.count_reminder();
    let ip = leader.split("@-@").next().unwrap_or_default();
    let server = format!("/{job}/servers/{ip}");
    env.tree.put(&server, &nodes.text(&server).unwrap_or_default()).await
}

/// Expects that every item of every fire from `from` to `to`, inclusive, of a one-second job ran
/// once.
pub(super) fn verify(
    env: &CheckEnv<'_>,
    job: &str,
    total: u32,
    (from, to): (i64, i64),
    what: &str,
    report: &mut Report,
) {
    let history = RunHistory::of(job, &env.log.entries())
        .with_owner_changes(env.tree.owner_changes(job))
        .with_announcements(env.tree.announcements(job));
    history.verify(what, total, from, to, report);
}

/// Waits for the next complete fire of a one-second job, and returns it.
pub(super) async fn next_fire(env: &CheckEnv<'_>, job: &str, total: u32) -> Result<i64, Failure> {
    let now = now_ms();
    complete(env, job, total, now - now % SECOND + SECOND).await
}

/// Waits for a complete fire of a one-second job at least `n` seconds after another fire, and
/// returns it.
pub(super) async fn fires(
    env: &CheckEnv<'_>,
    job: &str,
    total: u32,
    after: i64,
    n: i64,
) -> Result<i64, Failure> {
    complete(env, job, total, after + n * SECOND).await
}

/// Number of attempts to find a moment between two fires.
const ATTEMPTS: u32 = 5;

/// Waits until these one-second jobs have completed the latest fire, and the next one is not near.
/// Returns the fire.
///
/// All instances then see a join or a leave before the next fire. On a machine on which no fire
/// ends early, any moment is returned after [`ATTEMPTS`] attempts.
pub(super) async fn between_fires(
    env: &CheckEnv<'_>,
    jobs: &[&str],
    total: u32,
) -> Result<i64, Failure> {
    let now = now_ms();
    let mut fire = now - now % SECOND;
    for _ in 0..ATTEMPTS {
        for job in jobs {
            complete(env, job, total, fire).await?;
        }
        let now = now_ms();
        if now < fire + SECOND / 2 {
            break;
        }
        fire = now - now % SECOND + SECOND;
    }
    Ok(fire)
}

/// Waits for a complete fire at or after `wanted`.
async fn complete(env: &CheckEnv<'_>, job: &str, total: u32, wanted: i64) -> Result<i64, Failure> {
    let ahead = u64::try_from(wanted - now_ms()).unwrap_or(0);
    let expected = format!("every item of a fire at or after {}", super::run_history::at(wanted));
    let found = env.log.wait(RECOVERY + Duration::from_millis(ahead), expected, |log| {
        let history = RunHistory::of(job, log);
        match history.last_complete(total) {
            Some(fire) if fire >= wanted => Ok(fire),
            last => {
                let last = last.map_or("none".to_owned(), super::run_history::at);
                Err(format!("the last complete fire is {last}; then:\n{}", history.tail(4)))
            }
        }
    });
    let nodes = || env.nodes().draw(&format!("/{job}"));
    found.await.map_err(|failure| failure.with_more_found(&nodes()))
}

/// Waits until a worker begins a run that matches, and returns the run with its time.
pub(super) async fn begins(
    env: &CheckEnv<'_>,
    limit: Duration,
    who: &str,
    what: &str,
    matches: impl Fn(&Run, i64) -> bool,
) -> Result<(Run, i64), Failure> {
    let expected = format!("{who} begins {what}");
    let look = |log: &[Entry]| {
        let mine = log.iter().filter(|entry| &*entry.who == who);
        let runs = mine.filter_map(|entry| entry.begun().map(|run| (run, entry.fact.at)));
        let mut last = "no run".to_owned();
        for (run, at) in runs {
            if matches(run, at) {
                return Ok((run.clone(), at));
            }
            last = format!("its last run is {run:?} at {}", super::run_history::at(at));
        }
        Err(last)
    };
    env.log.wait(limit, expected, look).await
}

/// Waits until a Java worker has completed a fire that was due after `after`, and returns the fire.
pub(super) async fn completes(
    env: &CheckEnv<'_>,
    who: &str,
    job: &str,
    after: i64,
) -> Result<i64, Failure> {
    let expected =
        format!("{who} completes a fire of {job} after {}", super::run_history::at(after));
    let look = |log: &[Entry]| {
        let mut mine = log.iter().filter(|entry| &*entry.who == who);
        let done = |entry: &Entry| {
            entry.completed().filter(|(of, fire)| *of == job && *fire > after).map(|(_, fire)| fire)
        };
        mine.find_map(done).ok_or_else(|| format!("{who} has completed none"))
    };
    env.log.wait(RECOVERY, expected, look).await
}

/// Waits until a worker has ended its runs of these items for a fire.
pub(super) async fn ends(
    env: &CheckEnv<'_>,
    who: &str,
    job: &str,
    items: &[u32],
    fire: i64,
) -> Result<(), Failure> {
    let at = super::run_history::at(fire);
    let expected = format!("{who} ends the items {items:?} of {job} of fire {at}");
    let look = |log: &[Entry]| {
        let mine = log.iter().filter(|entry| &*entry.who == who);
        let runs: Vec<&Run> = mine.filter_map(Entry::ended).filter(|run| run.job == job).collect();
        let has_ended = |item: &u32| runs.iter().any(|run| (run.item, run.fire) == (*item, fire));
        if items.iter().all(has_ended) {
            Ok(())
        } else {
            Err(format!("{who} has not ended all of them"))
        }
    };
    env.log.wait(RECOVERY, expected, look).await
}

/// Orders a worker to hold an item, and waits until it runs the item. Returns the run.
pub(super) async fn hold(
    env: &CheckEnv<'_>,
    worker: &Worker,
    job: &str,
    item: u32,
) -> Result<Run, Failure> {
    worker.work(job, 0, &[item]).await?;
    held(env, worker.name(), job, &[item], now_ms()).await
}

/// Waits until a worker that holds `items` since `held_from` runs one of them. Returns the run.
///
/// The begin of an earlier run does not show whether it is held, so that it must not end for
/// [`HELD_FOR`]. A worker that begins several items can get the order between two of them. It then
/// holds the later item only, and does not begin the earlier one again.
pub(super) async fn held(
    env: &CheckEnv<'_>,
    who: &str,
    job: &str,
    items: &[u32],
    held_from: i64,
) -> Result<Run, Failure> {
    let look = |log: &[Entry]| {
        let now = log.last().map_or(0, |entry| entry.fact.at);
        let mine = || log.iter().filter(|entry| &*entry.who == who);
        let begun = || mine().filter_map(|entry| Some((entry.begun()?, entry.fact.at)));
        let last = |item: &u32| begun().rfind(|(run, _)| run.job == job && run.item == *item);
        let is_held = |(run, began): &(&Run, i64)| {
            let has_ended = mine().filter_map(Entry::ended).any(|ended| ended.run == run.run);
            *began > held_from || (!has_ended && now >= began + HELD_FOR)
        };
        let last: Vec<(&Run, i64)> = items.iter().filter_map(last).collect();
        let held = last.iter().find(|run| is_held(run));
        held.map(|(run, _)| Run::clone(run))
            .ok_or_else(|| format!("the last runs of its items are {last:?}"))
    };
    env.log
        .wait(RECOVERY, format!("{who} runs one of the held items {items:?} of {job}"), look)
        .await
}

/// Returns the assignment of the average strategy, with the instances in descending order as Java
/// leaders list them.
pub(super) fn average(job: &str, total: u32, instances: &[&str]) -> BTreeMap<u32, String> {
    let mut ids: Vec<InstanceId> = instances.iter().map(|id| InstanceId::new(*id)).collect();
    ids.sort_by(|a, b| b.cmp(a));
    let assignment = AverageAllocation.assign(&StrategyInput::new(job, &ids, total));
    let owner = |item| assignment.owner(ShardingItem::new(item)).map(ToString::to_string);
    (0..total).filter_map(|item| Some((item, owner(item)?))).collect()
}

/// Returns the items that an instance owns.
pub(super) fn items_of(env: &CheckEnv<'_>, job: &str, instance: &str) -> Vec<u32> {
    let owners = env.nodes().owners(job);
    owners.into_iter().filter(|(_, owner)| owner == instance).map(|(item, _)| item).collect()
}
