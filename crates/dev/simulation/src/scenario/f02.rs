//! F02: more orphaned runs than idle instances.
//!
//! ```text
//! fire      f              f+U
//! a         [0 1 2 --]     [0 1 2 --]
//! b         [3 4 5 --]     [3 4 5 --]
//! c         [6 killed
//! a                [6 FAILOVER --]
//! b                [7 FAILOVER --][8 FAILOVER --]
//! ```
//! ElasticJob takes over one orphaned run per instance and leaves the rest until the next
//! resharding (`FailoverService.getJobNodeChildrenKeys(...).get(0)`). Here, each instance takes
//! over until the queue is empty.

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{Seen, ns};
use super::stage::{Stage, StepResult, work};

const WORK: f64 = 0.6;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F02",
    title: "more orphaned runs than idle instances",
    shows: "all orphaned runs are taken over, not one per idle instance; none waits for a resharding",
    catches: "a takeover duty that stops after its first takeover, or that waits until its instance owns the item",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 3)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(9, &["a", "b", "c"], &work(WORK)).await?;
    stage.until_running("c", 3).await?;
    let mark = stage.mark().await?;
    stage.kill("c").await?;
    stage.until_taken_over(3, mark, 8).await?;
    stage.heal_and_settle(0..9).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let Some(crash) = seen.hits("crash").next() else { return findings.into_sentences() };
    findings.lost_runs_are_repeated(seen, "c", crash.mt);
    let lost = seen.held_at("c", crash.mt);
    // Two instances take over three runs, so the last one waits for one run to end.
    let rounds = u32::try_from(lost.len().div_ceil(2)).unwrap_or(u32::MAX);
    let allowed = seen.recovery() + seen.period().mul_f64(WORK) * rounds;
    for lost in &lost {
        let Some(taken) = lost.takeovers().next() else { continue };
        findings.expect(taken.mt <= crash.mt + ns(allowed), || {
            let after = (taken.mt - crash.mt) / 1_000_000;
            format!("item {} was taken over after {after} ms; at most {allowed:?}", lost.item)
        });
        let moved =
            seen.owners(lost.item).into_iter().any(|(mt, _)| mt > crash.mt && mt <= taken.mt);
        findings.expect(!moved, || format!("item {} waited for a resharding", lost.item));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let held = seen.hits("crash").next().map_or(0, |crash| seen.held_at("c", crash.mt).len());
    findings.expect(held >= 3, || format!("c held {held} claims when it was killed, not 3"));
    findings.into_sentences()
}
