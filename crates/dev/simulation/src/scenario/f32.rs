//! F32: processes that hold permits of a limited job are killed and stopped, and the limit changes.
//!
//! ```text
//! limit  2 ............................................... |1 ........ |3 ...
//! b      [i -killed            a or c takes i over, with a permit of its own
//! c      [j --- stopped, session ends ---]      its permit is free for other runs
//! ```

use checker::history::RunId;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{Change, Seen};
use super::stage::{Stage, StepResult, work};

const HOLDERS: [&str; 3] = ["a", "b", "c"];
const ITEMS: u32 = 4;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F32",
    title: "killed and stopped holders of permits, and a limit that changes",
    shows: "no more runs than the limit; a lost process gives its permits back, and all items run",
    catches: "a permit outside of the claim's transaction, or one that outlasts its session",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("crash", 1), ("pause", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let limited = |max| move |config: &mut lite::JobConfig| config.cluster_concurrency = Some(max);
    stage.assemble_with(ITEMS, &HOLDERS, &work(0.3), limited(2)).await?;
    let of_killed = stage.next_run_of("b").await?;
    stage.kill("b").await?;
    until_taken_over(stage, &of_killed).await?;
    stage.spawn("b", &work(0.3)).await?;
    stage.until_shared(HOLDERS.len()).await?;

    let of_stopped = stage.next_run_of("c").await?;
    stage.pause("c").await?;
    until_taken_over(stage, &of_stopped).await?;
    let mark = stage.mark().await?;
    stage.resume("c").await?;
    stage.until_rejoined("c", mark).await?;
    stage.until_shared(HOLDERS.len()).await?;

    stage.configure(limited(1)).await?;
    stage.elapse(stage.periods(3.0)).await;
    stage.configure(limited(3)).await?;
    stage.heal_and_settle(0..ITEMS).await
}

async fn until_taken_over(stage: &mut Stage, run: &RunId) -> StepResult {
    stage
        .until_promised("another process takes the run over", 8, |seen| {
            let mut claims = claims(&seen).into_iter();
            claims.any(|claim| {
                let after = &claim.after;
                claim.item == run.item && after.fire == Some(run.fire) && after.token > run.token
            })
        })
        .await
}

fn claims(seen: &Seen<'_>) -> Vec<Change> {
    seen.ledger().into_iter().filter(Change::is_claim).collect()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for claim in claims(seen) {
        findings.expect(claim.after.permit.is_some_and(|permit| permit < 3), || {
            format!("item {} began with the permit {:?}", claim.item, claim.after.permit)
        });
    }
    for item in 0..ITEMS {
        findings.each_fire_accounted(seen, item);
        let runs = claims(seen).iter().filter(|claim| claim.item == item).count();
        findings.expect(runs > 3, || format!("item {item} ran {runs} times"));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    for (kind, p) in [("crash", "b"), ("pause", "c")] {
        let hit = seen.hits(kind).find(|hit| hit.target == p);
        let during_run =
            hit.is_some_and(|hit| runs.iter().any(|run| run.p == p && run.spans(hit.mt)));
        findings.expect(during_run, || format!("{kind} of {p} did not meet a run"));
    }
    findings.into_sentences()
}
