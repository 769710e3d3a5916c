//! A worker is killed while it runs an item: another worker takes the run over, under either
//! leader.

use std::time::Duration;

use serde_json::{Value, json};

use super::CheckSetup;
use super::common::{assigned, begins, ends, held, items_of, now_ms};
use super::run_history::{at, is_replay};
use crate::protocol::{JobPlan, Run};
use crate::stage::{CheckEnv, Entry, Failure, Kind, Nodes, PATIENCE, Worker};
use crate::suite::{JavaVersion, Report};

/// Items of each worker of a job: one that it runs when it is killed, and one that it has finished.
const ITEMS_EACH: u32 = 2;
/// Time between two fires, longer than the loss of a session, so that the next fire does not hide a
/// takeover.
const PERIOD: Duration = Duration::from_secs(20);
/// Latest time after a fire at which workers are killed, in milliseconds.
///
/// The next fire could hide a takeover after a later kill.
const KILL_WITHIN: i64 = 4000;

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    // 2.1.5 takes over all items of a lost instance if its host has another instance, and none
    // otherwise.
    let workers = [
        (Kind::Java, "javaKilled", 1),
        (Kind::Rust, "rustTakesFromJava", 1),
        (Kind::Rust, "rustKilled", 1),
        (Kind::Java, "java", 1),
        (Kind::Rust, "rustKilledBeside", 2),
        (Kind::Rust, "rustTakesFromRust", 3),
    ];
    let [java_killed, takes_from_java, rust_killed, java, killed_beside, takes_from_rust] =
        env.all(workers).await?;
    let losses = [
        Loss { killed: &java_killed, taker: &takes_from_java, busy_java: None },
        Loss { killed: &rust_killed, taker: &java, busy_java: None },
        Loss { killed: &killed_beside, taker: &takes_from_rust, busy_java: Some(&java) },
    ];
    let cases = prepare(&env, &losses, report).await?;
    let next_fire = wait_until_held(&cases).await?;
    let killed_at = now_ms();
    for loss in &losses {
        loss.killed.kill().await?;
    }
    for case in &cases {
        let outcome = case.taken(killed_at, next_fire, report).await;
        report.part(outcome);
    }
    for case in &cases {
        case.release().await?;
    }
    for case in &cases {
        let outcome = case.counted(killed_at, next_fire, report).await;
        report.part(outcome);
    }
    for loss in &losses {
        loss.taker.leave().await?;
    }
    env.tree.close().await
}

/// Schedules a job for each loss and each possible leader.
///
/// All jobs are scheduled before any wait, because a Java leader assigns items only at a fire.
async fn prepare<'a>(
    env: &'a CheckEnv<'a>,
    losses: &'a [Loss<'a>],
    report: &mut Report,
) -> Result<Vec<Case<'a>>, Failure> {
    let mut joined = Vec::new();
    for loss in losses {
        for leader in loss.workers() {
            joined.push(Joined::all(env, loss, leader).await?);
        }
    }
    let mut cases = Vec::new();
    for joined in joined {
        match joined.assigned(env).await {
            Ok(case) => cases.push(case),
            Err(failure) => report.failed(&failure.to_string()),
        }
    }
    Ok(cases)
}

/// Waits until, early in a period, all workers run their held items and have finished the others.
///
/// Returns the time of the next fire.
async fn wait_until_held(cases: &[Case<'_>]) -> Result<i64, Failure> {
    for case in cases {
        case.held().await?;
    }
    loop {
        let now = now_ms();
        let next = now - now % period() + period();
        for case in cases {
            case.finished(next - period()).await?;
        }
        if now_ms() < next - period() + KILL_WITHIN {
            return Ok(next);
        }
        for case in cases {
            case.fired(next).await?;
        }
    }
}

/// The worker that is killed and the worker that takes over.
struct Loss<'a> {
    killed: &'a Worker,
    taker: &'a Worker,
    /// A busy Java worker, which therefore takes nothing over.
    busy_java: Option<&'a Worker>,
}

impl<'a> Loss<'a> {
    fn workers(&self) -> Vec<&'a Worker> {
        [self.killed, self.taker].into_iter().chain(self.busy_java).collect()
    }
}

/// A job in which all workers of a loss take part.
struct Joined<'a> {
    loss: &'a Loss<'a>,
    job: String,
    total: u32,
    /// The names of the workers and the ids of their instances.
    ids: Vec<(&'a str, String)>,
}

