//! F24: clocks differ, and an item moves between its old and its new owner's instants of the same fire.
//!
//! ```text
//! true time      f-0.3U        f           f+0.3U
//! b (+0.3U)      f is due: [1 --]
//! operator           server of a disabled: item 0 moves to b
//! b                        [0 --]
//! a (-0.3U)                                f is due: not its own
//! ```
//! Then the other way round: a fire that b has run already comes once more at a, which owns the item now. Last, a clock
//! that is off by more than `max_time_diff`, set and by default, where it is a year ahead: the instance refuses to start
//! anything and says so, and afterwards every item runs as before. ElasticJob's check only
//! logs with the default handler (`ElasticJobExecutor.java:92`).

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Played, Stage, work};

const SKEW: f64 = 0.3;
const TOO_MUCH: f64 = 3.0;
const YEAR_SECONDS: f64 = 365.0 * 86_400.0;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F24",
    title: "clocks differ while an item moves",
    shows: "a fire is known by its scheduled time: it runs once, whatever clocks say; beyond the bound nothing starts",
    catches: "fires that are known by the moment at which they were noticed; a clock check that only logs",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 2)],
};

async fn script(stage: &mut Stage) -> Played {
    stage.assemble(2, &["a", "b"], &work(0.1)).await?;
    stage.next_fire_of("a").await?;
    stage.skew("a", -SKEW).await?;
    stage.skew("b", SKEW).await?;
    stage.next_fire_of("a").await?;

    let fire = stage.next_fire_of("b").await?;
    stage.disable("a", true).await?;
    run_both(stage, "b", fire).await?;
    let fire = stage.next_fire_of("b").await?;
    run_both(stage, "b", fire).await?;
    stage.disable("a", false).await?;
    let mark = stage.mark().await?;
    stage
        .promised("a has an item again", 3, |seen| {
            seen.since(mark).runs().iter().any(|run| run.p == "a")
        })
        .await?;

    stage.skew("b", 0.0).await?;
    stage.skew("a", 0.0).await?;
    stage.configure(|config| config.max_time_diff = lite::MaxTimeDiff::Seconds(2)).await?;
    stage.next_fire_of("a").await?;
    stage.skew("a", TOO_MUCH).await?;
    let mark = stage.mark().await?;
    stage
        .promised("a refuses fires because of its clock", 4, |seen| {
            let mut missed = seen.since(mark).missed();
            missed.any(|(p, _, _, why)| p == "a" && why.contains("clock"))
        })
        .await?;
    stage.elapse(stage.periods(1.0)).await;
    stage.skew("a", 0.0).await?;

    stage.configure(|config| config.max_time_diff = lite::MaxTimeDiff::Default).await?;
    stage.next_fire_of("b").await?;
    stage.skew("b", YEAR_SECONDS / stage.period().as_secs_f64()).await?;
    let mark = stage.mark().await?;
    stage
        .promised("b refuses the fires of a year ahead", 4, |seen| {
            let mut missed = seen.since(mark).missed();
            missed.any(|(p, _, _, why)| p == "b" && why.contains("clock"))
        })
        .await?;
    stage.elapse(stage.periods(1.0)).await;
    stage.skew("b", 0.0).await?;
    stage.next_fire_of("b").await?;
    stage.rest(0..2).await
}

async fn run_both(stage: &mut Stage, by: &str, fire: i64) -> Played {
    stage
        .promised("one instance runs both items of the fire", 2, |seen| {
            (0..2)
                .all(|item| seen.runs_of(item, fire).iter().any(|run| run.p == by && run.is_well()))
        })
        .await
}

/// Returns the fires of a skewed chapter: between the first skew and the last healing of the small ones.
fn fires_run_twice(seen: &Seen<'_>) -> Vec<(u32, i64)> {
    let runs = seen.runs();
    let ids = || runs.iter().map(|run| (run.id.item, run.id.fire));
    let mut twice: Vec<_> =
        ids().filter(|id| ids().filter(|other| other == id).count() > 1).collect();
    twice.dedup();
    twice
}

/// Returns from when to when the clock of an instance was off by too much: the last time that it was wrong.
fn too_much(seen: &Seen<'_>, p: &str) -> Option<(u64, u64)> {
    let from = seen.hits("skew").filter(|hit| hit.target == p).last()?.mt;
    let to = seen.ends_of("skew").filter(|hit| hit.target == p).last()?.mt;
    Some((from, to))
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    let twice = fires_run_twice(seen);
    findings.expect(twice.is_empty(), || format!("run twice: {twice:?}"));
    for item in 0..2 {
        findings.each_fire_accounted(seen, item);
    }
    if let Some((from, to)) = too_much(seen, "b") {
        findings.begins_nothing(seen, "b", from + 100_000_000, to);
    }
    if let Some((from, to)) = too_much(seen, "a") {
        findings.begins_nothing(seen, "a", from + 100_000_000, to);
        for item in 0..2 {
            for pair in seen.accounts(item).windows(2) {
                let [before, after] = pair else { continue };
                let claimed =
                    seen.ledger_of(item).into_iter().find(|c| c.after.token == after.token);
                let excused = claimed.is_some_and(|claim| claim.mt > from);
                findings.expect(excused || after.first == before.last + seen.period_ms(), || {
                    format!(
                        "item {item} missed what was between {} and {}",
                        before.last, after.first
                    )
                });
            }
        }
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    // The owner of both items changed between the two instants of a fire: b ran what was a's at the fire before.
    let by_b = |fire| (0..2).all(|item| seen.runs_of(item, fire).iter().any(|run| run.p == "b"));
    let by_both = |fire| {
        let runs: Vec<_> =
            (0..2).flat_map(|item| seen.runs_of(item, fire)).map(|run| run.p).collect();
        runs.contains(&"a") && runs.contains(&"b")
    };
    let moved =
        seen.runs().iter().any(|run| by_b(run.id.fire) && by_both(run.id.fire - seen.period_ms()));
    findings.expect(moved, || "no item moved between the instants of one fire".to_owned());
    findings.expect(["a", "b"].iter().all(|p| too_much(seen, p).is_some()), || {
        "no clock was off by more than the bound".to_owned()
    });
    findings.into_sentences()
}
