//! F09: the leader is cut off while it reshards.
//!
//! ```text
//! a leads   resharding for c [held 0.5T ...]     its write is never executed
//! link a    .................|black 3T ..........|pass
//! b                                 leads, reshards for b and c
//! a                                              joins again, gets items again
//! ```

use super::findings::Findings;
use super::history_queries::{Seen, ns};
use super::stage::{Stage, StepResult, work};
use super::{Action, LinkMode, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F09",
    title: "partition of the leader",
    shows: "a leader that is cut off is replaced in time, and its later writes fail",
    catches: "leader-only writes without a guard on the term, or an isolated process that still starts runs",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(4, &["a", "b"], &work(0.5)).await?;
    let leader = stage.leader().await?;
    stage.next_fire_of(&leader).await?;
    stage.before(&leader, "resharding", Action::Delay(stage.sessions(0.5))).await?;
    stage.spawn("c", &work(0.5)).await?;
    stage.until_hit("delay", &leader, 1).await?;
    let mark = stage.mark().await?;
    stage.link(&leader, LinkMode::Black).await?;
    stage.elapse(stage.sessions(3.0)).await;
    stage
        .until_promised("another leader reshards for two instances", 4, |seen| {
            let resharded = seen.since(mark).events("resharded").any(|event| event.p != leader);
            resharded && seen.assigned_for() == Some(2)
        })
        .await?;
    let mark = stage.mark().await?;
    stage.link(&leader, LinkMode::Pass).await?;
    stage.until_rejoined(&leader, mark).await?;
    stage.until_shared(3).await?;
    stage.heal_and_settle(0..4).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let Some(cut) = seen.hits("partition").next() else { return findings.into_sentences() };
    let old = seen.session_at(cut.target, cut.mt);
    let next = seen.terms().into_iter().find(|(mt, sid)| *mt > cut.mt && Some(*sid) != old);
    findings.in_time(seen, cut.mt, next.map(|(mt, _)| mt), "the election of another leader");
    let late = seen.assignments().into_iter().find(|a| a.mt > cut.mt && Some(a.sid) == old);
    findings.expect(late.is_none(), || {
        format!("the former leader resharded at revision {:?}", late.as_ref().map(|a| a.zxid))
    });
    let heals = seen
        .ends_of("partition")
        .find(|end| end.target == cut.target)
        .map_or(u64::MAX, |end| end.mt);
    let lease = ns(seen.session_timeout());
    findings.starts_nothing(seen, cut.target, cut.mt + lease, heals);
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let (held, cut) = (seen.hits("delay").next(), seen.hits("partition").next());
    let hit =
        held.zip(cut).is_some_and(|(held, cut)| held.target == cut.target && held.mt <= cut.mt);
    findings.expect(hit, || "the leader had no pending resharding when it was cut off".to_owned());
    let led = cut.and_then(|cut| {
        let last = seen.terms().into_iter().rev().find(|(mt, _)| *mt <= cut.mt)?;
        Some(seen.session_at(cut.target, cut.mt) == Some(last.1))
    });
    findings.expect(led == Some(true), || "the process that was cut off did not lead".to_owned());
    findings.into_sentences()
}
