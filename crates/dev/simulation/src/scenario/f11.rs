//! F11: two leaders reshard: one is stopped right before its write, and another one leads
//! meanwhile.
//!
//! ```text
//! 1  a leads  c joins:  reshard -|stopped 2T ..................|  conflict: the session has ended
//!    b                           .... leads, reshards for b and c
//! 2  b leads  d joins:  reshard -|stopped ........|  conflict: the term has ended
//!    operator                    removes the leader
//!    a or c                      leads, reshards for all
//! ```
//! ElasticJob swallows the conflict (`RegExceptionHandler`) and logs a completed resharding.

use super::findings::Findings;
use super::history_queries::{AssignmentSeen, Hit, Seen};
use super::stage::{Stage, StepResult, work};
use super::{Action, AdminOp, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F11",
    title: "two leaders reshard",
    shows: "the write of a deposed leader fails as a whole, whether its session has ended or only its term",
    catches: "a resharding without a guard on the term, or with the guard in a separate transaction",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 3)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(4, &["a", "b"], &work(0.3)).await?;
    let first = stage.leader().await?;
    let mark = stop_at_resharding(stage, &first, "c").await?;
    stage.elapse(stage.sessions(2.0)).await;
    stage
        .until_promised("another leader reshards for two instances", 4, |seen| {
            seen.since(mark).events("resharded").any(|event| event.p != first)
                && seen.assigned_for() == Some(2)
        })
        .await?;
    stage.resume(&first).await?;
    stage.until_rejoined(&first, mark).await?;
    stage.until_shared(3).await?;

    let second = stage.leader().await?;
    let mark = stop_at_resharding(stage, &second, "d").await?;
    stage.admin(AdminOp::RemoveLeader).await?;
    stage
        .until("another leader reshards for all four instances", 2, |seen| {
            seen.since(mark).events("resharded").any(|event| event.p != second)
                && seen.assigned_for() == Some(4)
        })
        .await?;
    stage.resume(&second).await?;
    stage
        .until("the former leader has lost its leadership", 4, |seen| {
            seen.since(mark).events("lost_leadership").any(|event| event.p == second)
        })
        .await?;
    stage.heal_and_settle(0..4).await
}

/// Stops the leader right before it writes the resharding for a newcomer.
async fn stop_at_resharding(
    stage: &mut Stage,
    leader: &str,
    newcomer: &str,
) -> Result<usize, super::ScenarioError> {
    stage.next_fire_of(leader).await?;
    stage.before(leader, "resharding", Action::Pause).await?;
    let mark = stage.mark().await?;
    stage.spawn(newcomer, &work(0.3)).await?;
    stage
        .until("the leader is stopped at its resharding", 6, |seen| {
            seen.since(mark).hits("pause").any(|hit| hit.target == leader)
        })
        .await?;
    Ok(mark)
}

/// Returns each stop with the assignments until the next stop or the end.
fn chapters<'a>(seen: &Seen<'a>) -> Vec<(Hit<'a>, Vec<AssignmentSeen>)> {
    let stops: Vec<_> = seen.hits("pause").collect();
    let until = |place: usize| stops.get(place + 1).map_or(u64::MAX, |next| next.mt);
    let within = |(place, stop): (usize, &Hit<'a>)| {
        let mut all = seen.assignments();
        all.retain(|a| a.mt > stop.mt && a.mt < until(place));
        (*stop, all)
    };
    stops.iter().enumerate().map(within).collect()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for (stop, assignments) in chapters(seen) {
        let own = seen.session_at(stop.target, stop.mt);
        let next = assignments.iter().find(|a| Some(a.sid) != own);
        let stale = assignments
            .iter()
            .find(|a| Some(a.sid) == own && next.is_some_and(|n| a.zxid > n.zxid));
        let led_again = |a: &AssignmentSeen| {
            seen.terms().into_iter().any(|(mt, sid)| Some(sid) == own && mt > stop.mt && mt <= a.mt)
        };
        findings.expect(stale.is_none_or(led_again), || {
            format!(
                "{} resharded at revision {:?} after its term",
                stop.target,
                stale.map(|a| a.zxid)
            )
        });
    }
    findings.each_fire_accounted_for_all(seen, 0..4);
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let outlived: Vec<_> = chapters(seen)
        .iter()
        .map(|(stop, assignments)| {
            let own = seen.session_at(stop.target, stop.mt)?;
            let next = assignments.iter().find(|a| a.sid != own)?;
            Some(seen.closed(own).is_none_or(|(mt, _)| mt > next.mt))
        })
        .collect();
    findings.expect(outlived == [Some(false), Some(true)], || {
        format!("another leader must reshard once after the end of the first leader's session and once before; the session lived: {outlived:?}")
    });
    findings.into_sentences()
}
