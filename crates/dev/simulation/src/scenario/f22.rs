//! F22: failover is turned off while orphans wait, and on again an hour later.
//!
//! ```text
//! c           [4 5 -- killed
//! a, b                 takeover [held ......] fails: the configuration has changed
//! failover    on ...............|off .......................... an hour ............|on
//! items 4 5            orphan   |interrupted; later fires run as usual
//! ```
//! ElasticJob's `removeFailoverInfo` leaves `leader/failover/items`: the old orphans are taken over when failover is on
//! again.

use super::findings::Findings;
use super::history_queries::{Change, Lost, Seen};
use super::stage::{Played, Stage, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F22",
    title: "failover off during a failover, on again later",
    shows: "orphans are accounted for when failover is turned off, and do not rise again",
    catches: "a queue of orphans that is not cleared, or a takeover that does not check the configuration",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> Played {
    // Whoever leads is busy when the session of c ends, and takes nothing over as it finds it.
    stage.assemble(6, &["a", "b", "c"], &work(0.9)).await?;
    stage.until_running("c", 2).await?;
    for taker in ["a", "b"] {
        stage.before(taker, "takeover", Action::Delay(stage.periods(0.5))).await?;
    }
    stage.kill("c").await?;
    stage
        .until("both takeovers are under way", 6, |seen| {
            ["a", "b"].iter().all(|p| seen.hits("delay").any(|hit| hit.target == *p))
        })
        .await?;
    stage.configure(|config| config.failover = false).await?;
    stage.until_shared(2).await?;
    stage.elapse(stage.an_hour()).await;
    stage.configure(|config| config.failover = true).await?;
    stage.rest(0..6).await
}

fn lost(seen: &Seen<'_>) -> Vec<Lost> {
    seen.hits("crash").next().map_or_else(Vec::new, |crash| seen.held_at("c", crash.mt))
}

fn turned(seen: &Seen<'_>) -> Vec<u64> {
    // The first two configurations are the job's and its schedule.
    let kill = seen.hits("crash").next().map_or(u64::MAX, |crash| crash.mt);
    seen.acts("config").filter(|mt| *mt > kill).collect()
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
        let done = lost.done();
        let outcome = done.and_then(|done| done.after.outcome.clone());
        findings.expect(outcome.as_deref() == Some("interrupted"), || {
            format!("the lost run of item {} was recorded as {outcome:?}", lost.item)
        });
        findings.in_time(
            seen,
            off,
            done.map(|change: &Change| change.mt),
            "recording what was lost",
        );
    }
    let again = seen.runs().iter().filter(|run| run.is_failover()).count();
    findings.expect(again == 0, || format!("{again} runs by failover"));
    let queued: Vec<_> = seen
        .nodes()
        .into_iter()
        .filter(|node| node.starts_with("leader/failover/items/"))
        .collect();
    findings.expect(queued.is_empty(), || format!("left in the queue: {queued:?}"));
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let off = turned(seen).first().copied();
    let waiting = lost(seen)
        .iter()
        .filter_map(Lost::found)
        .filter(|found| found.after.is_orphan() && Some(found.mt) < off)
        .count();
    findings.expect(waiting > 0, || "no orphan waited when failover was turned off".to_owned());
    let held = seen.hits("delay").filter(|hit| Some(hit.mt) <= off).count();
    findings.expect(held == 2, || {
        format!("{held} takeovers were under way when failover was turned off, not 2")
    });
    findings.into_sentences()
}
