//! F14: the outcome of a claim is unknown: once its reply is lost, once its request.
//!
//! ```text
//! a   claim ->commit x lost    finds its own claim in the record: [i t ----]
//! a   claim x lost             finds nothing, claims again:             [i t+1 ----]
//! ```

use super::findings::Findings;
use super::history_queries::{Change, Seen};
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F14",
    title: "ambiguous claim",
    shows: "a claim with an unknown outcome leads to one run, and never to an item that stays running without a run",
    catches: "treating an unknown outcome as a failure (the item stays claimed without a run), or as a success (it runs unclaimed)",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a", "b"], &work(0.3)).await?;
    for (kind, is_reply) in [("lose_reply", true), ("lose_request", false)] {
        stage.next_fire_of("a").await?;
        stage.until_idle("a").await?;
        match is_reply {
            true => stage.after("a", "claim", Action::Lose).await?,
            false => stage.before("a", "claim", Action::Lose).await?,
        }
        stage.until_hit(kind, "a", 1).await?;
        let mark = stage.mark().await?;
        stage
            .until_promised("the fire is run nevertheless", 3, |seen| {
                seen.since(mark).runs().iter().any(|run| run.p == "a" && run.has_succeeded())
            })
            .await?;
    }
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    findings.each_fire_once(seen, 0..2);
    one_run_per_claim(seen, &mut findings);
    findings.into_sentences()
}

/// Expects that every claim has led to exactly one run under its token. The last claim of an item
/// may have none.
pub(super) fn one_run_per_claim(seen: &Seen<'_>, findings: &mut Findings) {
    one_run_per_claim_unless(seen, findings, |_| false);
}

/// As [`one_run_per_claim`], but a claim may have led to no run if `excused` accepts the next
/// change.
pub(super) fn one_run_per_claim_unless(
    seen: &Seen<'_>,
    findings: &mut Findings,
    excused: impl Fn(&Change) -> bool,
) {
    let runs = seen.runs();
    let changes = seen.ledger();
    for change in changes.iter().filter(|change| change.is_claim()) {
        let next =
            changes.iter().find(|later| later.item == change.item && later.zxid > change.zxid);
        let may_be_none = next.is_none_or(&excused);
        let of_claim = |run: &&super::history_queries::RunSeen<'_>| {
            run.id.item == change.item && run.id.token == change.after.token
        };
        let n = runs.iter().filter(of_claim).count();
        findings.expect(n == 1 || (may_be_none && n == 0), || {
            format!(
                "the claim of item {} under token {} led to {n} runs",
                change.item, change.after.token
            )
        });
    }
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let sessions = seen.sessions_of("a").len();
    findings.expect(sessions == 1, || {
        format!("a had {sessions} sessions, not one: the first ended with a claim in doubt")
    });
    for kind in ["lose_reply", "lose_request"] {
        let n = seen.hits(kind).filter(|hit| hit.target == "a").count();
        findings.expect(n == 1, || format!("{kind} at a claim happened {n} times, not once"));
    }
    findings.into_sentences()
}
