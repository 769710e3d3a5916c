//! Misfires and disabled items are respected across languages.

use std::time::Duration;

use coordination::{JobName, Layout};
use serde_json::Value;
use sharding::ShardingItem;

use super::Setting;
use super::common::{RECOVERY, assigned, begins, held, items_of, next_fire, now_ms};
use crate::protocol::{JobPlan, Run};
use crate::stage::{Cast, Failure, Kind, Worker};
use crate::suite::Report;

const JOB: &str = "misfiring";
const TOTAL: u32 = 4;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.theatre.cast(setting.namespace).await?;
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

    disabled(&cast, &operator, (of_rust[0], of_rust[1]), (of_java[0], of_java[1]), report).await?;
    let by_rust = replayed_by_itself(&cast, &rust, &java, of_rust[0], report).await;
    report.part(by_rust);
    let by_java = replayed_by_itself(&cast, &java, &rust, of_java[0], report).await;
    report.part(by_java);

    let by_heir = Heirs { cast: &cast, rust: &rust, java: &java, heir: &heir };
    let outcome = by_heir.of_rust(of_rust[1], &java_id, report).await;
    report.part(outcome);
    by_heir.of_java(&plan, &java_id, report).await?;
    heir.leave().await?;
    operator.leave().await?;
    cast.tree.close().await
}

/// Who makes up for the misfires of those who are lost.
struct Heirs<'a> {
    cast: &'a Cast<'a>,
    rust: &'a Worker,
    java: &'a Worker,
    heir: &'a Worker,
}

impl Heirs<'_> {
    /// The misfire of a lost Rust worker is Java's to make up for.
    async fn of_rust(&self, item: u32, java_id: &str, report: &mut Report) -> Result<(), Failure> {
        hold_over_fires(self.cast, self.rust, self.java, item).await?;
        let marked = flagged(self.cast, item, true).await;
        self.rust.kill().await?;
        marked?;
        replayed(self.cast, "java", item, report).await?;
        assigned(self.cast, JOB, TOTAL, &[java_id]).await
    }

    /// The misfire of a lost Java worker is Rust's to make up for. Java notes what it has missed when the long run is
    /// over, and replays it within its next fire, unless it is lost in between.
    async fn of_java(
        &self,
        plan: &JobPlan,
        java_id: &str,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let heir_id = self.heir.schedule(plan).await?;
        assigned(self.cast, JOB, TOTAL, &[java_id, &*heir_id]).await?;
        next_fire(self.cast, JOB, TOTAL).await?;
        let item = items_of(self.cast, JOB, java_id)[0];
        hold_over_fires(self.cast, self.java, self.heir, item).await?;
        self.java.work(JOB, 0, &[]).await?;
        flagged(self.cast, item, true).await?;
        self.java.kill().await?;
        replayed(self.cast, "rustHeir", item, report).await
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
    // Fires that were due already may still begin.
    let from = now_ms() + 1500;
    others_go_on(cast, of_rust.1, of_java.1, from + 3000).await?;
    let log = cast.log.entries();
    let runs = log.iter().filter_map(|entry| Some((&*entry.who, entry.begun()?)));
    let wrong: Vec<_> = runs
        .filter(|(_, run)| [of_rust.0, of_java.0].contains(&run.item) && run.fire > from)
        .map(|(who, run)| format!("{who} ran item {} ({})", run.item, run.source))
        .collect();
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

/// Waits until both workers have run their other items for a fire not before `until`.
async fn others_go_on(cast: &Cast<'_>, rust: u32, java: u32, until: i64) -> Result<(), Failure> {
    for (who, item) in [("rust", rust), ("java", java)] {
        let what = format!("item {item}, which is not disabled");
        begins(cast, RECOVERY, who, &what, |run, _| run.item == item && run.fire >= until).await?;
    }
    Ok(())
}

/// Keeps an item of a worker running over at least two fires, which the other worker runs.
async fn hold_over_fires(
    cast: &Cast<'_>,
    worker: &Worker,
    other: &Worker,
    item: u32,
) -> Result<(), Failure> {
    worker.work(JOB, 0, &[item]).await?;
    let held = held(cast, worker.name(), JOB, item).await?;
    let what = "a fire that the held item misses";
    begins(cast, RECOVERY, other.name(), what, |run, _| run.fire >= held.fire + 2000)
        .await
        .map(drop)
}

/// Waits until an item is marked as misfired, or not.
async fn flagged(cast: &Cast<'_>, item: u32, is: bool) -> Result<(), Failure> {
    let path = format!("/{JOB}/sharding/{item}/misfire");
    let expected = format!("{path} {}", if is { "is there" } else { "is gone" });
    let seen =
        cast.tree.wait(Duration::from_secs(10), expected, |nodes| match nodes.has(&path) == is {
            true => Ok(()),
            false => Err(nodes.draw(&format!("/{JOB}/sharding"))),
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
    hold_over_fires(cast, worker, other, item).await?;
    worker.work(JOB, 0, &[]).await?;
    replayed(cast, worker.name(), item, report).await?;
    next_fire(cast, JOB, TOTAL).await.map(drop)
}

/// Expects one run that makes up for misfires, and that the mark goes.
async fn replayed(
    cast: &Cast<'_>,
    who: &str,
    item: u32,
    report: &mut Report,
) -> Result<(), Failure> {
    let makes_up = |run: &Run| run.item == item && matches!(&*run.source, "misfire" | "MISFIRE");
    let what = format!("item {item} to make up for its misfires");
    begins(cast, RECOVERY, who, &what, |run, _| makes_up(run)).await?;
    flagged(cast, item, false).await?;
    next_fire(cast, JOB, TOTAL).await?;
    let log = cast.log.entries();
    let runs = log.iter().filter(|entry| &*entry.who == who).filter_map(|entry| entry.begun());
    report.same(
        &format!("runs of {who} to make up for misfires of item {item}"),
        &1,
        &runs.filter(|run| makes_up(run)).count(),
    );
    Ok(())
}
