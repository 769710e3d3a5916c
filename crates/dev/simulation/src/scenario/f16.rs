//! F16: the note of a misfire races the completion of the run that it met.
//!
//! ```text
//! fire      f        f+U        f+2U       f+3U
//! a         [f -- 1.6U ---]     ......
//! note               f+U, and then one of:
//!                    reply lost | request lost | delayed beyond the run | a killed after it
//! a                       [f+U MISFIRE ---]
//! ```
//! ElasticJob checks the mark, clears it and then runs (`ElasticJobExecutor.java:112`). A mark or a
//! crash between these steps is lost, or causes a replay at an unrelated later fire.

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F16",
    title: "misfire note races the completion",
    shows: "a fire that meets a busy item is run once afterwards, even if the note is lost or its author dies",
    catches: "a note without compare-and-set, or a note that is cleared before its run is claimed",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("misfire", 2), ("failover", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a", "b"], &work(1.6)).await?;
    stage.until_running("a", 1).await?;
    stage.after("a", "misfire", Action::Lose).await?;
    stage.until_hit("lose_reply", "a", 1).await?;
    stage.before("a", "misfire", Action::Lose).await?;
    stage.until_hit("lose_request", "a", 1).await?;
    stage.before("a", "misfire", Action::Delay(stage.periods(0.7))).await?;
    stage.until_hit("delay", "a", 1).await?;
    stage.after("a", "release", Action::Lose).await?;
    stage.until_hit("lose_reply", "a", 2).await?;
    let noted = stage.mark().await?;
    stage
        .until("a notes a misfire during its run", 6, |seen| {
            seen.since(noted).events("misfire_noted").any(|event| event.p == "a")
                && !seen.running_on("a").is_empty()
        })
        .await?;
    let mark = stage.mark().await?;
    stage.kill("a").await?;
    stage.until_taken_over(1, mark, 8).await?;
    stage
        .until_promised("the new owner runs the noted fires", 6, |seen| {
            let runs = seen.since(mark).runs();
            runs.iter().any(|run| {
                run.p == "b" && !run.is_failover() && run.has_ended() && run.source == "MISFIRE"
            })
        })
        .await?;
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for item in 0..2 {
        findings.each_fire_accounted(seen, item);
        findings.misfires_have_ranges(seen, item);
    }
    let Some(crash) = seen.hits("crash").next() else { return findings.into_sentences() };
    findings.lost_runs_are_repeated(seen, "a", crash.mt);
    for lost in seen.held_at("a", crash.mt) {
        let noted = noted_at(seen, lost.item, crash.mt);
        let replayed = seen.accounts(lost.item).into_iter().any(|account| {
            account.token > lost.token && noted.is_some_and(|first| account.first == first)
        });
        findings.expect(replayed, || {
            format!(
                "item {}: the misfire noted before the crash ({noted:?}) was not run after it",
                lost.item
            )
        });
    }
    findings.into_sentences()
}

/// Returns the first noted fire of an item at this moment.
fn noted_at(seen: &Seen<'_>, item: u32, mt: u64) -> Option<i64> {
    let last = seen.ledger_of(item).into_iter().rev().find(|change| change.mt <= mt)?;
    last.after.misfire.as_ref().map(|range| range.first)
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for (kind, wanted) in [("lose_reply", 2), ("lose_request", 1), ("delay", 1)] {
        let n = seen.hits(kind).filter(|hit| hit.target == "a").count();
        findings.expect(n == wanted, || format!("{kind} happened {n} times to a, not {wanted}"));
    }
    let waited = seen.hits("crash").next().is_some_and(|crash| {
        let held = seen.held_at("a", crash.mt);
        !held.is_empty() && held.iter().all(|lost| noted_at(seen, lost.item, crash.mt).is_some())
    });
    findings.expect(waited, || "no misfire was noted when a was killed".to_owned());
    findings.into_sentences()
}
