//! F19: what a process sees of the registry lags behind.
//!
//! ```text
//! a, b      [..]   |lags half a period ..............................|
//! c                joins; items move to it while others still see the old assignment
//! fires            f+U: late, or refused and then claimed by the new owner; never twice
//! ```

use super::f14::once_each;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Played, Stage, work};
use super::{RegEvent, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F19",
    title: "stale follower",
    shows: "who sees the past acts late, but never on ownership that it has no more",
    catches: "a decision that rests on a cached read and is not checked in its transaction",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 1)],
};

async fn script(stage: &mut Stage) -> Played {
    stage.assemble(4, &["a", "b"], &work(0.2)).await?;
    stage.next_fire_of("a").await?;
    stage.registry(RegEvent::Lag(stage.periods(0.5))).await?;
    stage.spawn("c", &work(0.2)).await?;
    stage.until_running("c", 1).await?;
    stage.elapse(stage.periods(2.0)).await;
    stage.registry(RegEvent::Lag(std::time::Duration::ZERO)).await?;
    stage.rest(0..4).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_accounted_for_all(seen, 0..4);
    once_each(seen, &mut findings);
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let (from, to) = (seen.hits("lag").next(), seen.ends_of("lag").next());
    let moved = from.zip(to).is_some_and(|(from, to)| {
        (0..4).any(|item| seen.owners(item).iter().any(|(mt, _)| *mt > from.mt && *mt < to.mt))
    });
    findings.expect(moved, || "no item moved while anybody saw the past".to_owned());
    findings.into_sentences()
}
