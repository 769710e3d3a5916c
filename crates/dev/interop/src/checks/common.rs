//! What checks have in common: waiting for assignments and fires, and what a strategy should give.

use std::collections::BTreeMap;
use std::time::Duration;

use sharding::{AverageAllocation, InstanceId, ShardingItem, ShardingStrategy, StrategyInput};

use super::account::{Account, SECOND};
use crate::protocol::Run;
pub(super) use crate::stage::now_ms;
use crate::stage::{Cast, Entry, Failure, PATIENCE, Worker};
use crate::suite::{JavaVersion, Report};

/// How long a cluster may take to get over the loss of a member: the session, an election, a resharding.
pub(super) const RECOVERY: Duration = Duration::from_secs(30);

/// How long a run that does not end by itself must not have ended, in milliseconds.
const HELD_FOR: i64 = 500;

/// Waits until the items of a job belong to these instances as the average strategy gives them, and nobody is about to
/// assign them anew: owners that were written together are seen one after the other, and flags at any time.
pub(super) async fn assigned(
    cast: &Cast<'_>,
    job: &str,
    total: u32,
    instances: &[impl AsRef<str>],
) -> Result<(), Failure> {
    let instances: Vec<&str> = instances.iter().map(AsRef::as_ref).collect();
    let wanted = average(job, total, &instances);
    let expected = format!("the items belong to {wanted:?}");
    let look = |nodes: &crate::stage::Nodes| {
        let owners = nodes.owners(job);
        let settled = !has_flag(nodes, job, "necessary") && !has_flag(nodes, job, "processing");
        match settled && owners == wanted {
            true => Ok(()),
            false => Err(format!("{owners:?}; all nodes:\n{}", nodes.draw(&format!("/{job}")))),
        }
    };
    match cast.tree.wait(REMINDED_AFTER, &*expected, look).await {
        Err(Failure::Deadline { .. }) => {
            remind_java(cast, job).await?;
            cast.tree.wait(PATIENCE, expected, look).await
        }
        settled => settled,
    }
}

fn has_flag(nodes: &crate::stage::Nodes, job: &str, flag: &str) -> bool {
    nodes.has(&format!("/{job}/leader/sharding/{flag}"))
}

/// How long a Java leader of 3.x may take to see that items are to be assigned before an operator reminds it.
const REMINDED_AFTER: Duration = Duration::from_secs(10);

/// A Java leader of 3.x forgets that somebody has joined if it sees that before it sees that it leads, or while it assigns
/// items already: then it has not even noted that there is something to assign. What an operator does then is to enable a
/// server that is enabled: Java takes that for a change.
async fn remind_java(cast: &Cast<'_>, job: &str) -> Result<(), Failure> {
    let nodes = cast.nodes();
    let Some(leader) = nodes.leader(job) else { return Ok(()) };
    let has_noted = has_flag(&nodes, job, "necessary") || has_flag(&nodes, job, "processing");
    if cast.release() != JavaVersion::V3_0_4 || has_noted || !nodes.is_java(job, &leader) {
        return Ok(());
    }
    Report::remark(&format!(
        "{leader}, which is Java's, has forgotten to assign the items of {job}"
    ));
    cast.log.count_reminder();
    let ip = leader.split("@-@").next().unwrap_or_default();
    let server = format!("/{job}/servers/{ip}");
    cast.tree.put(&server, &nodes.text(&server).unwrap_or_default()).await
}

/// Expects that every item of every fire of a one-second job between two, both included, ran once.
pub(super) fn judge(
    cast: &Cast<'_>,
    job: &str,
    total: u32,
    (from, to): (i64, i64),
    what: &str,
    report: &mut Report,
) {
    let account = Account::of(job, &cast.log.entries())
        .with_dealings(cast.tree.dealings(job))
        .with_announcements(cast.tree.announcements(job));
    account.judge(what, total, from, to, report);
}

/// Waits for a complete fire of a one-second job that was due after now, and returns it.
pub(super) async fn next_fire(cast: &Cast<'_>, job: &str, total: u32) -> Result<i64, Failure> {
    let now = now_ms();
    complete(cast, job, total, now - now % SECOND + SECOND).await
}

/// Waits until a one-second job has run completely for a fire so many seconds after another one, and returns it.
pub(super) async fn fires(
    cast: &Cast<'_>,
    job: &str,
    total: u32,
    after: i64,
    n: i64,
) -> Result<i64, Failure> {
    complete(cast, job, total, after + n * SECOND).await
}

/// How often a moment between two fires is waited for.
const ATTEMPTS: u32 = 5;

