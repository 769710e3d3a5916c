//! F26: all processes die in the middle of a fire, and two come back together.
//!
//! ```text
//! a, b, c   [0..6 ---- killed
//! sessions  ...................expire; no process sees it
//! a', b'                            start together   [0..6 FAILOVER of the same fire ----]
//! ```
//! ElasticJob recovers leftovers only if the newcomer is the only instance
//! (`FailoverListenerManager.java:131`). If two start at once, the running marks stay and the
//! leader waits for ever (#2429).

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F26",
    title: "all die, two come back together",
    shows: "the instances that come back find and repeat the unfinished runs of the whole cluster",
    catches: "a sweep that waits for the notification of a removal, instead of reading the view",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 6)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(6, &["a", "b", "c"], &work(0.8)).await?;
    for name in ["a", "b", "c"] {
        stage.until_running(name, 2).await?;
    }
    let mark = stage.mark().await?;
    for name in ["a", "b", "c"] {
        stage.kill(name).await?;
    }
    stage.elapse(stage.sessions(1.6)).await;
    // A database ends no session by itself, and the clients of the harness look less often than
    // instances do.
    stage
        .until("the sessions of all processes have ended", 6, |seen| {
            let mut ids = ["a", "b", "c"].into_iter().flat_map(|name| seen.sessions_of(name));
            ids.all(|sid| seen.closed(sid).is_some())
        })
        .await?;
    stage.spawn("a", &work(0.8)).await?;
    stage.spawn("b", &work(0.8)).await?;
    stage.until_taken_over(6, mark, 14).await?;
    stage.heal_and_settle(0..6).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for crash in seen.hits("crash") {
        findings.lost_runs_are_repeated(seen, crash.target, crash.mt);
    }
    findings.each_fire_accounted_for_all(seen, 0..6);
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let held: usize =
        seen.hits("crash").map(|crash| seen.held_at(crash.target, crash.mt).len()).sum();
    findings.expect(held == 6, || format!("{held} items were held when all were killed, not 6"));
    let ended = seen
        .hits("crash")
        .filter_map(|crash| seen.closed(seen.session_at(crash.target, crash.mt)?));
    let gone = ended.map(|(mt, _)| mt).max();
    let back = seen.events("joined").map(|event| event.mt).filter(|mt| Some(*mt) > gone).count();
    findings.expect(back == 2, || format!("{back} instances came back after all were gone, not 2"));
    findings.into_sentences()
}
