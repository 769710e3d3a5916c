//! F23: monitoring is turned off and on again during runs.
//!
//! ```text
//! monitoring   on ..........|off ....................|on .................
//! items        [t ----------]      [no token --------]      [t+1 ------]
//!              ends as claimed      ends unclaimed, is not claimed again
//! ```
//! Without monitoring there is no claim, so S1, S3, S5, misfires and failover are not available
//! (`docs/guarantees.md`, "Settings and what they cost").

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Played, Stage, work};
use super::Scenario;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F23",
    title: "monitoring off and on during runs",
    shows: "runs in progress end as what they began as, and are not begun again",
    catches: "a claim of what runs unclaimed here, or a claimed run whose end is not recorded after the change",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> Played {
    stage.assemble(2, &["a", "b"], &work(0.6)).await?;
    stage.until_running("a", 1).await?;
    stage.until_running("b", 1).await?;
    stage.configure(|config| (config.monitor_execution, config.failover) = (false, false)).await?;
    stage
        .until("both run unclaimed", 4, |seen| {
            let unclaimed = |p| seen.running_on(p).iter().any(|run| run.id.token == 0);
            unclaimed("a") && unclaimed("b")
        })
        .await?;
    let mark = stage.mark().await?;
    stage.configure(|config| (config.monitor_execution, config.failover) = (true, true)).await?;
    stage
        .promised("both run claimed again", 4, |seen| {
            let runs = seen.since(mark).runs();
            let claimed = |p| runs.iter().any(|run| run.p == p && run.id.token > 0 && run.is_well());
            claimed("a") && claimed("b")
        })
        .await?;
    stage.rest(0..2).await
}

/// Returns when monitoring was turned off, and on again.
fn turned(seen: &Seen<'_>) -> Option<(u64, u64)> {
    let mut acts = seen.acts("config");
    // The first one gives the job its schedule.
    Some((acts.nth(1)?, acts.next()?))
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    let Some((off, on)) = turned(seen) else { return findings.into_sentences() };
    let runs = seen.runs();
    for run in runs.iter().filter(|run| run.spans(off) || run.spans(on)) {
        findings.expect(run.is_well(), || format!("the run of item {} ended as {:?}", run.id.item, run.end));
        let again = seen.runs_of(run.id.item, run.id.fire).len();
        findings.expect(again == 1, || format!("fire {} of item {} was run {again} times", run.id.fire, run.id.item));
    }
    for run in runs.iter().filter(|run| run.spans(off)) {
        let ended = seen.ledger_of(run.id.item).into_iter().any(|change| {
            change.is_end() && change.after.token == run.id.token && change.after.outcome.as_deref() == Some("succeeded")
        });
        findings.expect(ended, || format!("the end of item {} was not recorded", run.id.item));
    }
    for pair in runs.iter().flat_map(|run| runs.iter().map(move |other| (run, other))) {
        let (run, other) = pair;
        let overlap = run.id.item == other.id.item && run.began < other.began && run.spans(other.began);
        findings.expect(!overlap, || format!("two runs of item {} overlapped", run.id.item));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let during = turned(seen).map(|(off, on)| {
        let runs = seen.runs();
        let claimed = runs.iter().filter(|run| run.spans(off) && run.id.token > 0).count();
        let unclaimed = runs.iter().filter(|run| run.spans(on) && run.id.token == 0).count();
        (claimed, unclaimed)
    });
    findings.expect(during.is_some_and(|(claimed, unclaimed)| claimed > 0 && unclaimed > 0), || {
        format!("claimed runs at the first change and unclaimed ones at the second: {during:?}")
    });
    findings.into_sentences()
}
