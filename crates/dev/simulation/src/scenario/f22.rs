//! F22: failover is turned off while orphaned runs wait, and on again an hour later.
//!
//! ```text
//! c           [4 5 -- killed
//! a, b                 takeover [held ......] conflicts: the configuration changed
//! failover    on ...............|off .......................... an hour ............|on
//! items 4 5            orphaned |interrupted; later fires run as usual
//! ElasticJob's `removeFailoverInfo` leaves `leader/failover/items`, so the old orphaned runs are
//! taken over when failover is on again.

use super::findings::Findings;
use super::history_queries::{Change, Lost, Seen};
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F22",
    title: "failover off during a failover, on again later",
    shows: "orphaned runs are recorded as interrupted when failover is turned off, and stay so",
    catches: "a failover queue that is not cleared, or a takeover without a guard on the configuration",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    // The leader is busy when the session of c ends, so it does not take over at the sweep.
    stage.assemble(6, &["a", "b", "c"], &work(0.9)).await?;
    stage.until_running("c", 2).await?;
    for taker in ["a", "b"] {
        stage.before(taker, "takeover", Action::Delay(stage.periods(0.5))).await?;
    }
    stage.kill("c").await?;
    stage
        .until("both takeovers are delayed", 6, |seen| {
            ["a", "b"].iter().all(|p| seen.hits("delay").any(|hit| hit.target == *p))
        })
        .await?;
    stage.configure(|config| config.failover = false).await?;
    stage.until_shared(2).await?;
    stage.elapse(stage.an_hour()).await;
    stage.configure(|config| config.failover = true).await?;
    stage.heal_and_settle(0..6).await
}

fn lost(seen: &Seen<'_>) -> Vec<Lost> {
    seen.hits("crash").next().map_or_else(Vec::new, |crash| seen.held_at("c", crash.mt))
}

fn turned(seen: &Seen<'_>) -> Vec<u64> {
    // The first two configurations create the job and set its schedule.
    let kill = seen.hits("crash").next().map_or(u64::MAX, |crash| crash.mt);
    seen.operator_actions("config").filter(|mt| *mt > kill).collect()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let off = turned(seen).first().copied().unwrap_or(u64::MAX);
    for lost in lost(seen) {
        let taken: Vec<_> = lost.takeovers().map(|change| change.mt).collect();
        findings.expect(taken.is_empty(), || {
            format!(
                "item {} was taken over at {taken:?} ns although failover was off from {off} ns on",
                lost.item
            )
        });
        let done = lost.completed_by();
        let outcome = done.and_then(|done| done.after.outcome.clone());
        findings.expect(outcome.as_deref() == Some("interrupted"), || {
            format!("the lost run of item {} was recorded as {outcome:?}", lost.item)
        });
        findings.in_time(
            seen,
            off,
            done.map(|change: &Change| change.mt),
            "recording the lost run",
        );
    }
    let again = seen.runs().iter().filter(|run| run.is_failover()).count();
    findings.expect(again == 0, || format!("{again} runs by failover"));
    let queued: Vec<_> = seen
        .nodes()
        .into_iter()
        .filter(|node| node.starts_with("leader/failover/items/"))
        .collect();
    findings.expect(queued.is_empty(), || format!("items left in the failover queue: {queued:?}"));
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let off = turned(seen).first().copied();
    let waiting = lost(seen)
        .iter()
        .filter_map(Lost::orphaned_by)
        .filter(|found| found.after.is_orphan() && Some(found.mt) < off)
        .count();
    findings
        .expect(waiting > 0, || "no orphaned run waited when failover was turned off".to_owned());
    let held = seen.hits("delay").filter(|hit| Some(hit.mt) <= off).count();
    findings.expect(held == 2, || {
        format!("{held} takeovers were delayed when failover was turned off, not 2")
    });
    findings.into_sentences()
}
