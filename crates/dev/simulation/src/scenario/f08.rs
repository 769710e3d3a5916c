//! F08: the connection breaks and returns within the session, during a run.
//!
//! ```text
//! a         [i t -----------------------]      the same run, the same token
//! link      ......|black T/4|reset|pass
//! session   ................................    the same one
//! ```
//! The lease lasts for two thirds of the timeout T since the last proof that the session lives.
//! That proof is up to a third of the timeout old when the connection breaks, and the reconnect
//! takes a moment. A longer break would therefore end the lease, and with it the run.
//!
//! On RECONNECTED, ElasticJob clears the running marks of its items
//! (`RegistryCenterConnectionStateListener`). This includes items that it still executes, and items
//! that another instance executes by failover.

use checker::history::SessionEvent;

use super::findings::Findings;
use super::history_queries::{RunSeen, Seen, ns};
use super::stage::{Stage, StepResult, work};
use super::{LinkMode, Scenario};

/// Duration of the break, in session timeouts.
const BREAK: f64 = 0.25;
/// The shortest duration of a lease after a break, in session timeouts.
const LEASE: f64 = 2.0 / 3.0 - 1.0 / 3.0;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F08",
    title: "reconnect without expiry while running",
    shows: "a reconnect within the session does not affect running items",
    catches: "clearing running marks on reconnect, or cancelling runs when the connection is suspended",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a", "b"], &work(1.2)).await?;
    stage.until_running("a", 1).await?;
    let mark = stage.mark().await?;
    stage.link("a", LinkMode::Black).await?;
    stage.elapse(stage.sessions(BREAK)).await;
    stage.link("a", LinkMode::Pass).await?;
    stage.link("a", LinkMode::Reset).await?;
    stage.until_session("a", mark, SessionEvent::Suspended).await?;
    stage.until_session("a", mark, SessionEvent::Connected).await?;
    stage.until_idle("a").await?;
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..2);
    let broken = seen.hits("partition").next().map_or(u64::MAX, |hit| hit.mt);
    for run in seen.runs().iter().filter(|run| run.p == "a" && run.spans(broken)) {
        let again = seen.runs_of(run.id.item, run.id.fire).len();
        findings.expect(run.has_succeeded() && again == 1, || {
            format!(
                "item {} was run {again} times for its fire and ended as {:?}",
                run.id.item, run.end
            )
        });
    }
    let resharded =
        seen.assignments().into_iter().filter(|assignment| assignment.mt > broken).count();
    findings.expect(resharded == 0, || format!("items were resharded {resharded} times"));
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let broken = seen.hits("partition").next().map(|hit| hit.mt);
    let busy = broken.is_some_and(|mt| seen.runs().iter().any(|run| run.p == "a" && run.spans(mt)));
    findings.expect(busy, || "a ran nothing when the connection broke".to_owned());
    let back = seen.sessions("a").find(|(mt, ev, _)| {
        *ev == SessionEvent::Connected && broken.is_some_and(|broken| *mt > broken)
    });
    let took = broken.zip(back).map(|(broken, (back, ..))| back.saturating_sub(broken));
    if took.is_none_or(|took| took > ns(seen.session_timeout().mul_f64(LEASE))) {
        let spans = |run: &&RunSeen<'_>| run.p == "a" && broken.is_some_and(|mt| run.spans(mt));
        for run in seen.runs().iter().filter(spans) {
            findings.expect(run.has_succeeded(), || {
                format!("the lease of a may have ended before it was back, after {took:?} ns")
            });
        }
    }
    let ids: Vec<_> = seen.sessions("a").map(|(_, _, sid)| sid).collect();
    let cycle = seen.sessions("a").any(|(_, ev, _)| ev == SessionEvent::Suspended);
    findings.expect(cycle && ids.iter().all(|sid| ids.first() == Some(sid)), || {
        format!("a must be suspended and reconnect in the same session; it saw {ids:?}")
    });
    findings.into_sentences()
}
