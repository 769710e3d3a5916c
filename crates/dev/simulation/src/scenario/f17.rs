//! F17: the whole registry is down for much longer than sessions live.
//!
//! ```text
//! registry  up ----|down 2.5T ..................|up: old sessions remain until they expire
//! a, b      [.. --|suspended; the lease ends: cancelled ..|join under new ids     [..
//! ```

use std::collections::BTreeSet;

use super::findings::Findings;
use super::history_queries::{Seen, ns};
use super::stage::{Stage, StepResult, work};
use super::{RegEvent, Scenario};

/// Duration of the outage, in session timeouts.
const OUTAGE: f64 = 2.5;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F17",
    title: "registry down for longer than sessions",
    shows: "no instance uses the nodes of an earlier session as its own; every fire of the outage is accounted for",
    catches: "an id that is reused after the outage, or a process that shuts itself down because its node is gone (#1857)",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(4, &["a", "b"], &work(0.6)).await?;
    stage.until_running("a", 2).await?;
    stage.until_running("b", 2).await?;
    let mark = stage.mark().await?;
    let outage = stage.sessions(OUTAGE);
    stage.registry(RegEvent::RestartAll(outage)).await?;
    stage.elapse(outage).await;
    stage.until_rejoined("a", mark).await?;
    stage.until_rejoined("b", mark).await?;
    stage.until_shared(2).await?;
    stage.heal_and_settle(0..4).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let ids: Vec<_> = seen.instances().into_iter().map(|(id, ..)| id).collect();
    let distinct: BTreeSet<_> = ids.iter().collect();
    findings.expect(distinct.len() == ids.len(), || format!("an id was used twice: {ids:?}"));
    findings.each_fire_accounted_for_all(seen, 0..4);
    // A former leader leads again only in a new term, and only after the leader node was deleted.
    let terms = seen.terms();
    for pair in terms.windows(2) {
        let [(_, before), (began, after)] = pair else { continue };
        let is_free = before == after || seen.closed(*before).is_some_and(|(mt, _)| mt <= *began);
        findings.expect(is_free, || {
            format!("session {after} became leader at {began} ns while session {before} was leader")
        });
    }
    if let Some(down) = seen.hits("registry_down").next() {
        for p in ["a", "b"] {
            for lost in seen.held_at(p, down.mt) {
                findings.expect(lost.completed_by().is_some(), || {
                    format!("the run of item {} never ended", lost.item)
                });
            }
        }
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let down = seen.hits("registry_down").next().map(|hit| hit.mt);
    // Servers that are back expire sessions before any process has noticed that they are back.
    let up = down.map(|down| down + ns(seen.session_timeout().mul_f64(OUTAGE)));
    let held = down.map_or(0, |mt| seen.held_at("a", mt).len() + seen.held_at("b", mt).len());
    findings.expect(held > 0, || "nothing ran when the registry went down".to_owned());
    for p in ["a", "b"] {
        let outlived = down.zip(up).is_some_and(|(down, up)| {
            let old = seen.session_at(p, down);
            old.is_some_and(|sid| seen.closed(sid).is_none_or(|(mt, _)| mt >= up))
        });
        findings.expect(outlived, || format!("the old session of {p} ended during the outage"));
        let n = seen.sessions_of(p).len();
        findings.expect(n >= 2, || format!("{p} had {n} sessions: the outage was too short"));
    }
    findings.into_sentences()
}
