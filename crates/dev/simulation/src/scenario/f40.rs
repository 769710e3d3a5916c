//! F40: a zone is killed, returns, and the zone with the leader is stopped past its sessions.
//!
//! ```text
//! zone   x: a b            y: c d           z: e
//! items  1 1               1 1              2
//!        2 1               killed           3        all runs of c and d fail over
//!        1 1               1 1              2        only items for y move
//!        stopped           2 1              3        all runs of a and b fail over
//! ```

use std::collections::BTreeMap;

use checker::history::ProcessEvent;
use sharding::PlacementRules;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{Hit, Seen};
use super::stage::{Stage, StepResult, work};

const ITEMS: u32 = 6;
const ZONES: [(&str, &[&str]); 3] = [("x", &["a", "b"]), ("y", &["c", "d"]), ("z", &["e"])];
const STOPPED: &str = "x";
const KILLED: &str = "y";
/// Time after an assignment until pending items have moved, in periods: their runs have ended.
const UNTIL_MOVED: f64 = 1.5;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F40",
    title: "zones that are killed and stopped",
    shows: "the runs of a lost zone fail over, its items spread evenly over the other zones, and nothing else moves",
    catches: "items of a lost zone that pile up in one zone, or that move other items; a zone that gets nothing back",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 4), ("crash", 2), ("pause", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let rules = PlacementRules::parse("zones even").expect("the constant is a valid rule");
    let placed = |config: &mut lite::JobConfig| {
        config.strategy = "PLACEMENT".to_owned();
        config.placement = rules;
    };
    stage.create_job(ITEMS, placed).await?;
    for (zone, names) in ZONES {
        start(stage, zone, names).await?;
    }
    stage.until_shared(5).await?;
    stage.start_schedule().await?;

    let killed = until_all_run(stage, KILLED).await?;
    let mark = stage.mark().await?;
    for name in killed {
        stage.kill(name).await?;
    }
    stage.until_taken_over(killed.len(), mark, 8).await?;
    stage.until_shared(3).await?;
    stage.elapse(stage.periods(UNTIL_MOVED)).await;
    start(stage, KILLED, killed).await?;
    stage.until_shared(5).await?;
    stage.elapse(stage.periods(UNTIL_MOVED)).await;

    let stopped = until_all_run(stage, STOPPED).await?;
    let mark = stage.mark().await?;
    for name in stopped {
        stage.pause(name).await?;
    }
    stage.until_taken_over(stopped.len(), mark, 8).await?;
    stage.until_shared(3).await?;
    stage.elapse(stage.periods(UNTIL_MOVED)).await;
    let mark = stage.mark().await?;
    for name in stopped {
        stage.resume(name).await?;
    }
    for name in stopped {
        stage.until_rejoined(name, mark).await?;
    }
    stage.until_shared(5).await?;
    stage.heal_and_settle(0..ITEMS).await
}

async fn start(stage: &mut Stage, zone: &str, names: &[&str]) -> StepResult {
    for name in names {
        stage.spawn_in(zone, name, &work(0.6)).await?;
    }
    Ok(())
}

/// Waits until each process of a zone has begun a run for one new fire, and returns the processes.
async fn until_all_run(
    stage: &mut Stage,
    zone: &str,
) -> Result<&'static [&'static str], super::ScenarioError> {
    let names = names_of(zone);
    let mark = stage.mark().await?;
    let all_run = |seen: Seen<'_>| {
        let new = seen.since(mark).runs();
        names.iter().all(|name| new.iter().any(|run| run.p == *name && !run.has_ended()))
    };
    stage.until("each process of the zone runs an item", 8, all_run).await?;
    Ok(names)
}

fn names_of(zone: &str) -> &'static [&'static str] {
    ZONES.iter().find(|(name, _)| *name == zone).map_or(&[], |(_, names)| *names)
}

fn zone_of(process: &str) -> &'static str {
    let has_process = |(_, names): &&(&str, &[&str])| names.contains(&process);
    ZONES.iter().find(has_process).map_or("no zone", |(zone, _)| *zone)
}

/// A zone that was lost: the first and the last fault of its processes, and its return.
struct Loss<'a> {
    zone: &'static str,
    hits: Vec<Hit<'a>>,
    returned: u64,
    /// Begin of the next fault, or the end of the history.
    until: u64,
}

