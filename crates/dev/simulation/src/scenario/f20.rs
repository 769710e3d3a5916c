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
use super::stage::{Played, Stage, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F20",
    title: "fewer items while the surplus ones run",
    shows: "surplus items finish and are retired; when they come back, their tokens go on",
    catches: "deleting the ledger of a surplus item (its tokens begin anew), or leaving its run behind",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 2)],
};

async fn script(stage: &mut Stage) -> Played {
    stage.assemble(6, &["a", "b"], &work(1.2)).await?;
    stage.until_running("a", 3).await?;
    stage.until_running("b", 3).await?;
    let mark = stage.mark().await?;
    stage.configure(|config| config.sharding_total_count = 3).await?;
    stage
        .promised("the surplus items finish", 4, |seen| {
            let running = seen.runs();
            running.iter().all(|run| run.id.item < 3 || run.is_over())
        })
        .await?;
    stage
        .until("the others go on", 6, |seen| {
            let runs = seen.since(mark).runs();
            (0..3).all(|item| runs.iter().any(|run| run.id.item == item && run.is_over()))
        })
        .await?;
    stage.elapse(stage.periods(1.0)).await;
    stage.configure(|config| config.sharding_total_count = 6).await?;
    stage.rest(0..6).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    let shrunk = seen.acts("config total=3").next().unwrap_or(u64::MAX);
    let grown = seen.acts("config total=6").filter(|mt| *mt > shrunk).last().unwrap_or(u64::MAX);
    for run in seen.runs().iter().filter(|run| run.spans(shrunk)) {
        findings.expect(run.is_well(), || {
            format!("the run of item {} ended as {:?}", run.id.item, run.end)
        });
    }
    for item in 3..6 {
        let changes = seen.ledger_of(item);
        let retired = changes.iter().find(|change| change.after.state == "retired");
        findings.expect(retired.is_some(), || format!("item {item} was not retired"));
        let begun = changes.iter().find(|c| c.is_claim() && c.mt > shrunk && c.mt < grown);
        findings.expect(begun.is_none_or(|c| retired.is_none_or(|r| c.zxid < r.zxid)), || {
            format!("item {item} was claimed while there was no such item")
        });
        let tokens: Vec<_> =
            changes.iter().filter(|c| c.is_claim()).map(|c| c.after.token).collect();
        findings.expect(tokens.windows(2).all(|pair| pair[0] < pair[1]), || {
            format!("the tokens of item {item} did not go on: {tokens:?}")
        });
        let again = changes.iter().any(|c| c.is_claim() && c.mt > grown);
        findings.expect(again, || format!("item {item} did not come back"));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let shrunk = seen.acts("config total=3").next();
    let n = shrunk
        .map_or(0, |mt| seen.runs().iter().filter(|run| run.id.item >= 3 && run.spans(mt)).count());
    findings.expect(n == 3, || format!("{n} surplus items ran when the job got fewer, not 3"));
    findings.into_sentences()
}
