//! F05: a process is stopped for longer than its session lives, in the middle of a run.
//!
//! ```text
//! a         [i t --|stopped 3T ................|-> writes: rejected
//! session   ............expires
//! b                        [i FAILOVER t+1 -----] writes: accepted
//! a                                             rejoins under another id
//! ```
//! The process is stopped twice: once at 30 % of the work and once just before its write. The code
//! blocks its thread, so a cancellation does not stop it: it writes in the end, and the resource
//! rejects the write. ElasticJob reads its *failover* node only when a run begins, so nothing stops
//! the old run.

use std::collections::BTreeSet;

use super::findings::Findings;
use super::history_queries::{Hit, Lost, Seen};
use super::stage::{Stage, StepResult, work};
use super::{Scenario, Work};

const WORK: f64 = 0.8;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F05",
    title: "pause longer than the session in the middle of a run",
    shows: "the resource rejects the effect of an overtaken run, and its end is not recorded",
    catches: "a takeover under the same token, or a completion without comparing the token",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("failover", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let work = Work { block: vec![0, 1], ..work(WORK) };
    stage.assemble(2, &["a", "b"], &work).await?;
    for share in [0.3, 0.95] {
        stage.until_idle("a").await?;
        stage.next_fire_of("a").await?;
        stage.elapse(stage.periods(WORK * share)).await;
        let mark = stage.mark().await?;
        stage.pause("a").await?;
        stage.elapse(stage.sessions(3.0)).await;
        stage
            .until_promised("b takes over a run of a", 6, |seen| {
                let runs = seen.since(mark).runs();
                runs.iter().any(|run| run.p == "b" && run.is_failover())
            })
            .await?;
        stage.resume("a").await?;
        stage.until_taken_over(1, mark, 6).await?;
        stage.until_rejoined("a", mark).await?;
        stage.until_shared(2).await?;
    }
    stage.heal_and_settle(0..2).await
}

fn stopped<'a>(seen: &Seen<'a>) -> Vec<(Hit<'a>, Vec<Lost>)> {
    seen.hits("pause").map(|hit| (hit, seen.held_at("a", hit.mt))).collect()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for (hit, lost) in stopped(seen) {
        findings.lost_runs_are_repeated(seen, "a", hit.mt);
        for lost in lost {
            let accepted = seen.effects().filter(|(item, fire, _, accepted)| {
                *accepted && (*item, *fire) == (lost.item, lost.fire)
            });
            let accepted: Vec<_> = accepted.map(|(_, _, token, _)| token).collect();
            findings.expect(accepted == [lost.token + 1], || {
                format!(
                    "fire {} of item {}: effects under the tokens {accepted:?} were accepted; expected is {}",
                    lost.fire, lost.item, lost.token + 1
                )
            });
            let recorded =
                lost.then.iter().any(|change| change.is_end() && change.after.token == lost.token);
            findings.expect(!recorded, || {
                format!("the overtaken run of item {} was recorded as completed", lost.item)
            });
        }
    }
    let ids: Vec<_> =
        seen.instances().into_iter().filter(|(.., p)| *p == Some("a")).map(|(id, ..)| id).collect();
    let distinct: BTreeSet<_> = ids.iter().collect();
    findings.expect(ids.len() >= 3 && distinct.len() == ids.len(), || {
        format!("a must have a new id in each of its three sessions; it had {ids:?}")
    });
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let stopped = stopped(seen);
    findings.expect(stopped.len() == 2 && stopped.iter().all(|(_, lost)| !lost.is_empty()), || {
        "a was not stopped in the middle of a run twice".to_owned()
    });
    let tried = stopped.iter().flat_map(|(_, lost)| lost).all(|lost| {
        seen.effects()
            .any(|(item, fire, token, _)| (item, fire, token) == (lost.item, lost.fire, lost.token))
    });
    findings.expect(tried, || {
        "an overtaken run did not try to write, so nothing could be rejected".to_owned()
    });
    findings.into_sentences()
}
