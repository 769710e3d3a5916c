//! What checks have in common: waiting for assignments and fires, and what a strategy should give.

use std::collections::BTreeMap;
use std::time::Duration;

use sharding::{AverageAllocation, InstanceId, ShardingItem, ShardingStrategy, StrategyInput};

use super::account::{Account, SECOND};
use crate::protocol::Run;
use crate::stage::{Cast, Entry, Failure, PATIENCE};
use crate::suite::Report;

/// How long a cluster may take to get over the loss of a member: the session, an election, a resharding.
pub(super) const RECOVERY: Duration = Duration::from_secs(20);

/// How long a run that does not end by itself must not have ended, in milliseconds.
pub(super) const HELD_FOR: i64 = 500;

/// Waits until the items of a job belong to exactly these instances, and to all of them, and nobody is about to assign them
/// anew: owners that were written together are seen one after the other, and the flag goes after them.
pub(super) async fn assigned(
    cast: &Cast<'_>,
    job: &str,
    total: u32,
    instances: &[impl AsRef<str>],
) -> Result<(), Failure> {
    let mut wanted: Vec<String> = instances.iter().map(|id| id.as_ref().to_owned()).collect();
    wanted.sort();
    let expected = format!("the {total} items belong to {wanted:?}");
    let look = |nodes: &crate::stage::Nodes| {
        let owners = nodes.owners(job);
        let mut present: Vec<String> = owners.values().cloned().collect();
        present.sort();
        present.dedup();
        let is_flagged = |flag| nodes.has(&format!("/{job}/leader/sharding/{flag}"));
        let settled = !is_flagged("necessary") && !is_flagged("processing");
        match settled && present == wanted && owners.keys().copied().eq(0..total) {
            true => Ok(()),
            false => Err(format!("{owners:?}; all nodes:\n{}", nodes.draw(&format!("/{job}")))),
        }
    };
    match cast.tree.wait(REMINDED_AFTER, &*expected, look).await {
        Err(Failure::Deadline { .. }) if remind_java(cast, job).await? => {
            cast.tree.wait(PATIENCE, expected, look).await
        }
        Err(Failure::Deadline { .. }) => cast.tree.wait(PATIENCE, expected, look).await,
        settled => settled,
    }
}

/// How long a Java leader may take to assign items before an operator reminds it.
const REMINDED_AFTER: Duration = Duration::from_secs(10);

/// A Java leader of 3.x forgets that somebody has joined if it sees that before it sees that it leads, or while it assigns
/// items already. What an operator then does is to enable a server that is enabled: Java takes that for a change. Returns
/// whether a Java instance leads.
async fn remind_java(cast: &Cast<'_>, job: &str) -> Result<bool, Failure> {
    let nodes = cast.nodes();
    let leader = nodes.leader(job).unwrap_or_default();
    let data = nodes.text(&format!("/{job}/instances/{leader}")).unwrap_or_default();
    if leader.is_empty() || data.contains("RUST") {
        return Ok(false);
    }
    Report::remark(&format!(
        "{leader}, which is Java's, has forgotten to assign the items of {job}"
    ));
    let ip = leader.split("@-@").next().unwrap_or_default();
    let server = format!("/{job}/servers/{ip}");
    cast.tree.put(&server, &nodes.text(&server).unwrap_or_default()).await?;
    Ok(true)
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

/// Waits until a worker that was told to hold an item is in the middle of it, and returns the run: of a run that began before
/// the order came nobody can tell from its beginning whether it is held, so that it must not have ended for a while.
pub(super) async fn held(cast: &Cast<'_>, who: &str, job: &str, item: u32) -> Result<Run, Failure> {
    let look = |log: &[Entry]| {
        let now = log.last().map_or(0, |entry| entry.fact.at);
        let mine = || log.iter().filter(|entry| &*entry.who == who);
        let mut runs = mine().filter_map(|entry| Some((entry.begun()?, entry.fact.at)));
        let last = runs.rfind(|(run, _)| run.job == job && run.item == item);
        let Some((run, began)) = last else { return Err("no run".to_owned()) };
        let has_ended = mine().filter_map(Entry::ended).any(|ended| ended.run == run.run);
        match !has_ended && now >= began + HELD_FOR {
            true => Ok(run.clone()),
            false => Err(format!("its last run is {run:?} at {}", super::account::at(began))),
        }
    };
    cast.log.wait(RECOVERY, format!("{who} in the middle of item {item}"), look).await
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

/// Returns the time by this machine's clock, in milliseconds since 1970 UTC.
pub(super) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}
