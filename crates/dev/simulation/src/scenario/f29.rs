//! F29: one slow item on an instance that owns all items.
//!
//! ```text
//! fire       f        f+U       f+2U      f+3U      f+4U      f+5U
//! item 0     [f ------ 2.5U -----------][f+U..f+2U MISFIRE ----------]
//! items 1-5  [-]      [-]       [-]       [-]       [-]       [-]
//! ```

use super::findings::Findings;
use super::history_queries::Seen;
use super::stage::{Stage, StepResult, work};
use super::{Scenario, Work};

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F29",
    title: "slow item beside quick ones",
    shows: "a slow item delays no other item; its missed fires are merged into one recorded range",
    catches: "a fire that waits for all items of the previous fire, or a misfire without the range of its fires",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("misfire", 2)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let work = Work { slow: vec![(0, 2.5)], ..work(0.1) };
    stage.assemble(6, &["a"], &work).await?;
    stage
        .until_promised("the slow item has run three times", 14, |seen| {
            seen.runs().iter().filter(|run| run.id.item == 0 && run.has_succeeded()).count() >= 3
        })
        .await?;
    stage.heal_and_settle(0..6).await
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.each_fire_once(seen, 0..6);
    findings.misfires_have_ranges(seen, 0);
    (1..6).for_each(|item| findings.starts_on_time(seen, item));
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let merged = seen.accounts(0).into_iter().filter(|account| account.count > 1).count();
    findings.expect(merged >= 2, || {
        format!("fires of the slow item were merged {merged} times, not twice")
    });
    findings.into_sentences()
}
