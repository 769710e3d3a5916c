//! F15: the outcome of a completion is unknown: once its reply is lost, once its request.
//!
//! ```text
//! a   [i t ---- done ->commit x lost    finds the completion in the record
//! a   [i t+1 -- done x lost             finds its run in the record, completes it again
//! ```

use super::f14::one_run_per_claim;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F15",
    title: "ambiguous completion",
    shows: "a completion in doubt is recorded once; nothing is taken over or run again",
    catches: "forgetting a run whose completion failed, or overwriting a later claim with it",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a", "b"], &work(0.3)).await?;
    for (kind, is_reply) in [("lose_reply", true), ("lose_request", false)] {
        stage.next_fire_of("a").await?;
        match is_reply {
            true => stage.after("a", "release", Action::Lose).await?,
            false => stage.before("a", "release", Action::Lose).await?,
        }
        stage.until_hit(kind, "a", 1).await?;
        let mark = stage.mark().await?;
        stage
            .until_promised("the completion is recorded nevertheless", 2, |seen| {
                seen.since(mark).events("settled").any(|event| event.p == "a")
            })
            .await?;
    }
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..2);
    one_run_per_claim(seen, &mut findings);
    for change in seen.ledger().iter().filter(|change| change.is_end()) {
        let outcome = change.after.outcome.as_deref();
        findings.expect(outcome == Some("succeeded"), || {
            format!(
                "the run of item {} under token {} ended as {outcome:?}",
                change.item, change.after.token
            )
        });
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for kind in ["lose_reply", "lose_request"] {
        let n = seen.hits(kind).filter(|hit| hit.target == "a").count();
        findings.expect(n == 1, || format!("{kind} at a completion happened {n} times, not once"));
    }
    findings.into_sentences()
}
