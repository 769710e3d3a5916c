//! F06: a process is stopped for less than its session lives.
//!
//! ```text
//! a         [i t --|stopped 0.3T|------]        the same run continues
//! a         [i t --|stopped 0.6T|x              the lease has ended: a gives up or continues
//! session   .............................       survives, both times
//! b         [j -------]
//! ```
//! A process relies on its session for two thirds of the timeout since the last proof that the
//! session lives (the *lease*). A pause within the lease has no effect.
//!
//! Between the end of the lease and that of the session, the process cancels its runs and releases
//! them itself. No other instance decides this, and nothing is resharded. This is stricter than the
//! plan, which wants no failover at 0.6T. A process cannot know for how long it was stopped.

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{RunSeen, Seen};
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F06",
    title: "pause shorter than the session",
    shows: "no run is taken over and no item is resharded because an instance is slow",
    catches: "a failover that is triggered by the duration of a run, or by a separate heartbeat",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a", "b"], &work(0.8)).await?;
    for share in [0.3, 0.6] {
        stage.until_idle("a").await?;
        stage.next_fire_of("a").await?;
        stage.elapse(stage.periods(0.2)).await;
        stage.pause("a").await?;
        stage.elapse(stage.sessions(share)).await;
        stage.resume("a").await?;
        stage.until_idle("a").await?;
    }
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.each_fire_once(seen, 0..2);
    let first = seen.hits("pause").next().map_or(u64::MAX, |hit| hit.mt);
    for change in seen.ledger() {
        let Some(holder) = change.former_holder().map(|id| seen.process_of(id)) else { continue };
        findings.expect(holder.is_some() && holder == seen.opener_of(change.sid), || {
            format!(
                "the run of item {} was taken from {holder:?} by {:?}",
                change.item,
                seen.opener_of(change.sid)
            )
        });
    }
    let resharded =
        seen.assignments().into_iter().filter(|assignment| assignment.mt > first).count();
    findings.expect(resharded == 0, || {
        format!("items were resharded {resharded} times after a was stopped")
    });
    for run in seen.runs().iter().filter(|run| run.p == "a" && run.spans(first)) {
        findings.expect(run.has_succeeded() || is_given_up(run), || {
            format!("the run of item {} did not continue: {:?}", run.id.item, run.end)
        });
    }
    findings.into_sentences()
}

/// Returns true if the stopped process has ended the run itself.
fn is_given_up(run: &RunSeen<'_>) -> bool {
    run.end.is_some_and(|(_, result)| result == "cancelled")
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    let busy = seen
        .hits("pause")
        .filter(|hit| runs.iter().any(|run| run.p == "a" && run.spans(hit.mt)))
        .count();
    findings.expect(busy == 2, || format!("a was stopped {busy} times during a run, not twice"));
    let first = seen.hits("pause").next().map_or(u64::MAX, |hit| hit.mt);
    for run in runs.iter().filter(|run| run.p == "a" && run.spans(first) && is_given_up(run)) {
        findings.expect(false, || {
            format!("the lease of a ended with the first pause: it gave up item {}", run.id.item)
        });
    }
    let healed = seen.healed().unwrap_or(u64::MAX);
    let ended = seen
        .sessions_of("a")
        .into_iter()
        .any(|sid| seen.closed(sid).is_some_and(|(mt, _)| mt < healed));
    findings.expect(!ended, || "the session of a ended: the pause was too long".to_owned());
    findings.into_sentences()
}
