//! F27: a container is killed and started again on the same host with the same process id, before its session expires.
//!
//! ```text
//! a    10.0.0.1 pid 7   [i t ---- killed      session ........expires: the old id goes
//! a'   10.0.0.1 pid 7            starts        joins under another id; [i FAILOVER t+1 ---]
//! ```
//! ElasticJob's ids are `ip@-@pid`: the expiry of the old life takes the node of the new one, or the new one takes the old
//! one's node and work for its own. Here every life of a process is named by its pid and a random suffix; the scenario
//! gives both lives the names that two processes with pid 7 would choose. (Whoever names lives by hand, with
//! `SchedulerBuilder::life`, must never use a name twice: that is the fault of ElasticJob again, and this scenario with
//! equal names shows it as S1a.)

use std::collections::BTreeSet;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Played, Stage, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F27",
    title: "restart on the same host with the same pid",
    shows: "two lives of one container are two instances: the end of one is nothing to the other",
    catches: "ids without anything random in them",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 1)],
};

/// What two processes with pid 7 call themselves.
const LIVES: [&str; 2] = ["7-k3f9a", "7-p0q2b"];

async fn script(stage: &mut Stage) -> Played {
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
    stage.rest(0..2).await?;
    stage
        .promised("the second life goes on", 3, |seen| {
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
        format!("two lives must have two ids; they had {ids:?}")
    });
    let hosts: BTreeSet<_> =
        ids.iter().filter_map(|id| id.split_once('-')).map(|(ip, _)| ip).collect();
    findings.expect(hosts.len() == 1, || format!("both lives are on one host, not on {hosts:?}"));
    let Some(crash) = seen.hits("crash").next() else { return findings.into_sentences() };
    findings.lost_and_found(seen, "a", crash.mt);
    // The new life lives on after the end of the old one.
    let healed = seen.healed().unwrap_or(u64::MAX);
    let second = seen.sessions_of("a").into_iter().nth(1);
    let ended = second.and_then(|sid| seen.closed(sid)).is_some_and(|(mt, _)| mt < healed);
    findings.expect(!ended, || "the second life ended with the first".to_owned());
    // Nor is anything of it taken away when the old session ends.
    let of_second = seen
        .ledger()
        .into_iter()
        .filter(|change| change.loser().is_some_and(|id| id.ends_with(LIVES[1])));
    let taken: Vec<_> = of_second.map(|change| change.item).collect();
    findings.expect(taken.is_empty(), || {
        format!("items {taken:?} of the second life were failed over")
    });
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let crash = seen.hits("crash").next();
    let held = crash.map_or(0, |crash| seen.held_at("a", crash.mt).len());
    findings.expect(held > 0, || "a ran nothing when it was killed".to_owned());
    let back = crash
        .and_then(|crash| seen.told("joined").find(|told| told.p == "a" && told.mt > crash.mt));
    let closed = crash.and_then(|crash| seen.closed(seen.session_at("a", crash.mt)?));
    let early = back.zip(closed).is_some_and(|(back, (closed, _))| back.mt < closed);
    findings.expect(early, || "a did not come back before its old session expired".to_owned());
    findings.into_sentences()
}