/// Waits until all of these one-second jobs have run completely for the latest fire that is due, and the next one is a while
/// ahead: who comes or goes now is seen by all before that. On a machine on which no fire is over early it is any moment.
/// Returns the fire.
pub(super) async fn between_fires(
    cast: &Cast<'_>,
    jobs: &[&str],
    total: u32,
) -> Result<i64, Failure> {
    let now = now_ms();
    let mut fire = now - now % SECOND;
    for _ in 0..ATTEMPTS {
        for job in jobs {
            complete(cast, job, total, fire).await?;
        }
        let now = now_ms();
        if now < fire + SECOND / 2 {
            break;
        }
        fire = now - now % SECOND + SECOND;
    }
    Ok(fire)
}

/// Waits for a complete fire that is not before another one.
async fn complete(cast: &Cast<'_>, job: &str, total: u32, wanted: i64) -> Result<i64, Failure> {
    let ahead = u64::try_from(wanted - now_ms()).unwrap_or(0);
    let expected = format!("every item of a fire at or after {}", super::account::at(wanted));
    let found = cast.log.wait(RECOVERY + Duration::from_millis(ahead), expected, |log| {
        let account = Account::of(job, log);
        match account.last_complete(total) {
            Some(fire) if fire >= wanted => Ok(fire),
            last => {
                let last = last.map_or("none".to_owned(), super::account::at);
                Err(format!("the last complete fire is {last}; then:\n{}", account.tail(4)))
            }
        }
    });
    let nodes = || cast.nodes().draw(&format!("/{job}"));
    found.await.map_err(|failure| failure.after_all_found(&nodes()))
}

/// Waits until a worker begins a run of which this is true, and returns it with the time.
pub(super) async fn begins(
    cast: &Cast<'_>,
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
            last = format!("its last run is {run:?} at {}", super::account::at(at));
        }
        Err(last)
    };
    cast.log.wait(limit, expected, look).await
}

/// Waits until a Java worker is done with a fire that was due after a time, and returns it.
pub(super) async fn completes(
    cast: &Cast<'_>,
    who: &str,
    job: &str,
    after: i64,
) -> Result<i64, Failure> {
    let expected =
        format!("{who} is done with a fire of {job} after {}", super::account::at(after));
    let look = |log: &[Entry]| {
        let mut mine = log.iter().filter(|entry| &*entry.who == who);
        let done = |entry: &Entry| {
            entry.completed().filter(|(of, fire)| *of == job && *fire > after).map(|(_, fire)| fire)
        };
        mine.find_map(done).ok_or_else(|| "it is not".to_owned())
    };
    cast.log.wait(RECOVERY, expected, look).await
}

/// Waits until a worker has ended these items of a fire.
pub(super) async fn ends(
    cast: &Cast<'_>,
    who: &str,
    job: &str,
    items: &[u32],
    fire: i64,
) -> Result<(), Failure> {
    let at = super::account::at(fire);
    let expected = format!("{who} ends the items {items:?} of {job} of fire {at}");
    let look = |log: &[Entry]| {
        let mine = log.iter().filter(|entry| &*entry.who == who);
        let runs: Vec<&Run> = mine.filter_map(Entry::ended).filter(|run| run.job == job).collect();
        let has_ended = |item: &u32| runs.iter().any(|run| (run.item, run.fire) == (*item, fire));
        if items.iter().all(has_ended) { Ok(()) } else { Err("it has not".to_owned()) }
    };
    cast.log.wait(RECOVERY, expected, look).await
}

/// Tells a worker to hold an item, and waits until it is in the middle of it; returns the run.
pub(super) async fn hold(
    cast: &Cast<'_>,
    worker: &Worker,
    job: &str,
    item: u32,
) -> Result<Run, Failure> {
    worker.work(job, 0, &[item]).await?;
    held(cast, worker.name(), job, &[item], now_ms()).await
}

/// Waits until a worker that was told to hold some items before a time is in the middle of one of them, and returns the run. Of one
/// that began before nobody can tell from its beginning whether it is held, so that it must not have ended for a while. A worker
/// that begins several at once can be told between two of them: it then holds the later one, and never begins the other again.
pub(super) async fn held(
    cast: &Cast<'_>,
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
    cast.log
        .wait(RECOVERY, format!("{who} in the middle of one of the items {items:?} of {job}"), look)
        .await
}

/// Returns what the average strategy gives to whom: instances in descending order, as Java's leaders list them.
pub(super) fn average(job: &str, total: u32, instances: &[&str]) -> BTreeMap<u32, String> {
    let mut ids: Vec<InstanceId> = instances.iter().map(|id| InstanceId::new(*id)).collect();
    ids.sort_by(|a, b| b.cmp(a));
    let assignment = AverageAllocation.assign(&StrategyInput::new(job, &ids, total));
    let owner = |item| assignment.owner(ShardingItem::new(item)).map(ToString::to_string);
    (0..total).filter_map(|item| Some((item, owner(item)?))).collect()
}

/// Returns the items that an instance owns.
pub(super) fn items_of(cast: &Cast<'_>, job: &str, instance: &str) -> Vec<u32> {
    let owners = cast.nodes().owners(job);
    owners.into_iter().filter(|(_, owner)| owner == instance).map(|(item, _)| item).collect()
}
