//! F10: the leader is killed at its resharding, once before the write and once after it.
//!
//! ```text
//! leader 1   d joins:  reshard -x killed before   the old assignment stays complete
//! leader 2             .......... reshards: d has items
//! leader 2   e joins:  reshard x- killed after    the new assignment is complete; reply lost
//! leader 3             .......... reshards without leader 2
//! ```
//! ElasticJob removes the old owners one by one before it writes the new ones
//! (`ShardingService.resetShardingInfo`). A crash, or a read, between these writes finds items
//! without an owner.

use super::findings::Findings;
use super::history_queries::{Hit, Seen};
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F10",
    title: "leader crash around the write of a resharding",
    shows: "an assignment is complete at every revision, and the next leader completes the resharding",
    catches: "a resharding in more than one transaction, or a leader that ignores a pending request",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 3)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(6, &["a", "b", "c"], &work(0.3)).await?;
    for (newcomer, is_after) in [("d", false), ("e", true)] {
        let leader = stage.leader().await?;
        stage.next_fire_of(&leader).await?;
        match is_after {
            false => stage.before(&leader, "resharding", Action::Kill).await?,
            true => stage.after(&leader, "resharding", Action::Kill).await?,
        }
        let mark = stage.mark().await?;
        stage.spawn(newcomer, &work(0.3)).await?;
        stage
            .until("the leader is killed at its resharding", 6, |seen| {
                seen.since(mark).hits("crash").next().is_some()
            })
            .await?;
        stage
            .until_promised("the next leader reshards without the former leader", 6, |seen| {
                let last = seen.since(mark).events("resharded").next_back();
                last.is_some_and(|event| event.p != leader) && seen.assigned_for() == Some(3)
            })
            .await?;
    }
    stage.heal_and_settle(0..6).await
}

/// Returns true if each item had an owner when a leader was killed.
fn whole_at(seen: &Seen<'_>, crash: Hit<'_>) -> bool {
    (0..6).all(|item| seen.owner_at(item, crash.mt).is_some())
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for crash in seen.hits("crash") {
        findings.expect(whole_at(seen, crash), || {
            format!("items had no owner when {} was killed", crash.target)
        });
        let next = seen.assignments().into_iter().find(|a| {
            a.mt > crash.mt && !a.members.iter().any(|id| seen.process_of(id) == Some(crash.target))
        });
        findings.in_time(seen, crash.mt, next.map(|a| a.mt), "the next resharding");
    }
    findings.each_fire_accounted_for_all(seen, 0..6);
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let landed: Vec<_> = seen
        .hits("crash")
        .zip(["d", "e"])
        .map(|(crash, newcomer)| {
            let own = seen.session_at(crash.target, crash.mt);
            let joined =
                seen.events("joined").find(|event| event.p == newcomer).map(|event| event.mt);
            let opened = seen.sessions(newcomer).next().map(|(mt, ..)| mt).or(joined);
            seen.assignments().into_iter().any(|a| Some(a.sid) == own && Some(a.mt) >= opened)
        })
        .collect();
    findings.expect(landed == [false, true], || {
        format!(
            "one leader must die before its resharding is executed and one after; executed: {landed:?}"
        )
    });
    findings.into_sentences()
}
