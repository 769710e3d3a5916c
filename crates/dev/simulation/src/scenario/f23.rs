//! F23: monitoring is turned off and on again during runs.
//!
//! ```text
//! monitoring   off .........|on ....................|off ................|on
//! items        [no token ---]      [t=1 -------------]      [rejected by resource]     [t=2 --]
//!              ends unclaimed,     ends as claimed
//!              is not claimed again
//! ```
//! Without monitoring there is no claim, so S1, S3, S5, misfires and failover are not available
//! (`docs/guarantees.md`, "Costs of settings"). A resource that has seen a token rejects
//! writes without one. So runs after the second change end at once with an error, as intended.

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F23",
    title: "monitoring off and on during runs",
    shows: "running items end under the setting of their start, and are not started again",
    catches: "a claim of an item that runs unclaimed, or a claimed run whose completion is not recorded after the change",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    let unmonitored = |config: &mut lite::JobConfig| {
        (config.monitor_execution, config.failover) = (false, false);
    };
    let monitored = |config: &mut lite::JobConfig| {
        (config.monitor_execution, config.failover) = (true, true);
    };
    stage.assemble_with(2, &["a", "b"], &work(0.6), unmonitored).await?;
    until_both_run(stage, "unclaimed", false).await?;
    stage.configure(monitored).await?;
    until_both_run(stage, "claimed", true).await?;
    stage.configure(unmonitored).await?;
    let mark = stage.mark().await?;
    stage
        .until_promised("both run unclaimed again", 4, |seen| {
            let runs = seen.since(mark).runs();
            ["a", "b"].iter().all(|p| runs.iter().any(|run| run.p == *p && run.id.token == 0))
        })
        .await?;
    stage.configure(monitored).await?;
    stage.heal_and_settle(0..2).await
}

async fn until_both_run(stage: &mut Stage, how: &str, is_claimed: bool) -> StepResult {
    let what = format!("both run {how}");
    stage
        .until(&what, 4, move |seen| {
            let runs = |p| seen.running_on(p).iter().any(|run| (run.id.token > 0) == is_claimed);
            runs("a") && runs("b")
        })
        .await
}

/// Returns when monitoring was turned on during runs, and off again.
fn turned(seen: &Seen<'_>) -> Option<(u64, u64)> {
    let mut acts = seen.operator_actions("config");
    // The first change sets the schedule.
    Some((acts.nth(1)?, acts.next()?))
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    let Some((on, off)) = turned(seen) else { return findings.into_sentences() };
    let runs = seen.runs();
    for run in runs.iter().filter(|run| run.spans(off) || run.spans(on)) {
        findings.expect(run.has_succeeded(), || {
            format!("the run of item {} ended as {:?}", run.id.item, run.end)
        });
        let again = seen.runs_of(run.id.item, run.id.fire).len();
        findings.expect(again == 1, || {
            format!("fire {} of item {} was run {again} times", run.id.fire, run.id.item)
        });
    }
    for run in runs.iter().filter(|run| run.spans(off)) {
        let ended = seen.ledger_of(run.id.item).into_iter().any(|change| {
            change.is_end()
                && change.after.token == run.id.token
                && change.after.outcome.as_deref() == Some("succeeded")
        });
        findings.expect(ended, || format!("the end of item {} was not recorded", run.id.item));
    }
    for pair in runs.iter().flat_map(|run| runs.iter().map(move |other| (run, other))) {
        let (run, other) = pair;
        let overlap =
            run.id.item == other.id.item && run.began < other.began && run.spans(other.began);
        findings.expect(!overlap, || format!("two runs of item {} overlapped", run.id.item));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let during = turned(seen).map(|(on, off)| {
        let runs = seen.runs();
        let unclaimed = runs.iter().filter(|run| run.spans(on) && run.id.token == 0).count();
        let claimed = runs.iter().filter(|run| run.spans(off) && run.id.token > 0).count();
        (unclaimed, claimed)
    });
    findings
        .expect(during.is_some_and(|(unclaimed, claimed)| unclaimed > 0 && claimed > 0), || {
            format!("unclaimed runs at the first change and claimed runs at the second: {during:?}; both must be more than 0")
        });
    findings.into_sentences()
}
