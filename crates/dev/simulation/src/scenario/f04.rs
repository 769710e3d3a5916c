//! F04: a crash during a failover run.
//!
//! ```text
//! a, b, d   [.. --]
//! c         [i t killed
//! x                     [i FAILOVER t+1 killed             x is the instance that took over
//! y                                           [i FAILOVER t+2 ----] done
//! ```

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F04",
    title: "crash during a failover run",
    shows: "a run that is lost twice is taken over twice, under rising tokens, and completed once",
    catches: "a sweep that ignores runs by failover, or a failover mark that blocks the next takeover",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(6, &["a", "b", "c"], &work(0.9)).await?;
    stage.until_running("c", 2).await?;
    stage.kill("c").await?;
    let taker = stage
        .find("an instance takes over a run", 6, |seen| {
            let runs = seen.runs();
            let taken = runs.iter().find(|run| run.is_failover() && !run.has_ended());
            taken.map(|run| run.p.to_owned())
        })
        .await?;
    let mark = stage.mark().await?;
    stage.kill(&taker).await?;
    stage
        .until_promised("the run is taken over again and completed", 10, |seen| {
            let killed: Vec<_> = seen.hits("crash").map(|hit| hit.target).collect();
            let lost: Vec<_> = seen
                .runs()
                .into_iter()
                .filter(|run| killed.contains(&run.p) && !run.has_ended())
                .collect();
            let done = seen.since(mark).runs();
            lost.iter().all(|lost| {
                done.iter().any(|run| {
                    run.has_succeeded()
                        && run.id.item == lost.id.item
                        && run.id.fire == lost.id.fire
                })
            })
        })
        .await?;
    stage.heal_and_settle(0..6).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for crash in seen.hits("crash") {
        for lost in seen.held_at(crash.target, crash.mt) {
            let tokens: Vec<_> = lost.takeovers().map(|change| change.after.token).collect();
            let expected: Vec<_> = (lost.token + 1..).take(tokens.len()).collect();
            findings.expect(!tokens.is_empty() && tokens == expected, || {
                format!(
                    "item {} was lost under token {} and run again under {tokens:?}",
                    lost.item, lost.token
                )
            });
            let ends = lost.then.iter().filter(|change| {
                change.is_end() && change.before.as_ref().is_some_and(|b| b.fire == Some(lost.fire))
            });
            let ends: Vec<_> = ends.map(|end| end.after.outcome.clone()).collect();
            findings.expect(ends == [Some("succeeded".to_owned())], || {
                format!(
                    "fire {} of item {} was completed with the outcomes {ends:?}",
                    lost.fire, lost.item
                )
            });
        }
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    let hit = seen.hits("crash").nth(1).is_some_and(|second| {
        runs.iter().any(|run| run.p == second.target && run.is_failover() && run.spans(second.mt))
    });
    findings
        .expect(hit, || "the second process ran nothing by failover when it was killed".to_owned());
    findings.into_sentences()
}