impl<'a> Joined<'a> {
    /// Schedules a job on all workers of a loss. The leader is the first to join.
    async fn all(env: &CheckEnv<'_>, loss: &'a Loss<'a>, leader: &Worker) -> Result<Self, Failure> {
        let mut workers = loss.workers();
        workers.sort_by_key(|worker| worker.name() != leader.name());
        let total = ITEMS_EACH * u32::try_from(workers.len()).unwrap_or(u32::MAX);
        let job = format!("{}-ledBy-{}", loss.killed.name(), leader.name());
        let mut plan = JobPlan::new(&job, total).failover();
        plan.cron = format!("0/{} * * * * ?", PERIOD.as_secs());
        let mut ids = Vec::new();
        for worker in workers {
            ids.push((worker.name(), worker.schedule(&plan).await?));
        }
        let expected = format!("{} leads {job}", leader.name());
        let led = env.tree.wait(PATIENCE, expected, |nodes| match nodes.leader(&job) {
            Some(id) if id == ids[0].1 => Ok(()),
            other => Err(format!("{other:?}")),
        });
        led.await?;
        Ok(Self { loss, job, total, ids })
    }

    /// Waits until all workers have items, and orders them to hold some.
    ///
    /// The worker to kill and the worker that takes over hold the first item of the former, so that
    /// the takeover stays visible. The busy Java worker holds all of its items.
    async fn assigned(self, env: &'a CheckEnv<'a>) -> Result<Case<'a>, Failure> {
        let Self { loss: &Loss { killed, taker, busy_java }, job, total, ids } = self;
        let all: Vec<&str> = ids.iter().map(|(_, id)| &**id).collect();
        assigned(env, &job, total, &all).await?;
        let items = |worker: &Worker| {
            let id = ids.iter().find(|(name, _)| *name == worker.name());
            id.map(|(_, id)| items_of(env, &job, id)).unwrap_or_default()
        };
        let [held, finished] = items(killed)[..] else {
            let found = format!("{} owns the items {:?} of {job}", killed.name(), items(killed));
            return Err(Failure::unreadable(format!(
                "the worker to kill needs two items: {found}"
            )));
        };
        let busy_java = busy_java.map(|worker| (worker, items(worker)));
        killed.work(&job, 0, &[held]).await?;
        taker.work(&job, 0, &[held]).await?;
        if let Some((worker, items)) = &busy_java {
            worker.work(&job, 0, items).await?;
        }
        Ok(Case { env, job, killed, taker, busy_java, held, finished, held_from: now_ms() })
    }
}

/// A job with a worker that is killed and other workers that continue.
struct Case<'a> {
    env: &'a CheckEnv<'a>,
    job: String,
    killed: &'a Worker,
    taker: &'a Worker,
    /// The busy Java worker and its items.
    busy_java: Option<(&'a Worker, Vec<u32>)>,
    /// The item that the killed worker runs.
    held: u32,
    /// The item that the killed worker has finished.
    finished: u32,
    /// Time after which new runs of held items are certainly held.
    held_from: i64,
}