fn losses<'a>(seen: &Seen<'a>) -> Vec<Loss<'a>> {
    let end = seen.records().last().map_or(0, |record| record.mt);
    let killed: Vec<_> = seen.hits("crash").collect();
    let stopped: Vec<_> = seen.hits("pause").collect();
    let last_kill = killed.last().map_or(0, |hit| hit.mt);
    let restarts = names_of(KILLED).iter().flat_map(|p| seen.process(p, ProcessEvent::Start));
    let restarted = restarts.filter(|mt| *mt > last_kill).min().unwrap_or(end);
    let resumed = seen.ends_of("pause").map(|hit| hit.mt).min().unwrap_or(end);
    let next = stopped.first().map_or(end, |hit| hit.mt);
    vec![
        Loss { zone: KILLED, hits: killed, returned: restarted, until: next },
        Loss { zone: STOPPED, hits: stopped, returned: resumed, until: end },
    ]
}

/// Returns the number of items of each zone at this moment.
fn items_by_zone(seen: &Seen<'_>, mt: u64) -> BTreeMap<&'static str, usize> {
    let mut n = BTreeMap::new();
    for item in 0..ITEMS {
        *n.entry(seen.owner_at(item, mt).map_or("no owner", zone_of)).or_default() += 1;
    }
    n
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for loss in losses(seen) {
        for hit in &loss.hits {
            for lost in seen.held_at(hit.target, hit.mt).iter().filter(|it| !it.has_ended_itself())
            {
                findings.lost_run_is_repeated(seen, hit.target, hit.mt, lost);
            }
        }
        spreads(&mut findings, seen, &loss);
        returns(&mut findings, seen, &loss);
    }
    findings.each_fire_accounted_for_all(seen, 0..ITEMS);
    findings.into_sentences()
}

/// Expects that the items of the lost zone spread evenly, and that no item of another zone moves.
fn spreads(findings: &mut Findings, seen: &Seen<'_>, loss: &Loss<'_>) {
    let others = ZONES.iter().filter(|(zone, _)| *zone != loss.zone);
    let share = ITEMS as usize / others.clone().count();
    let wanted: BTreeMap<_, _> = others.map(|(zone, _)| (*zone, share)).collect();
    let n = items_by_zone(seen, loss.returned);
    findings.expect(n == wanted, || {
        format!("without zone {}, the zones had {n:?} items, not {wanted:?}", loss.zone)
    });
    let lost_at = loss.hits.first().map_or(loss.returned, |hit| hit.mt);
    for item in 0..ITEMS {
        let owner = seen.owner_at(item, lost_at);
        let lives = owner.is_some_and(|owner| zone_of(owner) != loss.zone);
        let is_meanwhile = |mt: u64| mt > lost_at && mt < loss.returned;
        let moves = seen.owners(item).into_iter().filter(|(mt, _)| is_meanwhile(*mt)).count();
        findings.expect(!lives || moves == 0, || {
            format!("item {item} of {owner:?} moved when zone {} was lost", loss.zone)
        });
    }
}

/// Expects that the zone that returns gets its share, and that each item that moves moves to it.
fn returns(findings: &mut Findings, seen: &Seen<'_>, loss: &Loss<'_>) {
    let share = ITEMS as usize / ZONES.len();
    let wanted: BTreeMap<_, _> = ZONES.iter().map(|(zone, _)| (*zone, share)).collect();
    let n = items_by_zone(seen, loss.until);
    findings.expect(n == wanted, || {
        format!("after the return of zone {}, the zones had {n:?} items", loss.zone)
    });
    for item in 0..ITEMS {
        let later = seen.owners(item).into_iter();
        let later = later.filter(|(mt, _)| *mt > loss.returned && *mt < loss.until);
        for owner in later.filter_map(|(_, owner)| owner) {
            let zone = seen.process_of(owner).map_or("no zone", zone_of);
            findings.expect(zone == loss.zone, || {
                format!("item {item} moved to zone {zone} when zone {} returned", loss.zone)
            });
        }
    }
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for loss in losses(seen) {
        let n = loss.hits.len();
        findings.expect(n == names_of(loss.zone).len(), || {
            format!("{n} processes of zone {} were hit", loss.zone)
        });
        for hit in &loss.hits {
            let held = seen.held_at(hit.target, hit.mt);
            let has_run = held.iter().any(|lost| !lost.has_ended_itself());
            findings.expect(has_run, || format!("{} held no run at its fault", hit.target));
        }
    }
    findings.into_sentences()
}
