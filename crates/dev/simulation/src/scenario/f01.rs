//! F01: a process is killed while it runs.
//!
//! ```text
//! fire      f                    f+U                 f+2U
//! a, b      [0..3 ----------------------]
//! c         [4 5 ---- killed
//! session   ..............expires (T)
//! a, b                              [4 FAILOVER of f ----------]  [..
//! ```
//! Work takes a period and a half, so that no instance is idle at the takeover. Idle instances
//! would take over first; busy instances follow a moment later.

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F01",
    title: "crash while running",
    shows: "runs of a killed process are repeated for the same fire, only after its session has ended",
    catches: "a sweep that uses a list of instances read before the ledger; a takeover for another fire or under the same token",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(6, &["a", "b", "c"], &work(1.5)).await?;
    stage.until_running("c", 2).await?;
    let mark = stage.mark().await?;
    stage.kill("c").await?;
    stage.until_taken_over(2, mark, 8).await?;
    stage.heal_and_settle(0..6).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let Some(crash) = seen.hits("crash").next() else { return findings.into_sentences() };
    findings.lost_runs_are_repeated(seen, "c", crash.mt);
    for survivor in ["a", "b"] {
        for held in seen.held_at(survivor, crash.mt) {
            findings.expect(held.orphaned_by().is_none(), || {
                format!("item {} of {survivor} was orphaned although {survivor} lives", held.item)
            });
        }
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let held = seen.hits("crash").next().map_or(0, |crash| seen.held_at("c", crash.mt).len());
    findings.expect(held >= 2, || format!("c held {held} claims when it was killed, not 2"));
    findings.into_sentences()
}
