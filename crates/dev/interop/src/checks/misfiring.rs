//! Misfires and disabled items are respected across languages.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::{JobName, Layout};
use serde_json::Value;
use sharding::ShardingItem;

use super::CheckSetup;
use super::common::{RECOVERY, assigned, begins, ends, held, hold, items_of, next_fire, now_ms};
use super::run_history::{Replays, RunHistory, SECOND, at, is_replay};
use crate::protocol::{JobPlan, Run};
use crate::stage::{CheckEnv, Entry, Failure, Kind, Worker};
use crate::suite::Report;

const JOB: &str = "misfiring";
const TOTAL: u32 = 4;
/// Name of a job with a long period, so that a worker that has noted a misfire can be killed before
/// the next fire.
const SLOW: &str = "misfiringSlowly";
const SLOW_TOTAL: u32 = 2;
const PERIOD: Duration = Duration::from_secs(10);
/// Name of the Rust worker that owns the item of the lost Java worker next.
const SUCCESSOR: &str = "rustSuccessor";

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    let workers = [
        (Kind::Rust, "rust", 1),
        (Kind::Java, "java", 2),
        (Kind::Rust, SUCCESSOR, 3),
        (Kind::Java, "operator", 4),
    ];
    let [rust, java, successor, operator] = env.all(workers).await?;
    let plan = JobPlan::new(JOB, TOTAL);
    let (rust_id, java_id) = (rust.schedule(&plan).await?, java.schedule(&plan).await?);
    assigned(&env, JOB, TOTAL, &[&rust_id, &java_id]).await?;
    next_fire(&env, JOB, TOTAL).await?;
    let (of_rust, of_java) = (items_of(&env, JOB, &rust_id), items_of(&env, JOB, &java_id));

    // Java is the leader of the slow job.
    let slow = JobPlan {
        cron: format!("0/{} * * * * ?", PERIOD.as_secs()),
        ..JobPlan::new(SLOW, SLOW_TOTAL)
    };
    let slow_ids = [java.schedule(&slow).await?, successor.schedule(&slow).await?];

    disabled(&env, &operator, (of_rust[0], of_rust[1]), (of_java[0], of_java[1]), report).await?;
    let by_rust = replayed_by_itself(&env, &rust, &java, of_rust[0], report).await;
    report.part(by_rust);
    let by_java = replayed_by_itself(&env, &java, &rust, of_java[0], report).await;
    report.part(by_java);

    let succession = Succession { env: &env, rust: &rust, java: &java };
    let item = succession.hold_slowly(&slow_ids).await?;
    let outcome = succession.java_replays(of_rust[1], &java_id, report).await;
    report.part(outcome);
    succession.rust_replays(item, report).await?;
    successor.leave().await?;
    operator.leave().await?;
    env.tree.close().await
}

/// Misfires of lost workers, which the next owner replays.
struct Succession<'a> {
    env: &'a CheckEnv<'a>,
    rust: &'a Worker,
    java: &'a Worker,
}

