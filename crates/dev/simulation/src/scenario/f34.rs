//! F34: a process is killed and a clock is set back while runs wait for the start rate.
//!
//! ```text
//! rate   2 in half a period ................................ |1 ........ |3 ...
//! fire   [2 items][2 items]   the others begin when the first starts expire
//! b      [i -killed           a or c takes i over, once the rate allows it
//! c           clock 0.4U back
//! ```

use std::collections::BTreeMap;

use checker::history::RunId;
use lite::StartRate;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{Change, Seen};
use super::stage::{Stage, StepResult, work};

const ITEMS: u32 = 4;
const BEHIND: f64 = -0.4;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F34",
    title: "a killed process and a clock set back at a start rate",
    shows: "no more starts in a period than the rate; the takeover counts, and all items run",
    catches: "starts that are counted outside of the claim's transaction, or by one instance alone",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("crash", 1), ("skew", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let half = u32::try_from(stage.period().as_secs() / 2).unwrap_or(1).max(1);
    let rated = |max| {
        move |config: &mut lite::JobConfig| {
            config.start_rate = Some(StartRate { max, period_seconds: half });
        }
    };
    stage.assemble_with(ITEMS, &["a", "b", "c"], &work(0.3), rated(2)).await?;
    let lost = stage.next_run_of("b").await?;
    stage.kill("b").await?;
    until_taken_over(stage, &lost).await?;
    stage.spawn("b", &work(0.3)).await?;
    stage.until_shared(3).await?;

    stage.skew("c", BEHIND).await?;
    stage.next_run_of("c").await?;
    stage.elapse(stage.periods(2.0)).await;
    stage.skew("c", 0.0).await?;

    stage.configure(rated(1)).await?;
    stage.elapse(stage.periods(3.0)).await;
    stage.configure(rated(3)).await?;
    stage.heal_and_settle(0..ITEMS).await
}

async fn until_taken_over(stage: &mut Stage, run: &RunId) -> StepResult {
    stage
        .until_promised("another process takes the run over", 8, |seen| {
            claims(&seen).iter().any(|claim| {
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
    let claims = claims(seen);
    for item in 0..ITEMS {
        findings.each_fire_accounted(seen, item);
        let runs = claims.iter().filter(|claim| claim.item == item).count();
        findings.expect(runs > 3, || format!("item {item} ran {runs} times"));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    let killed = seen.hits("crash").find(|hit| hit.target == "b");
    let during_run =
        killed.is_some_and(|hit| runs.iter().any(|run| run.p == "b" && run.spans(hit.mt)));
    findings.expect(during_run, || "the crash of b did not meet a run".to_owned());
    let mut begun: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for claim in claims(seen).iter().filter(|claim| claim.after.has_source("NORMAL")) {
        begun.entry(claim.after.fire).or_default().push(claim.mt);
    }
    let apart = seen.period_ms().unsigned_abs() * 1_000_000 / 4;
    let waited = begun.values().any(|times| {
        times.iter().max().zip(times.iter().min()).is_some_and(|(last, first)| last - first > apart)
    });
    findings.expect(waited, || "no item waited for the start rate".to_owned());
    findings.into_sentences()
}
