//! A worker is killed in the middle of an item: another one takes the item over, whoever leads.

use std::time::Duration;

use serde_json::{Value, json};

use super::Setting;
use super::account::{at, is_replay};
use super::common::{assigned, begins, ends, held, items_of, now_ms};
use crate::protocol::{JobPlan, Run};
use crate::stage::{Cast, Entry, Failure, Kind, Nodes, PATIENCE, Worker};
use crate::suite::{JavaVersion, Report};

/// Each worker of a job has so many items: one that it is killed in the middle of, and one that it has finished.
const ITEMS_EACH: u32 = 2;
/// Long enough for the loss of a session, so that the next fire does not hide a takeover.
const PERIOD: Duration = Duration::from_secs(20);
/// A takeover that begins later than so many milliseconds after a fire might be hidden by the next one.
const EARLY: i64 = 4000;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.cast().await?;
    // 2.1.5 takes over all items of who was not alone on its host, finished or not, and none otherwise.
    let workers = [
        (Kind::Java, "javaKilled", 1),
        (Kind::Rust, "rustTakesFromJava", 1),
        (Kind::Rust, "rustKilled", 1),
        (Kind::Java, "java", 1),
        (Kind::Rust, "rustKilledBeside", 2),
        (Kind::Rust, "rustTakesFromRust", 3),
    ];
    let [java_killed, takes_from_java, rust_killed, java, killed_beside, takes_from_rust] =
        cast.all(workers).await?;
    let losses = [
        Loss { killed: &java_killed, taker: &takes_from_java, beside: None },
        Loss { killed: &rust_killed, taker: &java, beside: None },
        Loss { killed: &killed_beside, taker: &takes_from_rust, beside: Some(&java) },
    ];
    let cases = prepare(&cast, &losses, report).await?;
    let next_fire = in_the_middle(&cases).await?;
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
    cast.tree.close().await
}

/// Lets all take part in a job for each loss and each of those who may lead. No one waits for another: a Java leader
/// assigns items at a fire.
async fn prepare<'a>(
    cast: &'a Cast<'a>,
    losses: &'a [Loss<'a>],
    report: &mut Report,
) -> Result<Vec<Case<'a>>, Failure> {
    let mut joined = Vec::new();
    for loss in losses {
        for leader in loss.members() {
            joined.push(Joined::all(cast, loss, leader).await?);
        }
    }
    let mut cases = Vec::new();
    for joined in joined {
        match joined.assigned(cast).await {
            Ok(case) => cases.push(case),
            Err(failure) => report.failed(&failure.to_string()),
        }
    }
    Ok(cases)
}

/// Waits until, early in a period, all are in the middle of the items that they hold and have finished the others. Returns
/// when the next fire is due.
async fn in_the_middle(cases: &[Case<'_>]) -> Result<i64, Failure> {
    for case in cases {
        case.held().await?;
    }
    loop {
        let now = now_ms();
        let next = now - now % period() + period();
        for case in cases {
            case.finished(next - period()).await?;
        }
        if now_ms() < next - period() + EARLY {
            return Ok(next);
        }
        for case in cases {
            case.fired(next).await?;
        }
    }
}

/// Who is killed and who takes over.
struct Loss<'a> {
    killed: &'a Worker,
    taker: &'a Worker,
    /// A Java worker that is busy with its own items, so that it takes nothing over.
    beside: Option<&'a Worker>,
}

impl<'a> Loss<'a> {
    fn members(&self) -> Vec<&'a Worker> {
        [self.killed, self.taker].into_iter().chain(self.beside).collect()
    }
}

/// A job that all of them take part in.
struct Joined<'a> {
    loss: &'a Loss<'a>,
    job: String,
    total: u32,
    /// The names of the members and the ids of their instances.
    ids: Vec<(&'a str, String)>,
}