impl Succession<'_> {
    /// Expects that Java replays the misfire of a lost Rust worker.
    async fn java_replays(
        &self,
        item: u32,
        java_id: &str,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let held = hold_over_fires(self.env, self.rust, self.java, item).await?;
        let marked = wait_for_misfire_mark(self.env, JOB, item, true).await;
        self.rust.kill().await?;
        marked?;
        replayed(self.env, "java", item, held, report).await?;
        assigned(self.env, JOB, TOTAL, &[java_id]).await
    }

    /// Orders Java to hold its item of the slow job from the next fire on, and returns the item.
    async fn hold_slowly(&self, [java_id, successor_id]: &[String; 2]) -> Result<u32, Failure> {
        assigned(self.env, SLOW, SLOW_TOTAL, &[java_id, successor_id]).await?;
        let item = items_of(self.env, SLOW, java_id)[0];
        self.java.work(SLOW, 0, &[item]).await?;
        Ok(item)
    }

    /// Expects that Rust replays the misfire of a lost Java worker.
    ///
    /// Java notes a misfire when the long run ends, and replays it during its next fire. The run is
    /// released right after a missed fire, and the worker is killed before the next one.
    async fn rust_replays(&self, item: u32, report: &mut Report) -> Result<(), Failure> {
        let held = held(self.env, "java", SLOW, &[item], now_ms()).await?;
        let now = now_ms();
        let missed = |run: &Run, _| run.job == SLOW && run.fire > held.fire && run.fire > now;
        let what = "a fire that the held item misses";
        begins(self.env, RECOVERY, SUCCESSOR, what, missed).await?;
        self.java.work(SLOW, 0, &[]).await?;
        ends(self.env, "java", SLOW, &[item], held.fire).await?;
        wait_for_misfire_mark(self.env, SLOW, item, true).await?;
        self.java.kill().await?;
        let killed = now_ms();
        let is_next = |run: &Run, at| run.job == SLOW && run.item == item && at > killed;
        let what = format!("a replay of the misfires of item {item} of {SLOW}");
        let (run, at) = begins(self.env, RECOVERY, SUCCESSOR, &what, is_next).await?;
        let is_merged = run.merged_from.is_some_and(|first| first < run.fire);
        let found = format!("{} merged from {:?}", run.source, run.merged_from);
        let expected = "MISFIRE, or merged with the missed fires";
        let is_replayed = is_replay(&run.source) || is_merged;
        report.holds(&format!("{SUCCESSOR} begins {what}"), expected, &found, is_replayed);
        let later = |run: &Run, _| run.job == SLOW && run.item == item && run.fire > at;
        begins(self.env, RECOVERY, SUCCESSOR, "the next fire of the item", later).await?;
        let log = self.env.log.entries();
        let runs = log.iter().filter(|entry| &*entry.who == SUCCESSOR).filter_map(Entry::begun);
        let replays = runs.filter(|run| run.job == SLOW && is_replay(&run.source));
        let n = replays.filter(|run| run.item == item).count();
        let what = format!("replays of misfires of item {item} of {SLOW} by {SUCCESSOR}");
        report.same(&what, &usize::from(!is_merged), &n);
        wait_for_misfire_mark(self.env, SLOW, item, false).await
    }
}

/// Disables an item of each worker: the Rust item by Java's API, the Java item by a Rust
/// transaction.
///
/// The other item of each worker continues to run.
async fn disabled(
    env: &CheckEnv<'_>,
    operator: &Worker,
    of_rust: (u32, u32),
    of_java: (u32, u32),
    report: &mut Report,
) -> Result<(), Failure> {
    let name = JobName::new(JOB).map_err(Failure::unreadable)?;
    let set =
        |disabled| Layout::new(&name).set_item_disabled(ShardingItem::new(of_java.0), disabled);
    let rust_item = of_rust.0.to_string();
    let arguments = [("job", JOB), ("item", &*rust_item)];
    operator.call("disableItem", &arguments).await?;
    env.tree.commit(set(true)).await?;
    let changed = now_ms();
    let mut wrong = Vec::new();
    for (who, item, other) in [("rust", of_rust.0, of_rust.1), ("java", of_java.0, of_java.1)] {
        let start = first_skipped_fire(env, who, item, other, changed).await?;
        let found = format!("from {} on, {} ms after it was disabled", at(start), start - changed);
        report.holds(&format!("{who} skips the disabled item {item}"), "soon", &found, true);
        let what = format!("item {other}, which is not disabled");
        let goes_on =
            |run: &Run, _| run.job == JOB && run.item == other && run.fire >= start + 3 * SECOND;
        begins(env, RECOVERY, who, &what, goes_on).await?;
        let log = env.log.entries();
        let runs = log.iter().filter_map(|entry| Some((&*entry.who, entry.begun()?)));
        let runs = runs.filter(|(_, run)| run.job == JOB && run.item == item && run.fire > start);
        wrong.extend(runs.map(|(who, run)| format!("{who} ran item {item} ({})", run.source)));
    }
    report.same("runs of disabled items", &Vec::new(), &wrong);
    let shardings = operator.call("sharding", &[("job", JOB)]).await?;
    for item in [of_rust.0, of_java.0] {
        let mut shown = shardings.as_array().into_iter().flatten();
        let status = shown.find(|shown| shown["item"] == item).map(|shown| shown["status"].clone());
        let what = format!("status of the disabled item {item} in Java's statistics");
        report.same(&what, &Some(Value::from("DISABLED")), &status);
    }
    operator.call("enableItem", &arguments).await?;
    env.tree.commit(set(false)).await?;
    let enabled = now_ms();
    for (who, item) in [("rust", of_rust.0), ("java", of_java.0)] {
        let what = format!("item {item} after it is enabled again");
        let (run, _) =
            begins(env, RECOVERY, who, &what, |run, at| run.item == item && at > enabled).await?;
        report.holds(&what, "a run", &format!("one by {who}, source {}", run.source), true);
    }
    next_fire(env, JOB, TOTAL).await.map(drop)
}

