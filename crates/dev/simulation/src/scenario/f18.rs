//! F18: the registry's leader is killed during a claim, three times.
//!
//! ```text
//! a         claim [held]->...   retried, or found in the record   [i --]   and twice more
//! registry            |leader killed, another elected|
//! session   ..........................................   survives
//! ```
//! Sessions must survive only if the registry is back within half their timeout. The real ensemble
//! elects a leader in more than half a second, and sessions last for one second.
//!
//! If a session ends, its runs are cancelled and taken over, or a claim is taken over before its
//! instance knows of it. Nevertheless every fire is begun once, as long as the registry is back
//! within half a period. After a longer outage the next fire may come before all instances are
//! back, and the record names the fires that were not run.

use super::f14::one_run_per_claim_unless;
use super::findings::Findings;
use super::history_queries::{Seen, ns};
use super::stage::{Stage, StepResult, work};
use super::{Action, RegEvent, Scenario};

const KILLS: usize = 3;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F18",
    title: "registry leader killed during claims",
    shows: "an election of the registry costs a moment, and no session, run or fire",
    catches: "a connection error that is treated as the outcome of a claim",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(2, &["a", "b"], &work(0.2)).await?;
    for n in 1..=KILLS {
        stage.next_fire_of("a").await?;
        stage.until_idle("a").await?;
        stage.before("a", "claim", Action::Delay(stage.periods(0.02))).await?;
        stage.until_hit("delay", "a", n).await?;
        let mark = stage.mark().await?;
        stage.registry(RegEvent::KillLeader).await?;
        stage
            .until_promised("both items are run nevertheless", 4, |seen| {
                let runs = seen.since(mark).runs();
                (0..2).all(|item| runs.iter().any(|run| run.id.item == item && run.has_succeeded()))
            })
            .await?;
    }
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let outages = outages(seen);
    match outages.iter().all(|length| *length < ns(seen.period()) / 2) {
        true => findings.each_fire_once(seen, 0..2),
        false => findings.each_fire_accounted_for_all(seen, 0..2),
    }
    // The session of the claimant may have ended before it received the reply to the claim.
    one_run_per_claim_unless(seen, &mut findings, |next| next.former_holder().is_some());
    let is_short = outages.iter().all(|length| *length < ns(seen.session_timeout()) / 2);
    let healed = seen.healed().unwrap_or(u64::MAX);
    for p in ["a", "b"].into_iter().filter(|_| is_short) {
        let ended = |sid: &i64| seen.closed(*sid).is_some_and(|(mt, _)| mt < healed);
        let ended = seen.sessions_of(p).iter().any(ended);
        findings.expect(!ended, || format!("a session of {p} did not survive"));
    }
    findings.into_sentences()
}

/// Returns the duration of each outage of the registry, in nanoseconds.
fn outages(seen: &Seen<'_>) -> Vec<u64> {
    let ends: Vec<_> = seen.ends_of("registry_down").map(|end| end.mt).collect();
    let begins = seen.hits("registry_down").map(|hit| hit.mt);
    begins.zip(ends).map(|(begin, end)| end.saturating_sub(begin)).collect()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let held: Vec<_> =
        seen.hits("delay").filter(|hit| hit.target == "a").map(|hit| hit.mt).collect();
    let downs: Vec<_> = seen.hits("registry_down").map(|hit| hit.mt).collect();
    let soon = ns(seen.period());
    let during = held
        .iter()
        .zip(&downs)
        .filter(|(held, down)| **down >= **held && **down < **held + soon)
        .count();
    findings.expect(during == KILLS, || {
        format!("the registry's leader was killed {during} times during a claim, not {KILLS}")
    });
    findings.into_sentences()
}
