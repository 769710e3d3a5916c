//! F18: the registry's leader is killed during a claim, three times.
//!
//! ```text
//! a         claim [held]->...   retried or found       [i --]     and again, and again
//! registry            |leader killed, another elected|
//! session   ..........................................   survives
//! ```
//! That sessions survive is expected only where the registry is back within half their timeout: the real ensemble elects
//! a leader in more than half a second, and sessions last for one. Without them, runs are cancelled and taken over, or a
//! claim is taken over before anybody has heard of it; that every fire is begun once holds all the same, as long as the
//! registry is back within half a period. After that the next fire may come before everybody is there again, and the record
//! says what was left out.

use super::f14::once_each_unless;
use super::findings::Findings;
use super::history_queries::{Seen, ns};
use super::stage::{Played, Stage, work};
use super::{Action, RegEvent, Scenario};

const KILLS: usize = 3;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F18",
    title: "registry leader killed during claims",
    shows: "an election of the registry costs a moment: no session, no run, no fire",
    catches: "an error of the connection that is taken for the outcome of a claim",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> Played {
    stage.assemble(2, &["a", "b"], &work(0.2)).await?;
    for n in 1..=KILLS {
        stage.next_fire_of("a").await?;
        stage.until_idle("a").await?;
        stage.before("a", "claim", Action::Delay(stage.periods(0.02))).await?;
        stage.until_hit("delay", "a", n).await?;
        let mark = stage.mark().await?;
        stage.registry(RegEvent::KillLeader).await?;
        stage
            .promised("both items are run all the same", 4, |seen| {
                let runs = seen.since(mark).runs();
                (0..2).all(|item| runs.iter().any(|run| run.id.item == item && run.is_well()))
            })
            .await?;
    }
    stage.rest(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let outages = outages(seen);
    match outages.iter().all(|length| *length < ns(seen.period()) / 2) {
        true => findings.each_fire_once(seen, 0..2),
        false => findings.each_fire_accounted_for_all(seen, 0..2),
    }
    // Its session may have ended before anybody heard of the claim.
    once_each_unless(seen, &mut findings, |next| next.loser().is_some());
    let is_short = outages.iter().all(|length| *length < ns(seen.session_timeout()) / 2);
    let healed = seen.healed().unwrap_or(u64::MAX);
    for p in ["a", "b"].into_iter().filter(|_| is_short) {
        let ended = |sid: &i64| seen.closed(*sid).is_some_and(|(mt, _)| mt < healed);
        let ended = seen.sessions_of(p).iter().any(ended);
        findings.expect(!ended, || format!("a session of {p} did not survive"));
    }
    findings.into_sentences()
}

/// Returns for how long the registry was away, each time.
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
