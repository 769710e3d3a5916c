//! F03: a graceful close is not a crash, neither while idle nor while running.
//!
//! ```text
//! fire      f            f+U          ..   g            g+U
//! a         [0 1 --]x left
//! b         [2 3 --]     [0 1 2 3 --]      [0 1 --]     [0 1 2 3 --]
//! c                      joins ......      [2 3 x --]left
//!                                               close: it drains, then leaves
//! ```
//! ElasticJob 2.1.5 treats any instance that disappears as crashed (`JobCrashedJobListener`), and
//! repeats the completed items of the fire.

use checker::history::ProcessEvent;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F03",
    title: "graceful close is not a crash",
    shows: "an instance that leaves gracefully is not failed over; other instances own its items at the next fire",
    catches: "a shutdown that deletes the registration before its runs have ended, or a resharding that waits for the next fire",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 3)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(4, &["a", "b"], &work(0.4)).await?;
    stage.until_running("a", 2).await?;
    stage.until_idle("a").await?;
    stage
        .until("the runs of a are recorded", 2, |seen| {
            seen.events("settled").filter(|event| event.p == "a").count() >= 2
        })
        .await?;
    let mark = stage.mark().await?;
    stage.close("a").await?;
    stage.until_all_run_by("b", 0..4, mark).await?;

    stage.spawn("c", &work(0.4)).await?;
    stage.until_running("c", 2).await?;
    stage.close("c").await?;
    let mark = stage.mark().await?;
    stage.until_all_run_by("b", 0..4, mark).await?;
    stage.heal_and_settle(0..4).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..4);
    let left = seen.process("c", ProcessEvent::Left).next();
    for run in seen.runs().iter().filter(|run| run.p == "c") {
        let ended = run.end.map(|(mt, _)| mt);
        findings.expect(run.has_succeeded() && ended < left.or(Some(u64::MAX)), || {
            format!("item {} did not succeed before c left: {:?}", run.id.item, run.end)
        });
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let busy_at_drain = |p| {
        let drain = seen.process(p, ProcessEvent::Drain).next()?;
        Some(seen.runs().iter().filter(|run| run.p == p && run.spans(drain)).count())
    };
    let (a, c) = (busy_at_drain("a"), busy_at_drain("c"));
    findings.expect(a == Some(0), || format!("a ran {a:?} items when it left; expected 0"));
    findings
        .expect(c >= Some(1), || format!("c ran {c:?} items when it left; expected at least 1"));
    findings.into_sentences()
}