/// Waits for a fire after `changed` for which a worker runs its other item, but not `item`. Returns
/// the fire.
///
/// Fires that were due before the item was disabled may still begin.
async fn first_skipped_fire(
    env: &CheckEnv<'_>,
    who: &str,
    item: u32,
    other: u32,
    changed: i64,
) -> Result<i64, Failure> {
    let expected = format!("{who} runs item {other} and skips item {item}");
    let look = |log: &[Entry]| {
        let runs = log.iter().filter(|entry| &*entry.who == who).filter_map(Entry::begun);
        let runs: Vec<&Run> = runs.filter(|run| run.job == JOB && run.fire > changed).collect();
        let has_run = |item, fire| runs.iter().any(|run| (run.item, run.fire) == (item, fire));
        let of_other = runs.iter().filter(|run| run.item == other).map(|run| run.fire);
        let fires: BTreeSet<i64> = of_other.collect();
        // The item may still begin for the last fire.
        let known = fires.iter().rev().skip(1).rev();
        let mut skipped = known.filter(|fire| !has_run(item, **fire));
        skipped.next().copied().ok_or_else(|| format!("fires {fires:?}, none without item {item}"))
    };
    env.log.wait(RECOVERY, expected, look).await
}

/// Holds an item of a worker over at least two fires, which the other worker runs. Returns the fire
/// of the held run.
async fn hold_over_fires(
    env: &CheckEnv<'_>,
    worker: &Worker,
    other: &Worker,
    item: u32,
) -> Result<i64, Failure> {
    let held = hold(env, worker, JOB, item).await?;
    let what = "a fire that the held item misses";
    let missed = |run: &Run, _| run.job == JOB && run.fire >= held.fire + 2 * SECOND;
    begins(env, RECOVERY, other.name(), what, missed).await?;
    Ok(held.fire)
}

/// Waits until the misfire mark of an item exists or is removed.
async fn wait_for_misfire_mark(
    env: &CheckEnv<'_>,
    job: &str,
    item: u32,
    exists: bool,
) -> Result<(), Failure> {
    let path = format!("/{job}/sharding/{item}/misfire");
    let expected = format!("{path} {}", if exists { "exists" } else { "is removed" });
    let seen = env.tree.wait(RECOVERY, expected, |nodes| match nodes.has(&path) == exists {
        true => Ok(()),
        false => Err(nodes.draw(&format!("/{job}/sharding"))),
    });
    seen.await
}

/// Expects that a worker replays once the fires that a running item missed.
async fn replayed_by_itself(
    env: &CheckEnv<'_>,
    worker: &Worker,
    other: &Worker,
    item: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let held = hold_over_fires(env, worker, other, item).await?;
    worker.work(JOB, 0, &[]).await?;
    replayed(env, worker.name(), item, held, report).await?;
    next_fire(env, JOB, TOTAL).await.map(drop)
}

/// Expects a replay of the misfires of an item that was held from a fire on, and that the mark is
/// removed.
///
/// A replay without a missed fire fails. On a busy machine later fires can be missed and replayed,
/// too.
async fn replayed(
    env: &CheckEnv<'_>,
    who: &str,
    item: u32,
    held: i64,
    report: &mut Report,
) -> Result<(), Failure> {
    let is_the_replay = |run: &Run, _| {
        run.job == JOB && run.item == item && run.fire > held && is_replay(&run.source)
    };
    let what = format!("a replay of the misfires of item {item}");
    begins(env, RECOVERY, who, &what, is_the_replay).await?;
    wait_for_misfire_mark(env, JOB, item, false).await?;
    next_fire(env, JOB, TOTAL).await?;
    let Replays { n, n_needless } = RunHistory::of(JOB, &env.log.entries()).replays(item, held);
    let what = format!("replays of misfires of item {item} by {who}");
    let expected = "at least one, each after a missed fire";
    let found = format!("{n}, {n_needless} of them without a missed fire");
    report.holds(&what, expected, &found, n > 0 && n_needless == 0);
    Ok(())
}
