//! A configuration that one language changes is followed by the other.

use std::time::Duration;

use serde_json::Value;

use super::Setting;
use super::common::{RECOVERY, assigned, begins, items_of, next_fire, now_ms};
use crate::protocol::{JobPlan, Run};
use crate::stage::{Cast, Entry, Failure, Kind, Worker};
use crate::suite::Report;

const JOB: &str = "configuring";
const BOTH: [&str; 2] = ["java", "rust"];
/// Longer than the loss of a session.
const PERIOD: Duration = Duration::from_secs(15);

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.theatre.cast(setting.namespace).await?;
    let workers = [
        (Kind::Rust, "rust", 1),
        (Kind::Java, "java", 1),
        (Kind::Rust, "rustChanges", 2),
        (Kind::Java, "operator", 4),
    ];
    let [rust, java, changer, operator] = cast.all(workers).await?;
    let mut plan = JobPlan::new(JOB, 2);
    "0=A,1=B".clone_into(&mut plan.item_parameters);
    "before".clone_into(&mut plan.job_parameter);
    let (rust_id, java_id) = (rust.schedule(&plan).await?, java.schedule(&plan).await?);
    assigned(&cast, JOB, 2, &[&rust_id, &java_id]).await?;
    next_fire(&cast, JOB, 2).await?;

    let changes = Changes { cast: &cast, operator: &operator };
    changes.parameters(report).await?;
    changes.total(&[&rust_id, &java_id], report).await?;
    changes.cron(report).await?;
    changes.ours(&changer, &plan, report).await?;
    assigned(&cast, JOB, 3, &[&rust_id, &java_id]).await?;
    changes.failover(&java, &java_id, report).await?;
    rust.leave().await?;
    operator.leave().await?;
    cast.tree.close().await
}

struct Changes<'a> {
    cast: &'a Cast<'a>,
    operator: &'a Worker,
}

