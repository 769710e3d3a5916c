//! F12: resharding is requested while a resharding is pending, and runs delay items.
//!
//! ```text
//! a leads   c joins:  reshard [held ....]  conflicts; planned again, for a, b and c
//! b         [.. ----------------------]
//! x         [.. -------|close: drains ---]  left; it gets no item
//! c                    ...............   gets items as their runs end
//! ```
//! ElasticJob reads the instances, waits, and then deletes an unversioned flag
//! (`ShardingService.java:109`), so it loses requests made meanwhile. Here, requests are a counter
//! and the leader does not wait: busy items are *pending* (ADR 1).

use std::collections::BTreeSet;

use checker::history::ProcessEvent;

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F12",
    title: "resharding is requested during a resharding",
    shows: "the last assignment is for the last instances; no request is lost",
    catches: "a request that is consumed without its version, or an assignment for instances read before a wait",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 2)],
};

const NAMES: [&str; 3] = ["a", "b", "d"];

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(6, &NAMES, &work(1.2)).await?;
    for name in NAMES {
        stage.until_running(name, 2).await?;
    }
    let leader = stage.leader().await?;
    let leaver = NAMES.into_iter().rev().find(|name| *name != leader).unwrap_or("d");
    stage.before(&leader, "resharding", Action::Delay(stage.sessions(0.5))).await?;
    stage.spawn("c", &work(1.2)).await?;
    stage.until_hit("delay", &leader, 1).await?;
    let mark = stage.mark().await?;
    stage.begin_close(leaver).await?;
    stage
        .until_promised("the leaving process has left", 10, |seen| {
            seen.since(mark).process(leaver, ProcessEvent::Left).next().is_some()
        })
        .await?;
    stage.until_shared(3).await?;
    stage.until_running("c", 1).await?;
    stage.heal_and_settle(0..6).await
}

fn leaver<'a>(seen: &Seen<'a>) -> Option<(&'a str, u64)> {
    NAMES.into_iter().find_map(|p| Some((p, seen.process(p, ProcessEvent::Drain).next()?)))
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..6);
    let Some((leaver, drain)) = leaver(seen) else { return findings.into_sentences() };
    let expected: BTreeSet<_> = NAMES.into_iter().chain(["c"]).filter(|p| *p != leaver).collect();
    let Some(last) = seen.assignments().into_iter().next_back() else {
        return findings.into_sentences();
    };
    let members: BTreeSet<_> = last.members.iter().filter_map(|id| seen.process_of(id)).collect();
    findings.expect(members == expected, || {
        format!("the last assignment is for {members:?}, not {expected:?}")
    });
    findings.expect(Some(last.handled) == seen.requests() && last.n_pending == 0, || {
        format!(
            "the last assignment has handled request {} of {:?} and left {} items pending",
            last.handled,
            seen.requests(),
            last.n_pending
        )
    });
    for item in 0..6 {
        let owner = seen.owner_at(item, u64::MAX);
        findings.expect(owner.is_some_and(|owner| expected.contains(owner)), || {
            format!("item {item} has the owner {owner:?} in the end")
        });
        let late = seen.owners(item).into_iter().filter(|(mt, _)| *mt > drain + 1_000_000_000);
        let mut late = late.filter_map(|(_, owner)| seen.process_of(owner?));
        findings.expect(!late.any(|p| p == leaver), || {
            format!("item {item} was assigned to {leaver}, which was leaving")
        });
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let held = seen.hits("delay").next().map(|hit| hit.mt);
    let next = held.and_then(|held| seen.assignments().into_iter().find(|a| a.mt > held));
    let drain = leaver(seen).map(|(_, mt)| mt);
    let between = held
        .zip(drain)
        .zip(next.as_ref())
        .is_some_and(|((held, drain), next)| held <= drain && drain < next.mt);
    findings
        .expect(between, || "no process began to leave while a resharding was pending".to_owned());
    findings.expect(next.is_some_and(|a| a.n_pending > 0), || "no item was pending".to_owned());
    findings.into_sentences()
}
