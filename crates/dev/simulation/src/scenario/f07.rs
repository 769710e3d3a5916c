//! F07: the session of a healthy process expires, while it runs and while it is idle.
//!
//! ```text
//! a         [i t --|expired: cancelled|  joins as a'      [..]  |expired|  joins as a''  [..]
//! b                 [i FAILOVER t+1 ---]
//! ```
//! An idle instance takes over. It can be a itself, in its next incarnation.

use std::collections::BTreeSet;

use checker::history::SessionEvent;

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F07",
    title: "session expiry of a healthy process",
    shows: "a process whose session has ended claims nothing until it has joined under a new id",
    catches: "a claim under the id of an earlier session, or a start of items that the earlier instance owned",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a", "b"], &work(0.6)).await?;
    stage.until_running("a", 1).await?;
    let mark = stage.mark().await?;
    stage.expire("a").await?;
    stage.until_session("a", mark, SessionEvent::Lost).await?;
    stage.until_rejoined("a", mark).await?;
    stage.until_taken_over(1, mark, 6).await?;

    stage.next_fire_of("a").await?;
    stage.until_idle("a").await?;
    let mark = stage.mark().await?;
    stage.expire("a").await?;
    stage.until_session("a", mark, SessionEvent::Lost).await?;
    stage.until_rejoined("a", mark).await?;
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    if let Some(hit) = seen.hits("expire").next() {
        for lost in seen.held_at("a", hit.mt) {
            let tokens: Vec<_> = lost.takeovers().map(|change| change.after.token).collect();
            findings.expect(tokens == [lost.token + 1], || {
                format!(
                    "item {} was lost under token {} and run again under {tokens:?}",
                    lost.item, lost.token
                )
            });
        }
    }
    let ids: Vec<_> =
        seen.instances().into_iter().filter(|(.., p)| *p == Some("a")).map(|(id, ..)| id).collect();
    let distinct: BTreeSet<_> = ids.iter().collect();
    findings.expect(ids.len() == 3 && distinct.len() == 3, || {
        format!("a must have a new id in each of its three sessions; it had {ids:?}")
    });
    // Between the loss of one session and the beginning of the next, the process must start
    // nothing.
    let sessions: Vec<_> = seen.sessions("a").collect();
    for lost in sessions.iter().filter(|(_, ev, _)| *ev == SessionEvent::Lost) {
        let next =
            sessions.iter().find(|(mt, ev, _)| *ev == SessionEvent::Connected && *mt > lost.0);
        findings.starts_nothing(seen, "a", lost.0, next.map_or(u64::MAX, |(mt, ..)| *mt));
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let runs = seen.runs();
    let busy: Vec<_> = seen
        .hits("expire")
        .map(|hit| runs.iter().filter(|run| run.p == "a" && run.spans(hit.mt)).count() > 0)
        .collect();
    findings.expect(busy == [true, false], || {
        format!("the session of a must expire once while busy and once while idle; it was busy: {busy:?}")
    });
    findings.into_sentences()
}
