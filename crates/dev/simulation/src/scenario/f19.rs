//! F19: the views of processes lag behind the registry.
//!
//! ```text
//! a, b      [..]   |lags half a period ..............................|
//! c                joins and gets items while a and b still see the old assignment
//! fires            f+U: late, or a conflict and then a claim of the new owner; never twice
//! ```

use super::f14::one_run_per_claim;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};
use super::{RegEvent, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F19",
    title: "stale follower",
    shows: "an instance with a stale view acts late, but never on lost ownership",
    catches: "a decision based on a cached read, without a guard in its transaction",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(4, &["a", "b"], &work(0.2)).await?;
    stage.next_fire_of("a").await?;
    stage.registry(RegEvent::Lag(stage.periods(0.5))).await?;
    stage.spawn("c", &work(0.2)).await?;
    stage.until_running("c", 1).await?;
    stage.elapse(stage.periods(2.0)).await;
    stage.registry(RegEvent::Lag(std::time::Duration::ZERO)).await?;
    stage.heal_and_settle(0..4).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_accounted_for_all(seen, 0..4);
    one_run_per_claim(seen, &mut findings);
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let (from, to) = (seen.hits("lag").next(), seen.ends_of("lag").next());
    let moved = from.zip(to).is_some_and(|(from, to)| {
        (0..4).any(|item| seen.owners(item).iter().any(|(mt, _)| *mt > from.mt && *mt < to.mt))
    });
    findings.expect(moved, || "no item changed its owner while views lagged".to_owned());
    findings.into_sentences()
}
