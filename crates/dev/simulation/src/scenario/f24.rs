//! F24: clocks differ, and an item moves while its fire is due at one instance and not yet at the
//! other.
//!
//! ```text
//! true time      f-0.3U        f           f+0.3U
//! b (+0.3U)      f is due: [1 --]
//! operator           disables the server of a: item 0 is assigned to b
//! b                        [0 --]
//! a (-0.3U)                                f is due: a does not own the item
//! ```
//! Then the reverse: a fire that b has run is due again at a, which owns the item now.
//!
//! Last, a clock differs by more than `max_time_diff`, once with a set bound and once with the
//! default bound and a year of difference. The instance starts nothing and reports this; afterwards
//! every item runs as before. ElasticJob's check only logs with the default handler
//! (`ElasticJobExecutor.java:92`).

use super::Scenario;
use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};

const SKEW: f64 = 0.3;
const TOO_MUCH: f64 = 3.0;
const YEAR_SECONDS: f64 = 365.0 * 86_400.0;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F24",
    title: "clocks differ while an item moves",
    shows: "a fire is identified by its scheduled time: it runs once even if clocks differ; beyond the bound nothing starts",
    catches: "fires that are identified by the time of their detection; a clock check that only logs",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("reshard", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
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
        .until_promised("a runs an item again", 3, |seen| {
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
        .until_promised("a misses fires because of its clock", 4, |seen| {
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
        .until_promised("b misses the fires of a year ahead", 4, |seen| {
            let mut missed = seen.since(mark).missed();
            missed.any(|(p, _, _, why)| p == "b" && why.contains("clock"))
        })
        .await?;
    stage.elapse(stage.periods(1.0)).await;
    stage.skew("b", 0.0).await?;
    stage.next_fire_of("b").await?;
    stage.heal_and_settle(0..2).await
}

async fn run_both(stage: &mut Stage, by: &str, fire: i64) -> StepResult {
    stage
        .until_promised("one instance runs both items of the fire", 2, |seen| {
            (0..2).all(|item| {
                seen.runs_of(item, fire).iter().any(|run| run.p == by && run.has_succeeded())
            })
        })
        .await
}

/// Returns the fires that were run more than once.
fn fires_run_twice(seen: &Seen<'_>) -> Vec<(u32, i64)> {
    let runs = seen.runs();
    let ids = || runs.iter().map(|run| (run.id.item, run.id.fire));
    let mut twice: Vec<_> =
        ids().filter(|id| ids().filter(|other| other == id).count() > 1).collect();
    twice.dedup();
    twice
}

/// Returns the last period in which the clock of an instance differed by more than the bound.
fn too_much(seen: &Seen<'_>, p: &str) -> Option<(u64, u64)> {
    let from = seen.hits("skew").filter(|hit| hit.target == p).last()?.mt;
    let to = seen.ends_of("skew").filter(|hit| hit.target == p).last()?.mt;
    Some((from, to))
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    let twice = fires_run_twice(seen);
    findings.expect(twice.is_empty(), || format!("items and fires that were run twice: {twice:?}"));
    for item in 0..2 {
        findings.each_fire_accounted(seen, item);
    }
    if let Some((from, to)) = too_much(seen, "b") {
        findings.starts_nothing(seen, "b", from + 100_000_000, to);
    }
    if let Some((from, to)) = too_much(seen, "a") {
        findings.starts_nothing(seen, "a", from + 100_000_000, to);
        for item in 0..2 {
            for pair in seen.accounts(item).windows(2) {
                let [before, after] = pair else { continue };
                let claimed =
                    seen.ledger_of(item).into_iter().find(|c| c.after.token == after.token);
                let excused = claimed.is_some_and(|claim| claim.mt > from);
                findings.expect(excused || after.first == before.last + seen.period_ms(), || {
                    format!(
                        "item {item} missed the fires between {} and {}",
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
    // b ran all items of a fire, and both instances ran items of the fire before.
    let by_b = |fire| (0..2).all(|item| seen.runs_of(item, fire).iter().any(|run| run.p == "b"));
    let by_both = |fire| {
        let runs: Vec<_> =
            (0..2).flat_map(|item| seen.runs_of(item, fire)).map(|run| run.p).collect();
        runs.contains(&"a") && runs.contains(&"b")
    };
    let moved =
        seen.runs().iter().any(|run| by_b(run.id.fire) && by_both(run.id.fire - seen.period_ms()));
    findings.expect(moved, || "no item changed its owner between two fires".to_owned());
    findings.expect(["a", "b"].iter().all(|p| too_much(seen, p).is_some()), || {
        "no clock differed by more than the bound".to_owned()
    });
    findings.into_sentences()
}
