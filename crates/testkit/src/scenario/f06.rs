//! F06: a process is stopped for less than its session lives.
//!
//! ```text
//! a         [i t --|stopped 0.6T|------]        the same run goes on
//! session   .............................
//! b         [j -------]                          takes nothing over
//! ```

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Played, Stage, work};
use super::Scenario;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F06",
    title: "pause shorter than the session",
    shows: "nothing is failed over or resharded because somebody is slow",
    catches: "a failover that is decided by how long a run takes, or by a heartbeat of its own",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> Played {
    stage.assemble(2, &["a", "b"], &work(0.8)).await?;
    stage.until_running("a", 1).await?;
    stage.elapse(stage.periods(0.2)).await;
    stage.pause("a").await?;
    stage.elapse(stage.sessions(0.6)).await;
    stage.resume("a").await?;
    stage.until_idle("a").await?;
    stage.rest(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..2);
    let stopped = seen.hits("pause").next().map_or(u64::MAX, |hit| hit.mt);
    let resharded = seen.assignments().into_iter().filter(|assignment| assignment.mt > stopped).count();
    findings.expect(resharded == 0, || format!("items were resharded {resharded} times after a was stopped"));
    let runs = seen.runs();
    for run in runs.iter().filter(|run| run.p == "a" && run.spans(stopped)) {
        findings.expect(run.is_well(), || format!("the run of item {} did not go on: {:?}", run.id.item, run.end));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let stopped = seen.hits("pause").next().map(|hit| hit.mt);
    let busy = stopped.is_some_and(|mt| seen.runs().iter().any(|run| run.p == "a" && run.spans(mt)));
    findings.expect(busy, || "a ran nothing when it was stopped".to_owned());
    let ended = stopped.and_then(|mt| seen.session_at("a", mt)).is_none_or(|sid| seen.closed(sid).is_some());
    findings.expect(!ended, || "the session of a ended: the pause was too long".to_owned());
    findings.into_sentences()
}