impl<'a> Joined<'a> {
    /// The leader is the first to join.
    async fn all(cast: &Cast<'_>, loss: &'a Loss<'a>, leader: &Worker) -> Result<Self, Failure> {
        let mut members = loss.members();
        members.sort_by_key(|worker| worker.name() != leader.name());
        let total = ITEMS_EACH * u32::try_from(members.len()).unwrap_or(u32::MAX);
        let job = format!("{}-ledBy-{}", loss.killed.name(), leader.name());
        let mut plan = JobPlan::new(&job, total).failover();
        plan.cron = format!("0/{} * * * * ?", PERIOD.as_secs());
        let mut ids = Vec::new();
        for worker in members {
            ids.push((worker.name(), worker.schedule(&plan).await?));
        }
        let expected = format!("{} leads {job}", leader.name());
        let led = cast.tree.wait(PATIENCE, expected, |nodes| match nodes.leader(&job) {
            Some(id) if id == ids[0].1 => Ok(()),
            other => Err(format!("{other:?}")),
        });
        led.await?;
        Ok(Self { loss, job, total, ids })
    }

    /// Waits until all have items, and tells them which to hold: the first one of the worker that will be killed, the same
    /// of the one that takes it over, so that the takeover can be looked at, and all of the one beside.
    async fn assigned(self, cast: &'a Cast<'a>) -> Result<Case<'a>, Failure> {
        let Self { loss: &Loss { killed, taker, beside }, job, total, ids } = self;
        let all: Vec<&str> = ids.iter().map(|(_, id)| &**id).collect();
        assigned(cast, &job, total, &all).await?;
        let items = |worker: &Worker| {
            let id = ids.iter().find(|(name, _)| *name == worker.name());
            id.map(|(_, id)| items_of(cast, &job, id)).unwrap_or_default()
        };
        let [held, finished] = items(killed)[..] else {
            let found = format!("{} has the items {:?} of {job}", killed.name(), items(killed));
            return Err(Failure::unreadable(format!("two are needed: {found}")));
        };
        let beside = beside.map(|worker| (worker, items(worker)));
        killed.work(&job, 0, &[held]).await?;
        taker.work(&job, 0, &[held]).await?;
        if let Some((worker, items)) = &beside {
            worker.work(&job, 0, items).await?;
        }
        Ok(Case { cast, job, killed, taker, beside, held, finished, held_from: now_ms() })
    }
}

/// A job of a worker that is killed and others that go on.
struct Case<'a> {
    cast: &'a Cast<'a>,
    job: String,
    killed: &'a Worker,
    taker: &'a Worker,
    /// The Java worker that is busy, and its items.
    beside: Option<(&'a Worker, Vec<u32>)>,
    /// The item that the one who is killed is in the middle of.
    held: u32,
    /// The item that it has finished.
    finished: u32,
    /// From when on what begins of held items is held for certain.
    held_from: i64,
}

