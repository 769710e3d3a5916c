//! Misfires and disabled items are respected across languages.

use std::collections::BTreeSet;
use std::time::Duration;

use coordination::{JobName, Layout};
use serde_json::Value;
use sharding::ShardingItem;

use super::Setting;
use super::account::{Account, Replays, SECOND, at, is_replay};
use super::common::{RECOVERY, assigned, begins, ends, held, hold, items_of, next_fire, now_ms};
use crate::protocol::{JobPlan, Run};
use crate::stage::{Cast, Entry, Failure, Kind, Worker};
use crate::suite::Report;

const JOB: &str = "misfiring";
const TOTAL: u32 = 4;
/// A job with long pauses between its fires: whoever notes a misfire can be killed before the next one.
const SLOW: &str = "misfiringSlowly";
const SLOW_TOTAL: u32 = 2;
const PERIOD: Duration = Duration::from_secs(10);

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.cast().await?;
    let workers = [
        (Kind::Rust, "rust", 1),
        (Kind::Java, "java", 2),
        (Kind::Rust, "rustHeir", 3),
        (Kind::Java, "operator", 4),
    ];
    let [rust, java, heir, operator] = cast.all(workers).await?;
    let plan = JobPlan::new(JOB, TOTAL);
    let (rust_id, java_id) = (rust.schedule(&plan).await?, java.schedule(&plan).await?);
    assigned(&cast, JOB, TOTAL, &[&rust_id, &java_id]).await?;
    next_fire(&cast, JOB, TOTAL).await?;
    let (of_rust, of_java) = (items_of(&cast, JOB, &rust_id), items_of(&cast, JOB, &java_id));

    // Java leads.
    let slow = JobPlan {
        cron: format!("0/{} * * * * ?", PERIOD.as_secs()),
        ..JobPlan::new(SLOW, SLOW_TOTAL)
    };
    let slow_ids = [java.schedule(&slow).await?, heir.schedule(&slow).await?];

    disabled(&cast, &operator, (of_rust[0], of_rust[1]), (of_java[0], of_java[1]), report).await?;
    let by_rust = replayed_by_itself(&cast, &rust, &java, of_rust[0], report).await;
    report.part(by_rust);
    let by_java = replayed_by_itself(&cast, &java, &rust, of_java[0], report).await;
    report.part(by_java);

    let by_heir = Heirs { cast: &cast, rust: &rust, java: &java };
    let item = by_heir.hold_slowly(&slow_ids).await?;
    let outcome = by_heir.of_rust(of_rust[1], &java_id, report).await;
    report.part(outcome);
    by_heir.of_java(item, report).await?;
    heir.leave().await?;
    operator.leave().await?;
    cast.tree.close().await
}

/// Who makes up for the misfires of those who are lost.
struct Heirs<'a> {
    cast: &'a Cast<'a>,
    rust: &'a Worker,
    java: &'a Worker,
}

impl Heirs<'_> {
    /// The misfire of a lost Rust worker is Java's to make up for.
    async fn of_rust(&self, item: u32, java_id: &str, report: &mut Report) -> Result<(), Failure> {
        let held = hold_over_fires(self.cast, self.rust, self.java, item).await?;
        let marked = flagged(self.cast, JOB, item, true).await;
        self.rust.kill().await?;
        marked?;
        replayed(self.cast, "java", item, held, report).await?;
        assigned(self.cast, JOB, TOTAL, &[java_id]).await
    }

    /// Tells Java to hold its item of the job with long pauses from the next fire on, and returns the item.
    async fn hold_slowly(&self, [java_id, heir_id]: &[String; 2]) -> Result<u32, Failure> {
        assigned(self.cast, SLOW, SLOW_TOTAL, &[java_id, heir_id]).await?;
        let item = items_of(self.cast, SLOW, java_id)[0];
        self.java.work(SLOW, 0, &[item]).await?;
        Ok(item)
    }

    /// The misfire of a lost Java worker is Rust's to make up for. Java notes what it has missed when the long run is
    /// over, and replays it within its next fire, unless it is lost in between: it is released right after a fire that it
    /// has missed.
    async fn of_java(&self, item: u32, report: &mut Report) -> Result<(), Failure> {
        let held = held(self.cast, "java", SLOW, &[item], now_ms()).await?;
        let now = now_ms();
        let missed = |run: &Run, _| run.job == SLOW && run.fire > held.fire && run.fire > now;
        let what = "a fire that the held item misses";
        begins(self.cast, RECOVERY, "rustHeir", what, missed).await?;
        self.java.work(SLOW, 0, &[]).await?;
        ends(self.cast, "java", SLOW, &[item], held.fire).await?;
        flagged(self.cast, SLOW, item, true).await?;
        self.java.kill().await?;
        let killed = now_ms();
        let is_next = |run: &Run, at| run.job == SLOW && run.item == item && at > killed;
        let what = format!("item {item} of {SLOW} to make up for its misfires");
        let (run, at) = begins(self.cast, RECOVERY, "rustHeir", &what, is_next).await?;
        let is_merged = run.merged_from.is_some_and(|first| first < run.fire);
        let found = format!("{} merged from {:?}", run.source, run.merged_from);
        let expected = "MISFIRE, or merged with what was missed";
        let makes_up = is_replay(&run.source) || is_merged;
        report.holds(&format!("rustHeir begins {what}"), expected, &found, makes_up);
        let later = |run: &Run, _| run.job == SLOW && run.item == item && run.fire > at;
        begins(self.cast, RECOVERY, "rustHeir", "the next fire of the item", later).await?;
        let log = self.cast.log.entries();
        let runs = log.iter().filter(|entry| &*entry.who == "rustHeir").filter_map(Entry::begun);
        let replays = runs.filter(|run| run.job == SLOW && is_replay(&run.source));
        let n = replays.filter(|run| run.item == item).count();
        let what = format!("runs of rustHeir to make up for misfires of item {item} of {SLOW}");
        report.same(&what, &usize::from(!is_merged), &n);
        flagged(self.cast, SLOW, item, false).await
    }
}

