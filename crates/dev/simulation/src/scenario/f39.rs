//! F39: fires run beside the unfinished runs of their item, while the holder of two runs of an item
//! is killed, and another one is stopped.
//!
//! ```text
//! fire     1         2         3         4
//! slot 0   [1 ------------------------][3 MISFIRE ---
//! slot 1             [2 ------------------------][4 -
//! fire 3 meets two runs and is noted; a kill at this time lets both runs fail over
//! ```

use lite::Overlap;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{RunSeen, Seen};
use super::stage::{Stage, StepResult, work};

const ITEMS: u32 = 3;
const HOLDERS: [&str; 3] = ["a", "b", "c"];
/// Maximum number of runs of an item at the same time.
const MOST: usize = 2;
/// Work of a run, in periods: a third fire meets two runs.
const LONG: f64 = 2.6;
const SHORT: f64 = 0.2;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F39",
    title: "runs of an item beside each other under killed and stopped holders",
    shows: "both runs of an item fail over; each fire runs once over all slots; at most two runs of an item at once",
    catches: "a fire that two slots run or none; a run that is lost with its slot; a third run; an item that moves during a run",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 4), ("misfire", 2), ("crash", 1), ("pause", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let parallel = |config: &mut lite::JobConfig| config.overlap = Some(Overlap::Parallel(2));
    stage.assemble_with(ITEMS, &HOLDERS, &work(LONG), parallel).await?;

    until_two_runs(stage, "b").await?;
    let mark = stage.mark().await?;
    stage.kill("b").await?;
    stage.until_taken_over(2, mark, 8).await?;

    until_two_runs(stage, "c").await?;
    let mark = stage.mark().await?;
    stage.pause("c").await?;
    stage.until_taken_over(2, mark, 8).await?;
    let mark = stage.mark().await?;
    stage.resume("c").await?;
    stage.until_rejoined("c", mark).await?;

    // Short runs never meet a fire.
    stage.spawn("b", &work(SHORT)).await?;
    stage.until_shared(HOLDERS.len()).await?;
    for (old, new) in [("a", "d"), ("c", "e")] {
        stage.close(old).await?;
        stage.spawn(new, &work(SHORT)).await?;
    }
    stage.until_shared(HOLDERS.len()).await?;
    stage.heal_and_settle(0..ITEMS).await
}

/// Waits until a process begins a run beside another one of the same item. The fault that follows
/// meets neither at its end.
async fn until_two_runs(stage: &mut Stage, p: &'static str) -> StepResult {
    let mark = stage.mark().await?;
    let has_two = move |seen: Seen<'_>| {
        let (runs, new) = (seen.running_on(p), seen.since(mark).runs());
        let is_new = |run: &RunSeen<'_>| new.iter().any(|it| it.p == p && it.id == run.id);
        let beside = |run: &RunSeen<'_>| {
            let of_item = |other: &&RunSeen<'_>| other.id.item == run.id.item;
            runs.iter().filter(of_item).count() > 1
        };
        runs.iter().any(|run| is_new(run) && beside(run))
    };
    stage.until("the process begins a second run of an item", 20, has_two).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for hit in seen.hits("crash").chain(seen.hits("pause")) {
        // One of several runs can end at the moment of the fault.
        for lost in seen.held_at(hit.target, hit.mt).iter().filter(|it| !it.has_ended_itself()) {
            findings.lost_run_is_repeated(seen, hit.target, hit.mt, lost);
        }
    }
    for item in 0..ITEMS {
        findings.each_fire_accounted(seen, item);
        at_most_two_unfinished(&mut findings, seen, item);
        for account in seen.accounts(item) {
            let ran = seen.runs_of(item, account.last).iter().any(RunSeen::has_succeeded);
            findings
                .expect(ran, || format!("fire {} of item {item} did not succeed", account.last));
        }
    }
    findings.into_sentences()
}

/// Expects that the records never show a claim beside two unfinished runs of the item.
fn at_most_two_unfinished(findings: &mut Findings, seen: &Seen<'_>, item: u32) {
    let mut unfinished = [false; MOST + 1];
    for change in seen.ledger().into_iter().filter(|change| change.item == item) {
        let slot = usize::try_from(change.slot).unwrap_or(MOST).min(MOST);
        unfinished[slot] = change.after.is_running() || change.after.is_orphan();
        let runs = unfinished.iter().filter(|is_unfinished| **is_unfinished).count();
        findings.expect(runs <= MOST, || {
            format!("item {item} had {runs} unfinished runs at revision {}", change.zxid)
        });
    }
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for hit in seen.hits("crash").chain(seen.hits("pause")) {
        let mut held = seen.held_at(hit.target, hit.mt);
        held.retain(|lost| !lost.has_ended_itself());
        let has_two =
            held.iter().any(|one| held.iter().filter(|it| it.item == one.item).count() > 1);
        findings.expect(has_two, || {
            format!("{} did not hold two runs of an item at its fault", hit.target)
        });
    }
    findings.into_sentences()
}
