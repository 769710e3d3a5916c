//! F20: the job gets fewer items while the surplus ones run, and then more again.
//!
//! ```text
//! items 3..6   [t ---------] retired                              [t+1 --]
//! items 0..3   [.. --------][.. --------][..
//! total        6  |3 ................................|6 .........
//! ```

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F20",
    title: "fewer items while the surplus ones run",
    shows: "surplus items complete their runs and are retired; when they come back, their tokens continue",
    catches: "deleting the record of a surplus item (its tokens start again), or never completing its run",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(6, &["a", "b"], &work(1.2)).await?;
    stage.until_running("a", 3).await?;
    stage.until_running("b", 3).await?;
    let mark = stage.mark().await?;
    stage.configure(|config| config.sharding_total_count = 3).await?;
    stage
        .until_promised("the runs of the surplus items end", 4, |seen| {
            let running = seen.runs();
            running.iter().all(|run| run.id.item < 3 || run.has_ended())
        })
        .await?;
    stage
        .until("the other items run again", 6, |seen| {
            let runs = seen.since(mark).runs();
            (0..3).all(|item| runs.iter().any(|run| run.id.item == item && run.has_ended()))
        })
        .await?;
    stage.elapse(stage.periods(1.0)).await;
    stage.configure(|config| config.sharding_total_count = 6).await?;
    stage.heal_and_settle(0..6).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    let shrunk = seen.operator_actions("config total=3").next().unwrap_or(u64::MAX);
    let grown = seen
        .operator_actions("config total=6")
        .filter(|mt| *mt > shrunk)
        .last()
        .unwrap_or(u64::MAX);
    for run in seen.runs().iter().filter(|run| run.spans(shrunk)) {
        findings.expect(run.has_succeeded(), || {
            format!("the run of item {} ended as {:?}", run.id.item, run.end)
        });
    }
    for item in 3..6 {
        let changes = seen.ledger_of(item);
        let retired = changes.iter().find(|change| change.after.state == "retired");
        findings.expect(retired.is_some(), || format!("item {item} was not retired"));
        let begun = changes.iter().find(|c| c.is_claim() && c.mt > shrunk && c.mt < grown);
        findings.expect(begun.is_none_or(|c| retired.is_none_or(|r| c.zxid < r.zxid)), || {
            format!("item {item} was claimed after it was retired")
        });
        let tokens: Vec<_> =
            changes.iter().filter(|c| c.is_claim()).map(|c| c.after.token).collect();
        findings.expect(tokens.windows(2).all(|pair| pair[0] < pair[1]), || {
            format!("the tokens of item {item} did not rise: {tokens:?}")
        });
        let again = changes.iter().any(|c| c.is_claim() && c.mt > grown);
        findings.expect(again, || format!("item {item} was not claimed again"));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let shrunk = seen.operator_actions("config total=3").next();
    let n = shrunk
        .map_or(0, |mt| seen.runs().iter().filter(|run| run.id.item >= 3 && run.spans(mt)).count());
    findings
        .expect(n == 3, || format!("{n} surplus items ran when their number was reduced, not 3"));
    findings.into_sentences()
}
