//! A worker is killed in the middle of an item: the other takes the item over, whoever leads.

use std::time::Duration;

use super::Setting;
use super::common::{HELD_FOR, assigned, begins, items_of, now_ms};
use crate::protocol::{JobPlan, Run};
use crate::stage::{Cast, Entry, Failure, Kind, Nodes, PATIENCE, Worker};
use crate::suite::Report;

const TOTAL: u32 = 4;
/// Long enough for the loss of a session, so that the next fire does not hide a takeover.
const PERIOD: Duration = Duration::from_secs(15);
/// A takeover that begins later than so many milliseconds after a fire might be hidden by the next one.
const EARLY: i64 = 4000;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.theatre.cast(setting.namespace).await?;
    // 2.1.5 takes nothing over from a host without another instance, so all are on one.
    let workers = [
        (Kind::Java, "javaKilled", 1),
        (Kind::Rust, "rustTakes", 1),
        (Kind::Rust, "rustKilled", 1),
        (Kind::Java, "javaTakes", 1),
    ];
    let [java_killed, rust_takes, rust_killed, java_takes] = cast.all(workers).await?;
    loss(&cast, &java_killed, &rust_takes, report).await?;
    loss(&cast, &rust_killed, &java_takes, report).await?;
    cast.tree.close().await
}

/// A job of a worker that is killed and another one that goes on.
struct Case<'a> {
    cast: &'a Cast<'a>,
    job: String,
    killed: &'a Worker,
    taker: &'a Worker,
    /// The items of the one that is killed: the one that it is in the middle of, then the one that it has finished.
    items: Vec<u32>,
    /// From when on what begins of the first item is held for certain.
    held_from: i64,
    /// Whether the registry showed the finished item as running when the worker was killed.
    finished_is_shown_running: bool,
}

/// One worker is killed while it runs an item in each of two jobs, one that it leads and one that the other leads.
async fn loss(
    cast: &Cast<'_>,
    killed: &Worker,
    taker: &Worker,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut cases = Vec::new();
    for (leader, other) in [(killed, taker), (taker, killed)] {
        let mut case = Case {
            cast,
            job: format!("{}-ledBy-{}", killed.name(), leader.name()),
            killed,
            taker,
            items: Vec::new(),
            held_from: 0,
            finished_is_shown_running: false,
        };
        match case.prepare(leader, other).await {
            Ok(()) => cases.push(case),
            Err(failure) => report.failed(&failure.to_string()),
        }
    }
    let mut held = Vec::new();
    for case in cases {
        match case.held_and_finished().await {
            Ok(runs) => held.push((case, runs)),
            Err(failure) => report.failed(&failure.to_string()),
        }
    }
    let next_fire = early_in_period(cast, taker).await?;
    let killed_at = now_ms();
    for (case, _) in &mut held {
        let running = format!("/{}/sharding/{}/running", case.job, case.items[1]);
        let is_shown = |nodes: &Nodes| nodes.has(&running).then_some(()).ok_or(String::new());
        if killed.kind == Kind::Java {
            let expected = format!("{running}, until Java has ended the other item as well");
            cast.tree.wait(PATIENCE, expected, is_shown).await?;
        }
        case.finished_is_shown_running = is_shown(&cast.nodes()).is_ok();
    }
    killed.kill().await?;
    for (case, held) in held {
        let outcome = case.taken(held, killed_at, next_fire, report).await;
        report.part(outcome);
    }
    taker.leave().await
}

/// Waits for the next fire unless the last one is a short time ago, and returns when the fire after that is due.
async fn early_in_period(cast: &Cast<'_>, taker: &Worker) -> Result<i64, Failure> {
    let period = i64::try_from(PERIOD.as_millis()).unwrap_or(i64::MAX);
    let now = now_ms();
    let next = now - now % period + period;
    if now % period < EARLY {
        return Ok(next);
    }
    begins(cast, PERIOD * 2, taker.name(), "the next fire", |run, _| run.fire == next).await?;
    Ok(next + period)
}

