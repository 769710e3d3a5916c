//! Rust joins a Java cluster: it gets its items by the same strategy, and every fire of every item runs once.

use std::collections::BTreeMap;
use std::time::Duration;

use sharding::{AverageAllocation, InstanceId, ShardingItem, ShardingStrategy, StrategyInput};

use super::Setting;
use super::account::{Account, SECOND};
use crate::protocol::JobPlan;
use crate::stage::{Cast, Failure, Kind, PATIENCE};
use crate::suite::Report;

const JOB: &str = "joining";
const TOTAL: u32 = 6;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.theatre.cast(setting.namespace).await?;
    let [a, b, rust] =
        cast.all([(Kind::Java, "javaA", 1), (Kind::Java, "javaB", 2), (Kind::Rust, "rust", 3)]).await?;
    let job = JobPlan::new(JOB, TOTAL);
    let java = [a.schedule(&job).await?, b.schedule(&job).await?];
    assigned(&cast, &java).await?;
    let from = fires(&cast, 0, 3).await?;

    let mut all = java.to_vec();
    all.push(rust.schedule(&job).await?);
    let expected = average(JOB, TOTAL, &all);
    assigned(&cast, &all).await?;
    report.same("items after Rust has joined", &expected, &cast.nodes().owners(JOB));
    let to = fires(&cast, from, 8).await?;
    let account = Account::of(JOB, &cast.log.entries());
    account.judge("fires while Rust joins", TOTAL, from, to, report);
    let n_runs = account.n_runs_of("rust", from);
    report.holds("runs of Rust", "at least 10", &n_runs.to_string(), n_runs >= 10);

    rust.leave().await?;
    assigned(&cast, &java).await?;
    report.same("items after Rust has left", &average(JOB, TOTAL, &java), &cast.nodes().owners(JOB));
    let end = fires(&cast, to, 5).await?;
    let account = Account::of(JOB, &cast.log.entries());
    account.judge("fires while Rust leaves", TOTAL, to, end, report);
    a.leave().await?;
    b.leave().await?;
    cast.tree.close().await
}

/// Waits until the items of the job belong to exactly these instances, and to all of them.
async fn assigned(cast: &Cast<'_>, instances: &[String]) -> Result<(), Failure> {
    let mut wanted = instances.to_vec();
    wanted.sort();
    let expected = format!("the items belong to {wanted:?}");
    cast.tree
        .wait(PATIENCE, expected, |nodes| {
            let owners = nodes.owners(JOB);
            let mut present: Vec<String> = owners.values().cloned().collect();
            present.sort();
            present.dedup();
            match present == wanted && owners.len() == TOTAL as usize {
                true => Ok(()),
                false => Err(format!("{owners:?}; all nodes:\n{}", nodes.draw(&format!("/{JOB}")))),
            }
        })
        .await
}

/// Waits until so many fires after one have run completely, and returns the last of them.
async fn fires(cast: &Cast<'_>, after: i64, n: i64) -> Result<i64, Failure> {
    let first = match after {
        0 => cast.log.wait(PATIENCE, "a complete fire", |log| complete(log, 1)).await?,
        fire => fire,
    };
    let wanted = first + n * SECOND;
    let expected = format!("{n} more complete fires");
    let limit = PATIENCE + Duration::from_secs(u64::try_from(n).unwrap_or(0));
    cast.log.wait(limit, expected, |log| complete(log, wanted)).await
}

/// Returns the last complete fire if it is not before `wanted`.
fn complete(log: &[crate::stage::Entry], wanted: i64) -> Result<i64, String> {
    match Account::of(JOB, log).last_complete(TOTAL) {
        Some(fire) if fire >= wanted => Ok(fire),
        last => Err(format!("the last complete fire is {last:?}")),
    }
}

/// Returns what the average strategy gives to whom: instances in descending order, as Java's leaders list them.
fn average(job: &str, total: u32, instances: &[String]) -> BTreeMap<u32, String> {
    let mut ids: Vec<InstanceId> = instances.iter().map(|id| InstanceId::new(id.as_str())).collect();
    ids.sort_by(|a, b| b.cmp(a));
    let assignment = AverageAllocation.assign(&StrategyInput::new(job, &ids, total));
    let owner = |item| assignment.owner(ShardingItem::new(item)).map(ToString::to_string);
    (0..total).filter_map(|item| Some((item, owner(item)?))).collect()
}