impl Changes<'_> {
    async fn configure(&self, change: &[(&str, &str)]) -> Result<(), Failure> {
        let arguments: Vec<_> =
            std::iter::once(("job", JOB)).chain(change.iter().copied()).collect();
        self.operator.call("configure", &arguments).await.map(drop)
    }

    /// Waits until each of the workers begins a run of which this is true.
    async fn followed(
        &self,
        workers: &[&str],
        what: &str,
        matches: impl Fn(&Run) -> bool,
        report: &mut Report,
    ) -> Result<(), Failure> {
        for who in workers {
            let (run, _) = begins(self.cast, RECOVERY, who, what, |run, _| matches(run)).await?;
            let found = format!("item {} of {} for {:?}", run.item, run.total, run.parameter);
            report.holds(&format!("{who} begins {what}"), what, &found, true);
        }
        Ok(())
    }

    /// Waits until a worker has ended these items of a fire.
    async fn ended(&self, who: &str, items: &[u32], fire: i64) -> Result<(), Failure> {
        let expected = format!("{who} ends items {items:?} of fire {fire}");
        let ended = self.cast.log.wait(RECOVERY, expected, |log| {
            let mine = log.iter().filter(|entry| &*entry.who == who);
            let runs: Vec<&Run> = mine.filter_map(Entry::ended).collect();
            let has_ended =
                |item: &u32| runs.iter().any(|run| (run.item, run.fire) == (*item, fire));
            if items.iter().all(has_ended) { Ok(()) } else { Err("it has not".to_owned()) }
        });
        ended.await
    }

    async fn parameters(&self, report: &mut Report) -> Result<(), Failure> {
        self.configure(&[("jobParameter", "after <&> = 'x'"), ("itemParameters", "0=C,1=D")])
            .await?;
        let what = "a run with the new parameters";
        let matches = |run: &Run| {
            let parameter = if run.item == 0 { "C" } else { "D" };
            run.job_parameter == "after <&> = 'x'" && run.parameter.as_deref() == Some(parameter)
        };
        self.followed(&BOTH, what, matches, report).await
    }

    async fn total(&self, ids: &[&str], report: &mut Report) -> Result<(), Failure> {
        self.configure(&[("total", "4")]).await?;
        self.followed(&BOTH, "a run of 4 items", |run| run.total == 4, report).await?;
        assigned(self.cast, JOB, 4, ids).await?;
        next_fire(self.cast, JOB, 4).await?;
        report.holds("all 4 items run", "a fire of 4 items", "one", true);
        Ok(())
    }

    /// Every second becomes every fifth, at an odd second, so that no fire of the old expression looks like one.
    async fn cron(&self, report: &mut Report) -> Result<(), Failure> {
        self.configure(&[("cron", "3/5 * * * * ?")]).await?;
        // Fires that were due already may still begin.
        let from = now_ms() + 1500;
        let is_new = |run: &Run| run.fire > from;
        for _ in 0..2 {
            self.followed(&BOTH, "a run of a later fire", is_new, report).await?;
        }
        let log = self.cast.log.entries();
        let runs = log.iter().filter_map(|entry| Some((&entry.who, entry.begun()?)));
        let scheduled = runs.filter(|(_, run)| run.fire > from && run.source != "MANUAL");
        let wrong: Vec<_> = scheduled.filter(|(_, run)| run.fire / 1000 % 5 != 3).collect();
        let found = format!("{wrong:?}");
        report.holds("fires of the new expression", "every fifth second", &found, wrong.is_empty());
        Ok(())
    }

    /// A Rust worker that overwrites the configuration joins and leaves again.
    async fn ours(
        &self,
        changer: &Worker,
        plan: &JobPlan,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let mut plan = JobPlan { overwrite: true, total: 3, ..plan.clone() };
        "0=E,1=F,2=G".clone_into(&mut plan.item_parameters);
        "ours".clone_into(&mut plan.job_parameter);
        changer.schedule(&plan).await?;
        let is_of_new_cron = |run: &Run| run.fire / 1000 % 5 != 3;
        let matches =
            |run: &Run| run.total == 3 && run.job_parameter == "ours" && is_of_new_cron(run);
        self.followed(&["java"], "a run of our configuration", matches, report).await?;
        changer.leave().await?;
        let read = self.operator.call("config", &[("job", JOB)]).await?;
        let seen = ["cron", "shardingTotalCount", "shardingItemParameters", "jobParameter"]
            .map(|field| read.get(field).cloned().unwrap_or(Value::Null));
        let wanted: [Value; 4] =
            [plan.cron.into(), 3.into(), plan.item_parameters.into(), "ours".into()];
        report.same("our configuration as Java's API reads it", &wanted, &seen);
        Ok(())
    }

    /// Failover is switched on; then the Java worker is killed in the middle of an item.
    async fn failover(
        &self,
        java: &Worker,
        java_id: &str,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let cron = format!("0/{} * * * * ?", PERIOD.as_secs());
        self.configure(&[("failover", "true"), ("cron", &cron)]).await?;
        // The next fire is far away then: what is held from here on is held before it comes.
        let items = items_of(self.cast, JOB, java_id);
        let from = now_ms();
        let is_new = |run: &Run, _| run.fire > from && is_of(PERIOD, run);
        let what = "a run of the slower schedule";
        let (new, _) = begins(self.cast, RECOVERY, "java", what, is_new).await?;
        self.ended("java", &items, new.fire).await?;
        let from = now_ms();
        java.work(JOB, 0, &items).await?;
        let what = "an item that is held";
        let held = begins(self.cast, PERIOD * 2, "java", what, |run, _| run.fire > from);
        let (run, began) = held.await?;
        java.kill().await?;
        let limit = run.fire + 14_500;
        let what = format!("item {} before the next fire", run.item);
        let taken = begins(self.cast, PERIOD, "rust", &what, |taken, at| {
            taken.item == run.item && at > began && at < limit
        });
        let (taken, at) = taken.await?;
        let found = format!("after {} ms, source {}", at - began, taken.source);
        let is_takeover = taken.source == "FAILOVER";
        report.holds("Rust takes over once failover is on", "source FAILOVER", &found, is_takeover);
        Ok(())
    }
}

/// Tells whether a run is for one of the fires that come once in a period.
fn is_of(period: Duration, run: &Run) -> bool {
    u128::try_from(run.fire).is_ok_and(|fire| fire.is_multiple_of(period.as_millis()))
}
