//! F27: a container is killed and started again on the same host with the same process id, before its session expires.
//!
//! ```text
//! a    10.0.0.1 pid 7   [i t ---- killed      session ........expires: the old id goes
//! a'   10.0.0.1 pid 7            starts        joins under another id; [i FAILOVER t+1 ---]
//! ```
//! ElasticJob's ids are `ip@-@pid`: the expiry of the old life takes the node of the new one, or the new one takes the old
//! one's node and work for its own. Here every life has a random suffix (`semantics` §2); the processes of a scenario are
//! given the same server and the same pid by the host that they share.

use std::collections::BTreeSet;

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Played, Stage, work};
use super::Scenario;

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

async fn script(stage: &mut Stage) -> Played {
    stage.assemble(2, &["a", "b"], &work(0.8)).await?;
    stage.until_running("a", 1).await?;
    let mark = stage.mark().await?;
    stage.kill("a").await?;
    stage.spawn("a", &work(0.8)).await?;
    stage.until_rejoined("a", mark).await?;
    stage.until_taken_over(1, mark, 6).await?;
    stage.until_shared(2).await?;
    stage.rest(0..2).await?;
    stage
        .promised("the second life goes on", 3, |seen| {
            seen.healed().is_some_and(|healed| seen.runs().iter().any(|run| run.p == "a" && run.began > healed))
        })
        .await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let ids: Vec<_> = seen.instances().into_iter().filter(|(.., p)| *p == Some("a")).map(|(id, ..)| id).collect();
    let distinct: BTreeSet<_> = ids.iter().collect();
    findings.expect(ids.len() == 2 && distinct.len() == 2, || format!("two lives must have two ids; they had {ids:?}"));
    let servers: BTreeSet<_> = ids.iter().filter_map(|id| id.split_once("@-@")).map(|(ip, _)| ip).collect();
    findings.expect(servers.len() == 1, || format!("both lives are on one host, not on {servers:?}"));
    let Some(crash) = seen.hits("crash").next() else { return findings.into_sentences() };
    findings.lost_and_found(seen, "a", crash.mt);
    // The new life lives on after the end of the old one.
    let closed = seen.session_at("a", crash.mt).and_then(|sid| seen.closed(sid));
    let healed = seen.healed().unwrap_or(u64::MAX);
    let second = seen.sessions_of("a").into_iter().nth(1);
    let ended = second.and_then(|sid| seen.closed(sid)).is_some_and(|(mt, _)| mt < healed);
    findings.expect(!ended, || "the second life ended with the first".to_owned());
    for held in closed.map_or_else(Vec::new, |(mt, _)| seen.held_at("a", mt + 1)) {
        let is_new = held.token > 0 && held.fire > 0 && held.orphaned().is_some_and(|o| Some(o.mt) > closed.map(|c| c.0 + 60_000_000_000));
        findings.expect(!is_new, || format!("item {} of the second life was failed over", held.item));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let crash = seen.hits("crash").next();
    let held = crash.map_or(0, |crash| seen.held_at("a", crash.mt).len());
    findings.expect(held > 0, || "a ran nothing when it was killed".to_owned());
    let back = crash.and_then(|crash| seen.told("joined").find(|told| told.p == "a" && told.mt > crash.mt));
    let closed = crash.and_then(|crash| seen.closed(seen.session_at("a", crash.mt)?));
    let early = back.zip(closed).is_some_and(|(back, (closed, _))| back.mt < closed);
    findings.expect(early, || "a did not come back before its old session expired".to_owned());
    findings.into_sentences()
}
