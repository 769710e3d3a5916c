//! F30: a soak with random faults. Then only a core is healed while one process restarts
//! repeatedly; then all.
//!
//! ```text
//! 20 U      kill, start, pause, resume, cut, reset, lose, more and fewer items, registry down
//! core      a and the registry healthy; b restarts repeatedly; c, d as they are: all items run
//! healed    all healthy: no node is left behind
//! ```

use checker::history::FaultOutcome;

use super::findings::Findings;
use super::history_queries::{Seen, ns};
use super::stage::{Stage, StepResult, work};
use super::{Action, LinkMode, RegEvent, Scenario};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// Number of periods with random faults.
const CHAOS: u32 = 20;
/// Number of starts and kills of b while the core must make progress.
const FLAPS: u32 = 4;
const ITEMS: u32 = 6;
const WORK: f64 = 0.3;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F30",
    title: "churn soak",
    shows: "after any mixture of faults a healthy core makes progress, and no node is left behind",
    catches: "combinations that no other scenario covers; waits for broken instances; leaked nodes",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 1), ("reshard", 4)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(ITEMS, &NAMES, &work(WORK)).await?;
    stage.next_fire_of("a").await?;
    let mut dead: Vec<&'static str> = Vec::new();
    for _ in 0..CHAOS * 2 {
        let name = NAMES[stage.chance.usize(..NAMES.len())];
        inject_random_fault(stage, name, &mut dead).await?;
        stage.elapse(stage.periods(0.5)).await;
    }
    progress_of_core(stage, &mut dead).await?;
    for name in dead {
        stage.spawn(name, &work(WORK)).await?;
    }
    stage.configure(|config| config.sharding_total_count = ITEMS).await?;
    stage.heal_and_settle(0..ITEMS).await
}

/// Applies a random fault to a process or to the registry.
async fn inject_random_fault(
    stage: &mut Stage,
    name: &'static str,
    dead: &mut Vec<&'static str>,
) -> StepResult {
    if let Some(place) = dead.iter().position(|other| *other == name) {
        dead.remove(place);
        stage.link(name, LinkMode::Pass).await?;
        return stage.spawn(name, &work(WORK)).await;
    }
    // A killed process is restarted before any other fault hits it.
    match stage.chance.u32(..14) {
        0 | 1 => {
            dead.push(name);
            stage.kill(name).await
        }
        2 => stage.pause(name).await,
        3 | 4 => stage.resume(name).await,
        5 => stage.link(name, LinkMode::Black).await,
        6 => stage.link(name, LinkMode::DropReplies).await,
        7 | 8 => stage.link(name, LinkMode::Pass).await,
        9 => stage.link(name, LinkMode::Reset).await,
        10 => stage.before(name, "claim", Action::Lose).await,
        11 => stage.after(name, "release", Action::Lose).await,
        12 => {
            let total = 3 + stage.chance.u32(..6);
            stage.configure(|config| config.sharding_total_count = total).await
        }
        _ => {
            let outage = stage.sessions(0.3);
            stage.registry(RegEvent::RestartAll(outage)).await
        }
    }
}

/// Heals a and the registry, restarts b repeatedly, leaves c and d as they are, and demands that
/// all items run.
async fn progress_of_core(stage: &mut Stage, dead: &mut Vec<&'static str>) -> StepResult {
    if let Some(place) = dead.iter().position(|name| *name == "a") {
        dead.remove(place);
        stage.spawn("a", &work(WORK)).await?;
    }
    stage.resume("a").await?;
    stage.link("a", LinkMode::Pass).await?;
    stage.configure(|config| config.sharding_total_count = ITEMS).await?;
    let mark = stage.mark().await?;
    for _ in 0..FLAPS {
        if dead.contains(&"b") {
            dead.retain(|name| *name != "b");
            stage.link("b", LinkMode::Pass).await?;
            stage.spawn("b", &work(WORK)).await?;
        } else {
            dead.push("b");
            stage.kill("b").await?;
        }
        stage.elapse(stage.periods(1.0)).await;
    }
    stage
        .until_promised("the core runs every item although c and d may be broken", 12, |seen| {
            let runs = seen.since(mark).runs();
            (0..ITEMS).all(|item| runs.iter().any(|run| run.id.item == item && run.has_ended()))
        })
        .await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    // The leader changes only because its session ended or an operator removed it.
    let ended = seen
        .records()
        .iter()
        .filter(|record| matches!(record.fact, checker::history::Fact::SessClose { .. }));
    let (changes, ended) = (seen.terms().len(), ended.count());
    findings.expect(changes <= ended + 1, || {
        format!("the leader changed {changes} times, although only {ended} sessions ended")
    });
    leftovers(seen, &mut findings);
    findings.into_sentences()
}

/// Expects that the registry holds only nodes that living instances need.
fn leftovers(seen: &Seen<'_>, findings: &mut Findings) {
    let nodes = seen.nodes();
    let n_under = |folder: &str| nodes.iter().filter(|node| node.starts_with(folder)).count();
    let alive = NAMES.len();
    let instances = n_under("instances/");
    findings.expect(instances == alive, || {
        format!("{instances} instances are registered, but {alive} processes live")
    });
    for folder in ["leader/failover/items/", "coordination/draining/", "coordination/triggers/"] {
        let n = n_under(folder);
        findings.expect(n == 0, || format!("{n} nodes remain under {folder}"));
    }
    let surplus = nodes.iter().filter(|node| {
        let item = node
            .strip_prefix("sharding/")
            .and_then(|rest| rest.split('/').next()?.parse::<u32>().ok());
        item.is_some_and(|item| item >= ITEMS) && node.matches('/').count() == 2
    });
    let surplus: Vec<_> = surplus.collect();
    findings.expect(surplus.is_empty(), || format!("nodes of surplus items remain: {surplus:?}"));
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let installed = seen.records().iter().filter(|record| {
        matches!(
            &record.fact,
            checker::history::Fact::Nemesis { outcome: FaultOutcome::Installed, .. }
        )
    });
    let n = installed.count();
    findings.expect(n >= 10, || format!("only {n} faults were installed"));
    let healed = seen.healed().unwrap_or(u64::MAX);
    let chaos = seen.records().first().map_or(0, |record| healed.saturating_sub(record.mt));
    findings.expect(chaos >= ns(seen.period()) * u64::from(CHAOS), || {
        "the chaos was too short".to_owned()
    });
    findings.into_sentences()
}
