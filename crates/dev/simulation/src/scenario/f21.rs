//! F21: the job gets more items in the middle of a fire.
//!
//! ```text
//! fire         f                       f+U
//! items 0..3   [.. --]                 [.. --]
//! items 3..9          created          [.. --]      never "missed" before they existed
//! total        3  |9
//! ```

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F21",
    title: "more items in the middle of a fire",
    shows: "new items begin with the next fire and report no earlier fire as missed",
    catches: "new ledger records whose last fire is the beginning of time, or missing",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(3, &["a", "b"], &work(0.4)).await?;
    stage.next_fire_of("a").await?;
    stage.next_fire_of("a").await?;
    stage.configure(|config| config.sharding_total_count = 9).await?;
    stage
        .until_promised("the new items are run", 3, |seen| {
            let runs = seen.runs();
            (3..9).all(|item| runs.iter().any(|run| run.id.item == item && run.has_succeeded()))
        })
        .await?;
    stage.heal_and_settle(0..9).await
}

/// Returns the last fire that was claimed before the number of items grew.
fn fire_before(seen: &Seen<'_>) -> Option<i64> {
    let grown = seen.operator_actions("config total=9").next()?;
    let claims = seen.ledger().into_iter().filter(|change| change.is_claim() && change.mt <= grown);
    claims.filter_map(|change| change.after.fire).max()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..9);
    let Some(before) = fire_before(seen) else { return findings.into_sentences() };
    for item in 3..9 {
        let first = seen.accounts(item).first().copied();
        let in_time =
            first.is_some_and(|f| f.first == before || f.first == before + seen.period_ms());
        findings.expect(in_time, || {
            format!("item {item} first ran for {first:?}; it was created during the fire {before}")
        });
        findings.expect(first.is_none_or(|f| f.gap_from.is_none()), || {
            format!("item {item} has a gap of fires before it existed")
        });
        let missed = seen.missed().find(|(_, of, ..)| *of == Some(item));
        findings
            .expect(missed.is_none(), || format!("item {item} was reported as missed: {missed:?}"));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let grown = seen.operator_actions("config total=9").next();
    let busy = grown.is_some_and(|mt| seen.runs().iter().any(|run| run.spans(mt)));
    findings.expect(busy, || "no item ran when the number of items grew".to_owned());
    findings.into_sentences()
}
