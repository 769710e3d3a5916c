//! F25: the wall clock of one instance jumps back by an hour, and later forward by an hour.
//!
//! ```text
//! a   [f --]  |-1h: no new fire is due ....|0  [..]  |+1h [f+1h --] one run, a gap |0 ...
//! b   [f --]  [f+U --]  [f+2U --]   ...   every fire on time
//! ```
//! After the jump forward is corrected, the items of a have run for a fire an hour ahead. They wait
//! until that time has come (S1a). `max_time_diff` prevents such a run (F24); it is off here.
//!
//! The job is scheduled in the zone `Europe/Berlin`. Simulated worlds can begin shortly before a
//! change of that zone, so the scenario is also played across both changes of a year.
//!
//! At the change *back*, an hour of local times occurs twice. They fire at the second occurrence,
//! by Quartz's rule: the job does not fire during the first one, and that is no gap. An hour is
//! sixty minutes in virtual time, and eight periods in real time.

use super::Scenario;
use super::findings::Findings;
use super::history_queries::{Change, Seen, ns};
use super::stage::{Stage, StepResult, work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F25",
    title: "wall clock jumps back and forward",
    shows: "no past fire is run again, skipped fires are recorded as a gap without a burst, other instances are unaffected",
    catches: "fires that are computed from the last wake-up and all run; a last fire that decreases",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[],
};

async fn script(stage: &mut Stage) -> StepResult {
    let config = |config: &mut lite::JobConfig| {
        config.time_zone = Some("Europe/Berlin".to_owned());
        config.max_time_diff = lite::MaxTimeDiff::Off;
    };
    stage.assemble_with(2, &["a", "b"], &work(0.2), config).await?;
    stage.next_fire_of("a").await?;
    let hour = stage.an_hour();
    let ahead = hour.as_secs_f64() / stage.period().as_secs_f64();

    stage.skew("a", -ahead).await?;
    stage.elapse(stage.periods(3.0)).await;
    stage.skew("a", 0.0).await?;
    stage.next_fire_of("a").await?;

    stage.skew("a", ahead).await?;
    stage.next_fire_of("a").await?;
    stage.elapse(stage.periods(2.0)).await;
    stage.skew("a", 0.0).await?;
    stage.elapse(hour).await;
    stage.heal_and_settle(0..2).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.no_failover(seen);
    let runs = seen.runs();
    for item in 0..2 {
        findings.each_fire_accounted(seen, item);
        let fires: Vec<_> =
            runs.iter().filter(|run| run.id.item == item).map(|run| run.id.fire).collect();
        findings.expect(fires.windows(2).all(|pair| pair[0] < pair[1]), || {
            format!("a past fire of item {item} was run again")
        });
    }
    // In each period after a jump, a may begin at most two runs of its one item: no burst.
    for jump in seen.hits("skew").chain(seen.ends_of("skew")) {
        let soon = jump.mt + ns(seen.period());
        let burst = runs
            .iter()
            .filter(|run| run.p == "a" && run.began >= jump.mt && run.began < soon)
            .count();
        findings.expect(burst <= 2, || {
            format!("a began {burst} runs in the period after its clock jumped")
        });
    }
    let by_b = |change: &Change| {
        change.is_claim()
            && change.after.holder.as_deref().and_then(|id| seen.process_of(id)) == Some("b")
    };
    let accounts: Vec<_> = (0..2).map(|item| (item, seen.accounts(item))).collect();
    for claim in seen.ledger().into_iter().filter(by_b) {
        let of_item = accounts.iter().filter(|(item, _)| *item == claim.item);
        let mut accounts = of_item.flat_map(|(_, accounts)| accounts);
        let gap = accounts.find(|account| account.token == claim.after.token);
        let gap = gap.and_then(|account| account.gap_from);
        findings.expect(gap.is_none(), || {
            format!("b missed fire {gap:?}, although its clock was right")
        });
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let jumps = seen.hits("skew").filter(|hit| hit.target == "a").count();
    findings.expect(jumps == 2, || format!("the clock of a jumped {jumps} times, not twice"));
    let gap = (0..2).flat_map(|item| seen.accounts(item)).any(|account| account.gap_from.is_some());
    findings.expect(gap, || "no fire was skipped".to_owned());
    findings.into_sentences()
}
