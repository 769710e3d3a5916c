//! Configuration changes of one language take effect in the other.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::common::{RECOVERY, assigned, begins, ends, held, items_of, next_fire, now_ms};
use super::run_history::{SECOND, at};
use super::{CheckSetup, zones};
use crate::protocol::{JobPlan, Run};
use crate::stage::{CheckEnv, Entry, Failure, Kind, Worker};
use crate::suite::Report;

const JOB: &str = "configuring";
/// Name of the job whose failover Rust enables.
const FAILING_OVER: &str = "configuringFailover";
const BOTH: [&str; 2] = ["java", "rust"];
/// Time between the fires of the slower schedule, longer than the loss of a session.
const PERIOD: Duration = Duration::from_secs(20);

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    // 2.1.5 takes nothing over from a host without another instance, so that these workers share a
    // host.
    let workers = [
        (Kind::Rust, "rust", 1),
        (Kind::Java, "java", 1),
        (Kind::Rust, "rustKilled", 1),
        (Kind::Rust, "rustChanges", 2),
        (Kind::Java, "operator", 4),
    ];
    let [rust, java, killed, changer, operator] = env.all(workers).await?;
    let mut plan = JobPlan::new(JOB, 2);
    "0=A,1=B".clone_into(&mut plan.item_parameters);
    "before".clone_into(&mut plan.job_parameter);
    let (rust_id, java_id) = (rust.schedule(&plan).await?, java.schedule(&plan).await?);
    assigned(&env, JOB, 2, &[&rust_id, &java_id]).await?;
    next_fire(&env, JOB, 2).await?;

    let changes = Changes { env: &env, operator: &operator };
    changes.parameters(report).await?;
    changes.total(&[&rust_id, &java_id], report).await?;
    changes.cron(report).await?;
    changes.overwritten_by_rust(&changer, &plan, report).await?;
    assigned(&env, JOB, 3, &[&rust_id, &java_id]).await?;
    // The first fire of the slower schedule passes in between.
    let slower_from = changes.switch_failover_on().await?;
    let by_rust = changes.failover_by_rust(&java, &killed, changer, report).await;
    report.part(by_rust);
    changes.failover_by_java(&java, &java_id, slower_from, report).await?;
    rust.leave().await?;
    operator.leave().await?;
    zones::check(&env, report).await?;
    env.tree.close().await
}

struct Changes<'a> {
    env: &'a CheckEnv<'a>,
    operator: &'a Worker,
}