impl Case<'_> {
    /// Waits until those who hold items are in the middle of them. Returns the fire that the one who will be killed is in.
    async fn held(&self) -> Result<i64, Failure> {
        let killed = self.killed.name();
        let run = held(self.cast, killed, &self.job, &[self.held], self.held_from).await?;
        if let Some((worker, items)) = &self.beside {
            held(self.cast, worker.name(), &self.job, items, self.held_from).await?;
        }
        Ok(run.fire)
    }

    /// Waits until the one who will be killed has finished its other item for the last fire, and the registry shows that:
    /// Java shows all items of a run as running until the last of them has ended, and runs nothing meanwhile.
    async fn finished(&self, last_fire: i64) -> Result<(), Failure> {
        let is_shown_running = self.killed.kind == Kind::Java;
        let fire = if is_shown_running { self.held().await? } else { last_fire };
        ends(self.cast, self.killed.name(), &self.job, &[self.finished], fire).await?;
        let running = format!("/{}/sharding/{}/running", self.job, self.finished);
        let there = if is_shown_running { "there" } else { "not there" };
        let look = |nodes: &Nodes| match nodes.has(&running) == is_shown_running {
            true => Ok(()),
            false => Err(nodes.draw(&format!("/{}/sharding", self.job))),
        };
        self.cast.tree.wait(PATIENCE, format!("{running} is {there}"), look).await
    }

    /// Waits until the one who takes over, and is not busy, runs its own items for a fire.
    async fn fired(&self, fire: i64) -> Result<(), Failure> {
        let what = format!("an item of {} for the fire at {}", self.job, at(fire));
        let is_it = |run: &Run, _| run.job == self.job && run.fire == fire;
        begins(self.cast, PERIOD * 2, self.taker.name(), &what, is_it).await.map(drop)
    }

    /// Expects that the other one begins the held item before the next fire.
    async fn taken(
        &self,
        killed_at: i64,
        next_fire: i64,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let item = format!("item {} of {}", self.held, self.job);
        let what = format!("{item} before the next fire, at {}", at(next_fire));
        let taken = begins(self.cast, PERIOD, self.taker.name(), &what, |run, at| {
            run.job == self.job && run.item == self.held && (killed_at..next_fire).contains(&at)
        });
        let (run, at) = taken.await?;
        let after = at - killed_at;
        let found = format!("{} after {after} ms, source {}", self.taker.name(), run.source);
        let is_takeover = self.taker.kind == Kind::Java || run.source == "FAILOVER";
        let expected = "a run; Rust knows that it is a takeover";
        report.holds(&format!("takeover of {item}"), expected, &found, is_takeover);
        self.shown(report).await
    }

    /// Java's statistics show a takeover of ours as one. Those of 3.x fail as long as an instance that is gone has items.
    async fn shown(&self, report: &mut Report) -> Result<(), Failure> {
        let Some((operator, _)) = &self.beside else { return Ok(()) };
        if self.cast.release() != JavaVersion::V2_1_5 {
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

    /// Nobody holds anything any more.
    async fn release(&self) -> Result<(), Failure> {
        self.taker.work(&self.job, 0, &[]).await?;
        match &self.beside {
            Some((worker, _)) => worker.work(&self.job, 0, &[]).await,
            None => Ok(()),
        }
    }

    /// Expects that ours have taken over the held item once, and nothing that was finished. What else was missed of the held
    /// item is made up for.
    async fn counted(
        &self,
        killed_at: i64,
        next_fire: i64,
        report: &mut Report,
    ) -> Result<(), Failure> {
        self.fired(next_fire).await?;
        let log = self.cast.log.entries();
        let since = log.iter().filter(|entry| (killed_at..next_fire).contains(&entry.fact.at));
        let since: Vec<&Run> =
            since.filter_map(Entry::begun).filter(|run| run.job == self.job).collect();
        let n_runs = |item| {
            let runs = since.iter().filter(|run| run.item == item);
            runs.filter(|run| !is_replay(&run.source)).count()
        };
        let found = (n_runs(self.held), n_runs(self.finished));
        let (held, finished) = (self.held, self.finished);
        let what =
            format!("runs of the items {held}, held, and {finished}, finished, of {}", self.job);
        match (self.taker.kind, self.killed.kind) {
            (Kind::Rust, Kind::Rust) => report.same(&what, &(1, 0), &found),
            // Java shows all items of a run as running until the last of them has ended, so that nobody else can know
            // which of them are finished.
            (Kind::Rust, Kind::Java) => {
                let expected = "(1, 0) or (1, 1)";
                report.holds(&what, expected, &format!("{found:?}"), found.0 == 1 && found.1 <= 1);
            }
            // 2.1.5 runs all items of a lost instance again; 3.x has runs off the schedule after a takeover.
            (Kind::Java, _) => report.note(&format!("{what}: {found:?}")),
        }
        Ok(())
    }
}

fn period() -> i64 {
    i64::try_from(PERIOD.as_millis()).unwrap_or(i64::MAX)
}
