//! F27: a container is killed and restarts on the same host with the same process id, before its
//! session expires.
//!
//! ```text
//! a    10.0.0.1 pid 7   [i t ---- killed      session ........expires: the old id is deleted
//! a'   10.0.0.1 pid 7            starts        joins under a new id; [i FAILOVER t+1 ---]
//! ```
//! ElasticJob's ids are `ip@-@pid`. The expiry of the old session deletes the node of the new
//! process, or the new process adopts the node and the work of the old one.
//!
//! Here, each instance name is the pid and a random suffix. The scenario fixes the names that two
//! processes with pid 7 could choose. A user who sets names with `SchedulerBuilder::life` must
//! never reuse one: that would repeat ElasticJob's fault, and this scenario with equal names
//! reports it as S1a.

use std::collections::BTreeSet;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F27",
    title: "restart on the same host with the same pid",
    shows: "two starts of one container are two instances: the end of one does not affect the other",
    catches: "ids without a random part",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 1)],
};

/// Instance names of two processes with pid 7.
const LIVES: [&str; 2] = ["7-k3f9a", "7-p0q2b"];

async fn script(stage: &mut Stage) -> StepResult {
    stage.create_job(2, |_| {}).await?;
    stage.spawn_as("a", LIVES[0], &work(0.8)).await?;
    stage.spawn("b", &work(0.8)).await?;
    stage.until_shared(2).await?;
    stage.start_schedule().await?;
    stage.until_running("a", 1).await?;
    let mark = stage.mark().await?;
    stage.kill("a").await?;
    stage.spawn_as("a", LIVES[1], &work(0.8)).await?;
    stage.until_rejoined("a", mark).await?;
    stage.until_taken_over(1, mark, 6).await?;
    stage.until_shared(2).await?;
    stage.heal_and_settle(0..2).await?;
    stage
        .until_promised("the second process runs items", 3, |seen| {
            seen.healed().is_some_and(|healed| {
                seen.runs().iter().any(|run| run.p == "a" && run.began > healed)
            })
        })
        .await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let ids: Vec<_> =
        seen.instances().into_iter().filter(|(.., p)| *p == Some("a")).map(|(id, ..)| id).collect();
    let distinct: BTreeSet<_> = ids.iter().collect();
    findings.expect(ids.len() == 2 && distinct.len() == 2, || {
        format!("two processes must have two ids; they had {ids:?}")
    });
    let hosts: BTreeSet<_> =
        ids.iter().filter_map(|id| id.split_once('-')).map(|(ip, _)| ip).collect();
    findings.expect(hosts.len() == 1, || {
        format!("both processes must be on one host; they are on {hosts:?}")
    });
    let Some(crash) = seen.hits("crash").next() else { return findings.into_sentences() };
    findings.lost_runs_are_repeated(seen, "a", crash.mt);
    // The session of the new process outlives that of the old one.
    let healed = seen.healed().unwrap_or(u64::MAX);
    let second = seen.sessions_of("a").into_iter().nth(1);
    let ended = second.and_then(|sid| seen.closed(sid)).is_some_and(|(mt, _)| mt < healed);
    findings
        .expect(!ended, || "the session of the second process ended before the healing".to_owned());
    // The end of the old session must not orphan a run of the new instance.
    let of_second = seen
        .ledger()
        .into_iter()
        .filter(|change| change.former_holder().is_some_and(|id| id.ends_with(LIVES[1])));
    let taken: Vec<_> = of_second.map(|change| change.item).collect();
    findings.expect(taken.is_empty(), || {
        format!("items {taken:?} of the second process were taken over")
    });
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let crash = seen.hits("crash").next();
    let held = crash.map_or(0, |crash| seen.held_at("a", crash.mt).len());
    findings.expect(held > 0, || "a ran nothing when it was killed".to_owned());
    let back = crash.and_then(|crash| {
        seen.events("joined").find(|event| event.p == "a" && event.mt > crash.mt)
    });
    let closed = crash.and_then(|crash| seen.closed(seen.session_at("a", crash.mt)?));
    let early = back.zip(closed).is_some_and(|(back, (closed, _))| back.mt < closed);
    findings.expect(early, || "a did not restart before its old session expired".to_owned());
    findings.into_sentences()
}
