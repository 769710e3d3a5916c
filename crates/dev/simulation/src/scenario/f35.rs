//! F35: fires cancel the runs that they meet, while one holder is killed and another is stopped.
//!
//! ```text
//! fire   1           2                    3
//! a      [i ---------|cancelled][2 MISFIRE --------------] merged: not cancelled
//! b      [j ---------|noted, killed       the leader ends j; the noted fire runs elsewhere
//! c      [k ---------|noted, stopped, session ends    the leader ends k; c's end is not recorded
//! ```

use checker::history::RunId;
use lite::Overlap;

use super::findings::Findings;
use super::history_queries::{Change, Seen};
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

const ITEMS: u32 = 4;
const HOLDERS: [&str; 3] = ["a", "b", "c"];

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F35",
    title: "fires that cancel the runs of living, stopped and killed holders",
    shows: "a run that a fire cancels is not run again, and each noted fire runs to its end",
    catches: "a fire that is noted without the request, a request that failover ignores, or one for a run that stands for noted fires",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("cancel_request", 4), ("misfire", 4), ("crash", 1), ("pause", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let cancels = |config: &mut lite::JobConfig| config.overlap = Some(Overlap::Cancel);
    stage.assemble_with(ITEMS, &HOLDERS, &work(1.5), cancels).await?;
    let of_killed = stage.next_run_of("b").await?;
    let of_stopped = stage
        .find("c runs an item", 2, |seen| seen.running_on("c").first().map(|run| run.id.clone()))
        .await?;
    stage.after("b", "misfire", Action::Kill).await?;
    stage.after("c", "misfire", Action::Pause).await?;
    stage.until_hit("crash", "b", 1).await?;
    stage.until_hit("pause", "c", 1).await?;
    for run in [&of_killed, &of_stopped] {
        until_cancelled(stage, run).await?;
    }
    let mark = stage.mark().await?;
    stage.resume("c").await?;
    stage.until_rejoined("c", mark).await?;
    stage.spawn("b", &work(0.3)).await?;
    stage.until_shared(HOLDERS.len()).await?;

    stage
        .until("a fire meets a run that stands for noted fires", 8, |seen| {
            seen.ledger().iter().any(meets_run_for_noted_fires)
        })
        .await?;

    // Runs that end within a period leave no noted fires.
    for (old, new) in [("a", "d"), ("c", "e")] {
        stage.close(old).await?;
        stage.spawn(new, &work(0.3)).await?;
    }
    stage.until_shared(HOLDERS.len()).await?;
    stage.heal_and_settle(0..ITEMS).await
}

async fn until_cancelled(stage: &mut Stage, run: &RunId) -> StepResult {
    stage
        .until_promised("the record says that the run was cancelled", 8, |seen| {
            cancelled(&seen).iter().any(|end| is_end_of(end, run))
        })
        .await
}

/// Returns the writes that end a run as cancelled: interrupted, with a request for its token.
fn cancelled(seen: &Seen<'_>) -> Vec<Change> {
    let is_meant = |change: &Change| {
        let after = &change.after;
        let is_interrupted = after.outcome.as_deref() == Some("interrupted");
        change.is_end() && is_interrupted && after.has_cancel_request()
    };
    seen.ledger().into_iter().filter(is_meant).collect()
}

fn is_end_of(end: &Change, run: &RunId) -> bool {
    (end.item, end.after.token) == (run.item, run.token)
}

/// Returns the writes that note a fire and request the cancellation of the run.
fn requests(seen: &Seen<'_>) -> Vec<Change> {
    let is_meant = |change: &Change| {
        let before = change.before.as_ref().filter(|before| !before.has_cancel_request());
        let notes = before.is_some_and(|before| before.misfire != change.after.misfire);
        notes && change.after.has_cancel_request()
    };
    seen.ledger().into_iter().filter(is_meant).collect()
}

/// Returns true if a write notes a fire that met a run for noted fires.
fn meets_run_for_noted_fires(change: &Change) -> bool {
    let before = change.before.as_ref().filter(|before| before.is_running());
    let before = before.filter(|before| before.merged.is_some());
    before.is_some_and(|before| {
        before.token == change.after.token && before.misfire != change.after.misfire
    })
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
    for request in requests(seen) {
        let (item, noted) = (request.item, request.after.misfire.as_ref().map(|noted| noted.last));
        let accounts = seen.accounts(item);
        let of_noted = accounts.iter().find(|account| {
            noted.is_some_and(|fire| account.first <= fire && fire <= account.last)
        });
        let runs: Vec<_> = seen.runs();
        let has_run = of_noted.is_some_and(|account| {
            let mut later = runs.iter().filter(|run| run.id.item == item);
            later.any(|run| run.id.fire == account.last && run.has_succeeded())
        });
        findings.expect(has_run, || format!("noted fire {noted:?} of item {item} did not succeed"));
    }
    for item in 0..ITEMS {
        findings.each_fire_accounted(seen, item);
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let (requests, ends, runs) = (requests(seen), cancelled(seen), seen.runs());
    for p in HOLDERS {
        let was_cancelled = requests.iter().any(|request| {
            let mut of_holder = runs.iter().filter(|run| run.p == p && run.source == "NORMAL");
            let run = of_holder.find(|run| is_end_of(request, run.id));
            run.is_some_and(|run| ends.iter().any(|end| is_end_of(end, run.id)))
        });
        findings.expect(was_cancelled, || format!("no fire cancelled a run of {p}"));
    }
    let met = seen.ledger().iter().any(meets_run_for_noted_fires);
    findings.expect(met, || "no fire met a run that stands for noted fires".to_owned());
    findings.into_sentences()
}