impl Changes<'_> {
    async fn configure(&self, change: &[(&str, &str)]) -> Result<(), Failure> {
        let arguments: Vec<_> =
            std::iter::once(("job", JOB)).chain(change.iter().copied()).collect();
        self.operator.call("configure", &arguments).await.map(drop)
    }

    /// Waits until each of the workers begins a run that matches.
    async fn followed(
        &self,
        workers: &[&str],
        what: &str,
        matches: impl Fn(&Run) -> bool,
        report: &mut Report,
    ) -> Result<(), Failure> {
        for who in workers {
            let (run, _) = begins(self.env, RECOVERY, who, what, |run, _| matches(run)).await?;
            let found = format!("item {} of {} for {:?}", run.item, run.total, run.parameter);
            report.holds(&format!("{who} begins {what}"), what, &found, true);
        }
        Ok(())
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
        assigned(self.env, JOB, 4, ids).await?;
        next_fire(self.env, JOB, 4).await?;
        report.holds("all 4 items run", "a fire of 4 items", "a fire of 4 items", true);
        Ok(())
    }

    /// Changes the schedule from every second to every fifth.
    ///
    /// A worker follows the change from the first of its fires that is five seconds before the
    /// next.
    async fn cron(&self, report: &mut Report) -> Result<(), Failure> {
        self.configure(&[("cron", "3/5 * * * * ?")]).await?;
        let changed = now_ms();
        let mut starts = BTreeMap::new();
        for who in BOTH {
            let expected = format!("{who} runs two fires of the new expression and none between");
            let start = self.env.log.wait(RECOVERY, expected, |log| {
                let fires = fires_of(who, changed, log);
                let new = fires.windows(2).find(|two| is_new(two[0]) && two[1] == two[0] + STEP);
                new.map(|two| two[0]).ok_or_else(|| {
                    let fires: Vec<String> = fires.iter().map(|fire| at(*fire)).collect();
                    format!("fires {fires:?}")
                })
            });
            let start = start.await?;
            let found = format!("from {} on, {} ms after the change", at(start), start - changed);
            report.holds(&format!("{who} follows the new expression"), "soon", &found, true);
            starts.insert(who, start);
        }
        for (who, start) in &starts {
            let later = |run: &Run, _| run.fire > start + STEP && run.source != "MANUAL";
            begins(self.env, RECOVERY, who, "a run of a later fire", later).await?;
        }
        let log = self.env.log.entries();
        let wrong: Vec<String> = starts
            .iter()
            .flat_map(|(who, start)| {
                let wrong = fires_of(who, *start, &log).into_iter().filter(|fire| !is_new(*fire));
                wrong.map(move |fire| format!("{who} {}", at(fire))).collect::<Vec<_>>()
            })
            .collect();
        let found = format!("{wrong:?}");
        let expected = "none, only every fifth second";
        report.holds(
            "fires that do not match the new expression",
            expected,
            &found,
            wrong.is_empty(),
        );
        Ok(())
    }

    /// Expects that Java follows a configuration that a joining Rust worker overwrites.
    async fn overwritten_by_rust(
        &self,
        changer: &Worker,
        plan: &JobPlan,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let mut plan = JobPlan { overwrite: true, total: 3, ..plan.clone() };
        "0=E,1=F,2=G".clone_into(&mut plan.item_parameters);
        "overwritten".clone_into(&mut plan.job_parameter);
        changer.schedule(&plan).await?;
        let matches =
            |run: &Run| run.total == 3 && run.job_parameter == "overwritten" && !is_new(run.fire);
        self.followed(&["java"], "a run of the overwritten configuration", matches, report).await?;
        let read = self.operator.call("config", &[("job", JOB)]).await?;
        let seen = ["cron", "shardingTotalCount", "shardingItemParameters", "jobParameter"]
            .map(|field| read.get(field).cloned().unwrap_or(Value::Null));
        let wanted: [Value; 4] =
            [plan.cron.into(), 3.into(), plan.item_parameters.into(), "overwritten".into()];
        report.same("the overwritten configuration as Java's API reads it", &wanted, &seen);
        self.shut_down(changer, JOB).await
    }

    /// Shuts down the instance of `worker` in a job, through Java's API. It is the only one on its
    /// host.
    async fn shut_down(&self, worker: &Worker, job: &str) -> Result<(), Failure> {
        self.operator.call("shutdown", &[("job", job), ("server", &worker.ip)]).await.map(drop)
    }

    /// Enables failover and a slower schedule through Java's API. Returns the time of the change.
    async fn switch_failover_on(&self) -> Result<i64, Failure> {
        let cron = slow_cron();
        self.configure(&[("failover", "true"), ("cron", &cron)]).await?;
        Ok(now_ms())
    }

    /// Expects a takeover by Java after a Rust worker has enabled failover.
    async fn failover_by_rust(
        &self,
        java: &Worker,
        killed: &Worker,
        changer: Worker,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let mut plan = JobPlan::new(FAILING_OVER, 2);
        plan.cron = slow_cron();
        let ids = [killed.schedule(&plan).await?, java.schedule(&plan).await?];
        changer.schedule(&JobPlan { overwrite: true, ..plan.failover() }).await?;
        changer.leave().await?;
        assigned(self.env, FAILING_OVER, 2, &ids).await?;
        let items = items_of(self.env, FAILING_OVER, &ids[0]);
        let taken = self.taken_over(killed, "java", FAILING_OVER, &items, report).await?;
        let what = "source of Java's run after Rust has enabled failover";
        report.same(what, &"request", &&*taken.source);
        Ok(())
    }

    /// Expects a takeover by Rust after Java's API has enabled failover.
    async fn failover_by_java(
        &self,
        java: &Worker,
        java_id: &str,
        slower_from: i64,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let items = items_of(self.env, JOB, java_id);
        let is_slower =
            |run: &Run, _| run.job == JOB && run.fire > slower_from && run.fire % period() == 0;
        let what = "a run of the slower schedule";
        let (slower, _) = begins(self.env, RECOVERY, "java", what, is_slower).await?;
        // The next fire is far away, so that items are held before it.
        ends(self.env, "java", JOB, &items, slower.fire).await?;
        let taken = self.taken_over(java, "rust", JOB, &items, report).await?;
        let what = "source of Rust's run after Java's API has enabled failover";
        report.same(what, &"FAILOVER", &&*taken.source);
        Ok(())
    }

    /// Kills a worker while it runs an item, and expects that `taker` takes it over before the next
    /// fire.
    async fn taken_over(
        &self,
        killed: &Worker,
        taker: &str,
        job: &str,
        items: &[u32],
        report: &mut Report,
    ) -> Result<Run, Failure> {
        killed.work(job, 0, items).await?;
        let held_from = now_ms();
        let item =
            *items.first().ok_or_else(|| Failure::unreadable("the worker to kill owns no item"))?;
        let run = held(self.env, killed.name(), job, &[item], held_from).await?;
        killed.kill().await?;
        let killed_at = now_ms();
        let limit = run.fire + period();
        let what = format!("item {item} of {job} before the next fire, at {}", at(limit));
        let taken = begins(self.env, PERIOD + RECOVERY, taker, &what, |taken, began| {
            taken.job == job && taken.item == item && began > killed_at && began < limit
        });
        let (taken, began) = taken.await?;
        let found = format!("after {} ms, source {}", began - killed_at, taken.source);
        report.holds(&format!("{taker} takes over {what}"), "a run", &found, true);
        Ok(taken)
    }
}

/// Time between two fires of the new expression, in milliseconds.
const STEP: i64 = 5 * SECOND;

/// Returns whether a fire matches the new expression. One in five fires of the old expression also
/// matches.
fn is_new(fire: i64) -> bool {
    fire % STEP == 3 * SECOND
}

/// Returns the scheduled fires after a time that a worker has begun, in ascending order.
fn fires_of(who: &str, after: i64, log: &[Entry]) -> Vec<i64> {
    let runs = log.iter().filter(|entry| &*entry.who == who).filter_map(Entry::begun);
    let scheduled = runs.filter(|run| run.job == JOB && run.source != "MANUAL");
    let mut fires: Vec<i64> = scheduled.map(|run| run.fire).filter(|fire| *fire > after).collect();
    fires.sort_unstable();
    fires.dedup();
    fires
}

fn slow_cron() -> String {
    format!("0/{} * * * * ?", PERIOD.as_secs())
}

fn period() -> i64 {
    i64::try_from(PERIOD.as_millis()).unwrap_or(i64::MAX)
}