/// Java's API disables a Rust item, ours a Java item; of each worker, the other item goes on.
async fn disabled(
    cast: &Cast<'_>,
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
    cast.tree.commit(set(true)).await?;
    let changed = now_ms();
    let mut wrong = Vec::new();
    for (who, item, other) in [("rust", of_rust.0, of_rust.1), ("java", of_java.0, of_java.1)] {
        let start = left_out(cast, who, item, other, changed).await?;
        let found = format!("from {} on, {} ms after it was disabled", at(start), start - changed);
        report.holds(&format!("{who} leaves out item {item}"), "soon", &found, true);
        let what = format!("item {other}, which is not disabled");
        let goes_on =
            |run: &Run, _| run.job == JOB && run.item == other && run.fire >= start + 3 * SECOND;
        begins(cast, RECOVERY, who, &what, goes_on).await?;
        let log = cast.log.entries();
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
    cast.tree.commit(set(false)).await?;
    let enabled = now_ms();
    for (who, item) in [("rust", of_rust.0), ("java", of_java.0)] {
        let what = format!("item {item} once it is enabled again");
        let (run, _) =
            begins(cast, RECOVERY, who, &what, |run, at| run.item == item && at > enabled).await?;
        report.holds(&what, "a run", &format!("one by {who}, source {}", run.source), true);
    }
    next_fire(cast, JOB, TOTAL).await.map(drop)
}

/// Waits until a worker has run its other item, but not this one, for a fire after a time, and returns that fire: those that
/// were due already when the item was disabled may still begin.
async fn left_out(
    cast: &Cast<'_>,
    who: &str,
    item: u32,
    other: u32,
    changed: i64,
) -> Result<i64, Failure> {
    let expected = format!("{who} runs item {other} and leaves out item {item}");
    let look = |log: &[Entry]| {
        let runs = log.iter().filter(|entry| &*entry.who == who).filter_map(Entry::begun);
        let runs: Vec<&Run> = runs.filter(|run| run.job == JOB && run.fire > changed).collect();
        let has_run = |item, fire| runs.iter().any(|run| (run.item, run.fire) == (item, fire));
        let of_other = runs.iter().filter(|run| run.item == other).map(|run| run.fire);
        let fires: BTreeSet<i64> = of_other.collect();
        // Of the last one nobody knows yet.
        let known = fires.iter().rev().skip(1).rev();
        let mut left_out = known.filter(|fire| !has_run(item, **fire));
        left_out.next().copied().ok_or_else(|| format!("fires {fires:?}, none without item {item}"))
    };
    cast.log.wait(RECOVERY, expected, look).await
}

/// Keeps an item of a worker running over at least two fires, which the other worker runs. Returns the fire that it runs for.
async fn hold_over_fires(
    cast: &Cast<'_>,
    worker: &Worker,
    other: &Worker,
    item: u32,
) -> Result<i64, Failure> {
    let held = hold(cast, worker, JOB, item).await?;
    let what = "a fire that the held item misses";
    let missed = |run: &Run, _| run.job == JOB && run.fire >= held.fire + 2 * SECOND;
    begins(cast, RECOVERY, other.name(), what, missed).await?;
    Ok(held.fire)
}

/// Waits until an item is marked as misfired, or not.
async fn flagged(cast: &Cast<'_>, job: &str, item: u32, is: bool) -> Result<(), Failure> {
    let path = format!("/{job}/sharding/{item}/misfire");
    let expected = format!("{path} {}", if is { "is there" } else { "is gone" });
    let seen = cast.tree.wait(RECOVERY, expected, |nodes| match nodes.has(&path) == is {
        true => Ok(()),
        false => Err(nodes.draw(&format!("/{job}/sharding"))),
    });
    seen.await
}

/// A worker misses fires of an item that still runs, and makes up for them once.
async fn replayed_by_itself(
    cast: &Cast<'_>,
    worker: &Worker,
    other: &Worker,
    item: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let held = hold_over_fires(cast, worker, other, item).await?;
    worker.work(JOB, 0, &[]).await?;
    replayed(cast, worker.name(), item, held, report).await?;
    next_fire(cast, JOB, TOTAL).await.map(drop)
}

/// Expects a run that makes up for the misfires of an item that was held from a fire on, none that makes up for nothing, and
/// that the mark goes. On a busy machine more may be missed, and made up for, later.
async fn replayed(
    cast: &Cast<'_>,
    who: &str,
    item: u32,
    held: i64,
    report: &mut Report,
) -> Result<(), Failure> {
    let makes_up = |run: &Run, _| {
        run.job == JOB && run.item == item && run.fire > held && is_replay(&run.source)
    };
    let what = format!("item {item} to make up for its misfires");
    begins(cast, RECOVERY, who, &what, makes_up).await?;
    flagged(cast, JOB, item, false).await?;
    next_fire(cast, JOB, TOTAL).await?;
    let Replays { n, n_needless } = Account::of(JOB, &cast.log.entries()).replays(item, held);
    let what = format!("runs to make up for misfires of item {item}, by {who}");
    let expected = "at least one, and each for something missed";
    let found = format!("{n}, {n_needless} of them for nothing");
    report.holds(&what, expected, &found, n > 0 && n_needless == 0);
    Ok(())
}