impl Case<'_> {
    /// Both take part; the first leads. The first item of the one that will be killed will not end.
    async fn prepare(&mut self, leader: &Worker, other: &Worker) -> Result<(), Failure> {
        let mut plan = JobPlan::new(&self.job, TOTAL).failover();
        plan.cron = format!("0/{} * * * * ?", PERIOD.as_secs());
        let ids = [leader.schedule(&plan).await?, other.schedule(&plan).await?];
        assigned(self.cast, &self.job, TOTAL, &[&ids[0], &ids[1]]).await?;
        let killed_id = if leader.name() == self.killed.name() { &ids[0] } else { &ids[1] };
        self.items = items_of(self.cast, &self.job, killed_id);
        if self.items.len() < 2 {
            let found = format!("{killed_id} has items {:?} of {}", self.items, self.job);
            return Err(Failure::unreadable(format!("two items are needed: {found}")));
        }
        self.killed.work(&self.job, 0, &self.items[..1]).await?;
        self.held_from = now_ms();
        Ok(())
    }

    /// Waits until the worker is in the middle of the held item and has finished its other one, and returns the held one.
    async fn held_and_finished(&self) -> Result<u32, Failure> {
        let (held, finished) = (self.items[0], self.items[1]);
        let what = format!("item {held} of {}", self.job);
        let limit = PERIOD + PERIOD / 3;
        let run = self.cast.log.wait(limit, what, |log| self.held_run(log, held)).await?;
        let expected = format!("{} ends item {finished} of {}", self.killed.name(), self.job);
        let ended = self.cast.log.wait(PERIOD, expected, |log| {
            let mut ends = log.iter().filter(|entry| &*entry.who == self.killed.name());
            let is_it =
                |end: &Run| end.job == self.job && end.item == finished && end.fire == run.fire;
            match ends.any(|entry| entry.ended().is_some_and(is_it)) {
                true => Ok(()),
                false => Err("it has not".to_owned()),
            }
        });
        ended.await?;
        Ok(held)
    }

    /// Finds the run of the held item: one that began after it was to be held, or before and does not end.
    fn held_run(&self, log: &[Entry], held: u32) -> Result<Run, String> {
        let now = log.last().map_or(0, |entry| entry.fact.at);
        let mine = || log.iter().filter(|entry| &*entry.who == self.killed.name());
        let mut runs = mine().filter_map(|entry| Some((entry.begun()?, entry.fact.at)));
        let last = runs.rfind(|(run, _)| run.job == self.job && run.item == held);
        let Some((run, began)) = last else { return Err("no run".to_owned()) };
        let has_ended = mine().filter_map(Entry::ended).any(|ended| ended.run == run.run);
        match began > self.held_from || (!has_ended && now > began + HELD_FOR) {
            true => Ok(run.clone()),
            false => Err(format!("its last run is {run:?}")),
        }
    }

    /// Expects that the other worker runs the held item before the next fire, and nothing that was finished.
    async fn taken(
        &self,
        held: u32,
        killed_at: i64,
        next_fire: i64,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let is_between = |at: i64| (killed_at..next_fire).contains(&at);
        let what = format!("item {held} of {} before the next fire", self.job);
        let taken = begins(self.cast, PERIOD, self.taker.name(), &what, |run, at| {
            run.job == self.job && run.item == held && is_between(at)
        });
        let (run, at) = taken.await?;
        let after = at - killed_at;
        let found = format!("{} after {after} ms, source {}", self.taker.name(), run.source);
        let is_takeover = self.taker.kind == Kind::Java || run.source == "FAILOVER";
        let what = format!("takeover of item {held} of {}", self.job);
        report.holds(&what, "a run; Rust knows that it is a takeover", &found, is_takeover);

        let log = self.cast.log.entries();
        let later = log.iter().filter(|entry| is_between(entry.fact.at));
        let later = later.filter(|entry| &*entry.who == self.taker.name());
        let again = later.filter_map(|entry| entry.begun()).filter(|run| run.job == self.job);
        let n_again = again.filter(|run| run.item == self.items[1]).count();
        let what = format!("runs of the finished item {} of {}", self.items[1], self.job);
        match self.taker.kind {
            // Java shows all items of a run as running until the last of them has ended, so that nobody else can know
            // which of them are finished.
            Kind::Rust if !self.finished_is_shown_running => report.same(&what, &0, &n_again),
            // 2.1.5 runs all items of a lost instance again; 3.x has runs off the schedule after a takeover.
            Kind::Rust | Kind::Java => {
                report.note(&format!("{what} by {}: {n_again}", self.taker.name()));
            }
        }
        Ok(())
    }
}
