//! F36: with a fixed delay, a holder and the leader are killed, and a clock is set back.
//!
//! ```text
//! delay     |<- D ->|                      |<- D ->|             |<- D ->|
//! fire      1       2                      3       4             5
//! b         [i -----|[i -killed
//! others                [i by failover ----|       |leader killed before it records the end
//! new leader                                              records the end; its clock is set back
//! ```

use checker::history::RunId;

use super::findings::Findings;
use super::history_queries::{RunSeen, Seen, ns};
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

const ITEMS: u32 = 4;
/// Difference of the clock that is set back, in periods.
const BEHIND: f64 = -0.4;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F36",
    title: "a fixed delay while a holder and the leader are killed and a clock is set back",
    shows: "each fire comes the delay after the last one has ended on all items, and none is lost",
    catches: "an end that is kept by one process, recorded too early, or counted by a clock that was set back",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("crash", 2), ("skew", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.create_job(ITEMS, |_| {}).await?;
    for name in ["a", "b", "c"] {
        stage.spawn(name, &work(0.4)).await?;
    }
    stage.until_shared(3).await?;
    let delay = delay_seconds(stage.period());
    stage.configure(|config| config.cron = Some(format!("@after {delay}s"))).await?;

    let lost = stage.next_run_of("b").await?;
    stage.kill("b").await?;
    until_next_fire(stage, &lost).await?;
    stage.spawn("b", &work(0.4)).await?;
    stage.until_shared(3).await?;

    let leader = stage.leader().await?;
    stage.before(&leader, "once", Action::Kill).await?;
    stage.until_hit("crash", &leader, 1).await?;
    let mark = stage.mark().await?;
    stage
        .until_promised("another leader records the end, and the next fire comes", 8, |seen| {
            seen.since(mark).runs().iter().any(RunSeen::has_ended)
        })
        .await?;
    stage.spawn(&leader, &work(0.4)).await?;
    stage.until_shared(3).await?;

    let leader = stage.leader().await?;
    stage.skew(&leader, BEHIND).await?;
    stage.elapse(stage.periods(4.0)).await;
    stage.heal_and_settle(0..ITEMS).await
}

/// Returns the delay: half a period, in whole seconds.
fn delay_seconds(period: std::time::Duration) -> u64 {
    (period.as_secs() / 2).max(1)
}

async fn until_next_fire(stage: &mut Stage, lost: &RunId) -> StepResult {
    stage
        .until_promised("the run is taken over, and the next fire comes", 8, |seen| {
            let runs = seen.runs();
            let is_repeated = |run: &RunSeen<'_>| run.id.item == lost.item && run.is_failover();
            let taken_over = runs.iter().any(|run| is_repeated(run) && run.has_succeeded());
            taken_over && runs.iter().any(|run| run.id.fire > lost.fire)
        })
        .await
}

/// Returns the fires of the job in their order.
fn fires(seen: &Seen<'_>) -> Vec<i64> {
    let mut fires: Vec<i64> = seen.runs().iter().map(|run| run.id.fire).collect();
    fires.sort_unstable();
    fires.dedup();
    fires
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let (fires, runs) = (fires(seen), seen.runs());
    let delay = ns(std::time::Duration::from_secs(delay_seconds(seen.period())));
    for pair in fires.windows(2) {
        let [before, after] = pair else { continue };
        let of = |fire: i64| runs.iter().filter(move |run| run.id.fire == fire);
        for item in 0..ITEMS {
            let has_succeeded = of(*before).any(|run| run.id.item == item && run.has_succeeded());
            findings.expect(has_succeeded, || {
                format!("item {item} did not complete fire {before}, although {after} came")
            });
        }
        let ended = of(*before).filter_map(|run| Some(run.end?.0)).max();
        let began = of(*after).map(|run| run.began).min();
        let is_delayed = ended.zip(began).is_some_and(|(ended, began)| began >= ended + delay);
        // The time of the end is the registry's or the leader's. Only while no clock differs is it
        // the time of the history, too.
        let skewed = seen.hits("skew").next().map(|hit| hit.mt);
        let is_before_skew = skewed.is_none_or(|skewed| began.is_some_and(|began| began < skewed));
        findings.expect(is_delayed || !is_before_skew, || {
            format!("fire {after} began at {began:?}, and fire {before} had ended at {ended:?}")
        });
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let n_fires = fires(seen).len();
    findings.expect(n_fires >= 6, || format!("the job fired only {n_fires} times"));
    let leaders = seen.events("became_leader").count();
    findings.expect(leaders >= 2, || "no other leader came".to_owned());
    findings.into_sentences()
}
