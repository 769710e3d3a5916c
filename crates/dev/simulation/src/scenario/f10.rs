//! F10: the leader is killed at its resharding, before the write and after it.
//!
//! ```text
//! leader 1   d joins:  reshard -x killed before     the old assignment is intact and whole
//! leader 2             .......... reshards: d has items
//! leader 2   e joins:  reshard x- killed after      the new assignment is whole, although nobody heard of it
//! leader 3             .......... reshards without leader 2
//! ```
//! ElasticJob removes the old owners one by one before it writes the new ones (`ShardingService.resetShardingInfo`): a
//! crash between them, or just a look, finds items that belong to nobody.

use super::findings::Findings;
use super::history_queries::{Hit, Seen};
use super::stage::{Played, Stage, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F10",
    title: "leader crash around the write of a resharding",
    shows: "an assignment is whole at every revision, and the next leader finishes what the last one began",
    catches: "a resharding in more than one step, or a leader that forgets that resharding was asked for",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 3)],
};

async fn script(stage: &mut Stage) -> Played {
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
            .promised("the next leader reshards without the last one", 6, |seen| {
                let last = seen.since(mark).told("resharded").next_back();
                last.is_some_and(|told| told.p != leader) && seen.assigned_for() == Some(3)
            })
            .await?;
    }
    stage.rest(0..6).await
}

/// Returns the assignment that was in force when a leader was killed, if each item had an owner then.
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
            let joined = seen.told("joined").find(|told| told.p == newcomer).map(|told| told.mt);
            let opened = seen.sessions(newcomer).next().map(|(mt, ..)| mt).or(joined);
            seen.assignments().into_iter().any(|a| Some(a.sid) == own && Some(a.mt) >= opened)
        })
        .collect();
    findings.expect(landed == [false, true], || {
        format!(
            "one leader was to die before its resharding landed and one after; landed: {landed:?}"
        )
    });
    findings.into_sentences()
}
