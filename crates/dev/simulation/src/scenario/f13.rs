//! F13: a claim races a resharding, without faults.
//!
//! ```text
//! fire                      f
//! b         joins
//! a leads   reshard [held 0.5U ....]  item 1 is assigned to b
//! a                         claims 0 and 1 [held 0.5U ....]  conflicts: a no longer owns item 1
//! b                                    [1 --]
//! a                                                          [0 --]
//! ```
//! b joins before the fire. An instance that joins after a fire does not run it. If an item is
//! assigned to such a newcomer before the fire was claimed, the fire appears as a gap (ADR 2). For
//! that, a claim would have to take longer than a join.
//!
//! ElasticJob reads its items from a cache and marks them as running without comparing versions.

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F13",
    title: "claim races a resharding",
    shows: "a claim planned before a resharding conflicts; the item runs once, at its new owner",
    catches: "a claim without guards on the owner and the assignment",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a"], &work(0.2)).await?;
    stage.next_fire_of("a").await?;
    stage.elapse(stage.periods(0.65)).await;
    stage.before("a", "resharding", Action::Delay(stage.periods(0.5))).await?;
    stage.before("a", "claim", Action::Delay(stage.periods(0.5))).await?;
    stage.spawn("b", &work(0.2)).await?;
    stage.until_hit("delay", "a", 2).await?;
    stage.until_running("b", 1).await?;
    stage.until_idle("b").await?;
    stage.heal_and_settle(0..2).await
}

/// Returns when the claim was delayed, and its fire.
fn held(seen: &Seen<'_>) -> Option<(u64, i64)> {
    let held = seen.hits("delay").nth(1)?.mt;
    let claims = seen.ledger().into_iter().filter(|change| change.mt > held && change.is_claim());
    Some((held, claims.filter_map(|change| change.after.fire).min()?))
}

/// Returns the items that were assigned to b before the fire was claimed.
fn moved(seen: &Seen<'_>) -> Vec<u32> {
    let Some((held, fire)) = held(seen) else { return Vec::new() };
    let claimed = |item| {
        let mut claims = seen.ledger_of(item).into_iter();
        claims.find(|c| c.is_claim() && c.after.fire == Some(fire)).map(|claim| claim.mt)
    };
    let moves = |item: &u32| {
        seen.owners(*item).into_iter().any(|(mt, owner)| {
            mt > held
                && owner.and_then(|id| seen.process_of(id)) == Some("b")
                && claimed(*item) > Some(mt)
        })
    };
    (0..2).filter(moves).collect()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..2);
    let Some((_, fire)) = held(seen) else { return findings.into_sentences() };
    let moved = moved(seen);
    for item in 0..2 {
        let ran: Vec<_> = seen.runs_of(item, fire).into_iter().map(|run| run.p).collect();
        let expected = if moved.contains(&item) { ["b"] } else { ["a"] };
        findings.expect(ran == expected, || {
            format!("fire {fire} of item {item} was run by {ran:?}, not by {expected:?}")
        });
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.expect(!moved(seen).is_empty(), || {
        "no item changed its owner while its claim was pending".to_owned()
    });
    findings.into_sentences()
}
