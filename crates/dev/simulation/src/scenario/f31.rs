//! F31: runs are cancelled while their holder lives, is stopped past its session, and is killed.
//!
//! ```text
//! a      [i --cancel] cancelled
//! b      [j --- stopped, cancel, session ends ---]      the leader ends j; b's end is not recorded
//! c      [k -cancel, killed                             the leader ends k
//! ```

use checker::history::RunId;

use super::findings::Findings;
use super::history_queries::{Change, Seen};
use super::stage::{Stage, StepResult, work};
use super::{AdminOp, Scenario};

const HOLDERS: [&str; 3] = ["a", "b", "c"];
const ITEMS: u32 = 6;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F31",
    title: "cancelled runs of living, stopped and killed holders",
    shows: "a cancelled run ends, is recorded as cancelled, and is not run again by failover",
    catches: "a sweep that ignores cancellation requests, or a completion that drops them",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("cancel_request", 3)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(ITEMS, &HOLDERS, &work(0.9)).await?;
    let of_living = stage.next_run_of("a").await?;
    cancel(stage, &of_living).await?;
    until_cancelled(stage, &of_living).await?;

    let of_stopped = stage.next_run_of("b").await?;
    stage.pause("b").await?;
    cancel(stage, &of_stopped).await?;
    stage.elapse(stage.sessions(3.0)).await;
    until_cancelled(stage, &of_stopped).await?;
    let mark = stage.mark().await?;
    stage.resume("b").await?;
    stage.until_rejoined("b", mark).await?;
    stage.until_shared(HOLDERS.len()).await?;

    let of_killed = stage.next_run_of("c").await?;
    cancel(stage, &of_killed).await?;
    stage.kill("c").await?;
    until_cancelled(stage, &of_killed).await?;
    stage.spawn("c", &work(0.9)).await?;
    stage.heal_and_settle(0..ITEMS).await
}

async fn cancel(stage: &mut Stage, run: &RunId) -> StepResult {
    stage.admin(AdminOp::Cancel { item: run.item }).await
}

async fn until_cancelled(stage: &mut Stage, run: &RunId) -> StepResult {
    stage
        .until_promised("the record says that the run was cancelled", 6, |seen| {
            cancelled(&seen).iter().any(|end| is_end_of(end, run))
        })
        .await
}

/// Returns the writes that end a run as cancelled: interrupted, with a request for its token.
fn cancelled(seen: &Seen<'_>) -> Vec<Change> {
    let is_meant = |change: &Change| {
        let after = &change.after;
        let is_requested = after.cancel.is_some_and(|cancel| cancel.token == after.token);
        change.is_end() && is_requested && after.outcome.as_deref() == Some("interrupted")
    };
    seen.ledger().into_iter().filter(is_meant).collect()
}

fn is_end_of(end: &Change, run: &RunId) -> bool {
    (end.item, end.after.token) == (run.item, run.token)
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for end in cancelled(seen) {
        let fire = end.before.as_ref().and_then(|before| before.fire);
        let runs = fire.map(|fire| seen.runs_of(end.item, fire)).unwrap_or_default();
        findings.expect(runs.len() == 1, || {
            format!("fire {fire:?} of item {} was cancelled and ran {} times", end.item, runs.len())
        });
    }
    for item in 0..ITEMS {
        findings.each_fire_accounted(seen, item);
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    let requests: Vec<_> = seen.operator_actions("cancel").collect();
    let held_cancelled = |p: &str, mt: u64| {
        let ends = cancelled(seen);
        let mut held = runs.iter().filter(|run| run.p == p && run.spans(mt));
        held.any(|run| ends.iter().any(|end| is_end_of(end, run.id)))
    };
    for (p, mt) in HOLDERS.iter().zip(&requests) {
        findings.expect(held_cancelled(p, *mt), || format!("no run of {p} was cancelled"));
    }
    let n = requests.len();
    findings.expect(n == HOLDERS.len(), || format!("{n} cancellations were requested, not 3"));
    let hit = |kind, p| seen.hits(kind).any(|hit| hit.target == p);
    findings.expect(hit("pause", "b") && hit("crash", "c"), || "b or c was not hit".to_owned());
    findings.into_sentences()
}
