//! F28: the job's code fails, panics and hangs.
//!
//! ```text
//! item 0   [Err]     [Err]     [Err]       recorded as failed; the next fire runs
//! item 1   [panic]   [panic]   [panic]     recorded as panicked; the next fire runs
//! item 2   [.............................. never ends; its fires are noted as a range
//! item 3   [--]      [--]      [--]        on time
//! ```
//! ElasticJob keeps the running mark of an item that failed (since #2513), so the item never runs
//! again.

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};
use super::{Scenario, Work};

const FIRES: usize = 5;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F28",
    title: "code fails, panics and hangs",
    shows: "a failed item runs again at the next fire; a hanging item delays no other item",
    catches: "a failed item that stays running, or a fire that waits for all items of the previous fire",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    let work = Work { fail: vec![0], panic: vec![1], hang: vec![2], ..work(0.2) };
    stage.assemble(4, &["a", "b"], &work).await?;
    stage
        .until_promised("the other items run several fires", 10, |seen| {
            let runs = seen.runs();
            let over =
                |item| runs.iter().filter(|run| run.id.item == item && run.has_ended()).count();
            [0, 1, 3].into_iter().all(|item| over(item) >= FIRES)
        })
        .await?;
    stage.heal_and_settle_except(0..4, &[2]).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    for (item, outcome) in [(0, "failed"), (1, "panicked"), (3, "succeeded")] {
        findings.each_fire_once(seen, item..item + 1);
        for end in seen.ledger_of(item).iter().filter(|change| change.is_end()) {
            let recorded = end.after.outcome.as_deref();
            findings.expect(recorded == Some(outcome), || {
                format!("a run of item {item} was recorded as {recorded:?}, not {outcome}")
            });
        }
        findings.starts_on_time(seen, item);
    }
    // All fires since the hanging one are noted as one range, up to the last fire that the other
    // items have run.
    let last = [0, 1, 3].into_iter().flat_map(|item| seen.accounts(item)).map(|a| a.last).max();
    let noted = seen.ledger_of(2).into_iter().next_back().and_then(|change| change.after.misfire);
    let hangs = seen.accounts(2).last().map(|account| account.last);
    let is_whole = noted.as_ref().zip(hangs).zip(last).is_some_and(|((noted, hangs), last)| {
        let fires = (noted.last - noted.first) / seen.period_ms() + 1;
        noted.first == hangs + seen.period_ms()
            && noted.last >= last - seen.period_ms()
            && fires == i64::from(noted.count)
    });
    findings.expect(is_whole, || {
        format!("item 2 has noted {noted:?} since fire {hangs:?}; the last fire was {last:?}")
    });
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    let ended = |item, result| {
        runs.iter()
            .filter(|run| run.id.item == item && run.end.is_some_and(|(_, r)| r == result))
            .count()
    };
    for (item, result) in [(0, "error"), (1, "panic"), (3, "ok")] {
        let n = ended(item, result);
        findings
            .expect(n >= FIRES, || format!("item {item} ended as {result} {n} times, not {FIRES}"));
    }
    let hangs = runs.iter().filter(|run| run.id.item == 2).count();
    findings
        .expect(hangs == 1, || format!("item 2 began {hangs} runs; it was to hang in its first"));
    findings.into_sentences()
}
