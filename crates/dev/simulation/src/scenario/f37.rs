//! F37: fires queue behind the runs that they meet, while one holder is killed and another is
//! stopped.
//!
//! ```text
//! fire   1        2        3        4        5        6
//! a      [1 -- 2.7 U ------------][2 MISFIRE -----------][3 ..     4 is skipped: the queue is full
//! b      [1 ------|2 queued, killed: another holder repeats 1 and runs 2
//! c      [..      |k queued, stopped, session ends: likewise
//! ```

use std::collections::BTreeSet;

use lite::Overlap;

use super::findings::Findings;
use super::history_queries::{Change, Seen};
use super::stage::{Stage, StepResult, work};
use super::{Action, Scenario};

const ITEMS: u32 = 3;
const HOLDERS: [&str; 3] = ["a", "b", "c"];
/// Maximum number of fires that queue behind a run.
const MOST: usize = 2;
/// Reason of a fire that met a full queue.
const FULL: &str = "the queue of the item was full";

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F37",
    title: "fires that queue behind the runs of living, stopped and killed holders",
    shows: "each queued fire runs once by itself and in order under any holder; a full queue is reported",
    catches: "a queue that is merged, reordered or lost with its holder, or that grows beyond its bound",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("misfire", 6), ("failover", 2), ("crash", 1), ("pause", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    let queues = |config: &mut lite::JobConfig| config.overlap = Some(Overlap::Queue(2));
    stage.assemble_with(ITEMS, &HOLDERS, &work(2.7), queues).await?;
    stage.after("b", "misfire", Action::Kill).await?;
    stage.until_hit("crash", "b", 1).await?;
    stage.until("a fire meets a full queue", 12, |seen| has_full_queue(&seen)).await?;
    stage.after("c", "misfire", Action::Pause).await?;
    stage.until_hit("pause", "c", 1).await?;
    stage
        .until_promised("another process continues the run of c", 12, |seen| {
            has_lost_queue(&seen, "c")
        })
        .await?;
    let mark = stage.mark().await?;
    stage.resume("c").await?;
    stage.until_rejoined("c", mark).await?;

    // Short runs empty the queues.
    stage.spawn("b", &work(0.2)).await?;
    stage.until_shared(HOLDERS.len()).await?;
    for (old, new) in [("a", "d"), ("c", "e")] {
        stage.close(old).await?;
        stage.spawn(new, &work(0.2)).await?;
    }
    stage.until_shared(HOLDERS.len()).await?;
    stage.heal_and_settle(0..ITEMS).await
}

fn has_full_queue(seen: &Seen<'_>) -> bool {
    seen.missed().any(|(_, _, _, reason)| reason == FULL)
}

/// Returns true if a process lost its run of an item with a queue to another process.
fn has_lost_queue(seen: &Seen<'_>, p: &str) -> bool {
    let is_meant = |change: &Change| {
        let former = change.former_holder().and_then(|holder| seen.process_of(holder));
        former == Some(p) && !change.after.queued().is_empty()
    };
    seen.ledger().iter().any(is_meant)
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for item in 0..ITEMS {
        let (accounts, changes) = (seen.accounts(item), seen.ledger_of(item));
        let queued: BTreeSet<i64> =
            changes.iter().flat_map(|change| change.after.queued()).copied().collect();
        for fire in queued {
            let of_fire = accounts.iter().filter(|it| it.first <= fire && fire <= it.last);
            let claims: Vec<_> = of_fire.collect();
            let is_alone =
                claims.len() == 1 && claims.iter().all(|it| it.is_misfire && it.first == it.last);
            findings.expect(is_alone, || {
                format!("queued fire {fire} of item {item} was claimed as {claims:?}")
            });
            let has_run = seen.runs_of(item, fire).iter().any(|run| run.has_succeeded());
            findings
                .expect(has_run, || format!("queued fire {fire} of item {item} did not succeed"));
        }
        findings.expect(accounts.is_sorted_by_key(|it| it.last), || {
            format!("item {item} ran its fires in another order: {accounts:?}")
        });
        let longest = changes.iter().map(|change| change.after.queued().len()).max();
        findings.expect(longest <= Some(MOST), || {
            format!("item {item} had {longest:?} queued fires; valid are at most {MOST}")
        });
        findings.each_fire_accounted(seen, item);
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    findings.expect(has_full_queue(seen), || "no fire met a full queue".to_owned());
    for p in ["b", "c"] {
        findings
            .expect(has_lost_queue(seen, p), || format!("{p} lost no run of an item with a queue"));
    }
    findings.into_sentences()
}