impl Case<'_> {
    /// Waits until all held items run. Returns the fire of the run that will be orphaned.
    async fn held(&self) -> Result<i64, Failure> {
        let killed = self.killed.name();
        let run = held(self.env, killed, &self.job, &[self.held], self.held_from).await?;
        if let Some((worker, items)) = &self.busy_java {
            held(self.env, worker.name(), &self.job, items, self.held_from).await?;
        }
        Ok(run.fire)
    }

    /// Waits until the worker to kill has finished its other item for the last fire, and the
    /// registry shows that.
    ///
    /// Java keeps the running marks of all items of a fire until the last of them has ended, and
    /// starts no run in between.
    async fn finished(&self, last_fire: i64) -> Result<(), Failure> {
        let is_shown_running = self.killed.kind == Kind::Java;
        let fire = if is_shown_running { self.held().await? } else { last_fire };
        ends(self.env, self.killed.name(), &self.job, &[self.finished], fire).await?;
        let running = format!("/{}/sharding/{}/running", self.job, self.finished);
        let state = if is_shown_running { "exists" } else { "is removed" };
        let look = |nodes: &Nodes| match nodes.has(&running) == is_shown_running {
            true => Ok(()),
            false => Err(nodes.draw(&format!("/{}/sharding", self.job))),
        };
        self.env.tree.wait(PATIENCE, format!("{running} {state}"), look).await
    }

    /// Waits until the worker that takes over runs an item for a fire.
    async fn fired(&self, fire: i64) -> Result<(), Failure> {
        let what = format!("an item of {} for the fire at {}", self.job, at(fire));
        let is_of_fire = |run: &Run, _| run.job == self.job && run.fire == fire;
        begins(self.env, PERIOD * 2, self.taker.name(), &what, is_of_fire).await.map(drop)
    }

    /// Expects that the held item is taken over before the next fire.
    async fn taken(
        &self,
        killed_at: i64,
        next_fire: i64,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let item = format!("item {} of {}", self.held, self.job);
        let what = format!("{item} before the next fire, at {}", at(next_fire));
        let taken = begins(self.env, PERIOD, self.taker.name(), &what, |run, at| {
            run.job == self.job && run.item == self.held && (killed_at..next_fire).contains(&at)
        });
        let (run, at) = taken.await?;
        let after = at - killed_at;
        let found = format!("{} after {after} ms, source {}", self.taker.name(), run.source);
        let is_takeover = self.taker.kind == Kind::Java || run.source == "FAILOVER";
        let expected = "a run, of source FAILOVER in Rust";
        report.holds(&format!("takeover of {item}"), expected, &found, is_takeover);
        self.shown(report).await
    }

    /// Expects that Java's statistics show a takeover by Rust as a failover.
    ///
    /// The statistics of 3.x fail while an item belongs to a lost instance.
    async fn shown(&self, report: &mut Report) -> Result<(), Failure> {
        let Some((operator, _)) = &self.busy_java else { return Ok(()) };
        if self.env.release() != JavaVersion::V2_1_5 {
            return Ok(());
        }
        let shown = operator.call("sharding", &[("job", &self.job)]).await?;
        let mut rows = shown.as_array().into_iter().flatten();
        let row = rows.find(|row| row["item"] == self.held).cloned().unwrap_or(Value::Null);
        let what = format!("status and failover of item {} of {}", self.held, self.job);
        let found = json!([row["status"], row["failover"]]);
        report.same(&what, &json!(["RUNNING", true]), &found);
        Ok(())
    }

    /// Releases all held items.
    async fn release(&self) -> Result<(), Failure> {
        self.taker.work(&self.job, 0, &[]).await?;
        match &self.busy_java {
            Some((worker, _)) => worker.work(&self.job, 0, &[]).await,
            None => Ok(()),
        }
    }

    /// Expects that Rust has taken over the held item once and the finished item never.
    ///
    /// Replays of misfires of the held item do not count.
    async fn counted(
        &self,
        killed_at: i64,
        next_fire: i64,
        report: &mut Report,
    ) -> Result<(), Failure> {
        self.fired(next_fire).await?;
        let log = self.env.log.entries();
        let since = log.iter().filter(|entry| (killed_at..next_fire).contains(&entry.fact.at));
        let runs: Vec<(&Entry, &Run)> = since
            .filter_map(|entry| Some((entry, entry.begun()?)))
            .filter(|(_, run)| run.job == self.job && !is_replay(&run.source))
            .collect();
        let n_runs = |item| runs.iter().filter(|(_, run)| run.item == item).count();
        let found = (n_runs(self.held), n_runs(self.finished));
        let (held, finished) = (self.held, self.finished);
        let by = runs.iter().filter(|(_, run)| [held, finished].contains(&run.item));
        let by: Vec<String> = by
            .map(|(entry, run)| {
                let (who, Run { item, source, .. }) = (&entry.who, run);
                format!("item {item} by {who}, {source}, at {}", at(entry.fact.at))
            })
            .collect();
        let what = format!(
            "runs of item {held} (held) and {finished} (finished) of {} [{}]",
            self.job,
            by.join("; ")
        );
        match (self.taker.kind, self.killed.kind) {
            (Kind::Rust, Kind::Rust) => report.same(&what, &(1, 0), &found),
            // Java keeps the running marks of all items until the last run has ended, so that other
            // instances cannot know the finished ones.
            (Kind::Rust, Kind::Java) => {
                let expected = "(1, 0) or (1, 1)";
                report.holds(&what, expected, &format!("{found:?}"), found.0 == 1 && found.1 <= 1);
            }
            // 2.1.5 runs all items of a lost instance again, and 3.x has unscheduled runs after a
            // takeover.
            (Kind::Java, _) => report.note(&format!("{what}: {found:?}")),
        }
        Ok(())
    }
}

fn period() -> i64 {
    i64::try_from(PERIOD.as_millis()).unwrap_or(i64::MAX)
}
