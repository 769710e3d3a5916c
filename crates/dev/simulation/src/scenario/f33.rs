//! F33: a leader is killed during a backfill, and a second backfill is cancelled.
//!
//! ```text
//! first    [1][2 -leader killed   another leader gives the items 3, 4 …
//! second   [1][2 -cancel          no item gets a further fire
//! ```

use std::collections::BTreeSet;

use super::findings::Findings;
use super::history_queries::{Backfilled, Change, Seen};
use super::stage::{Stage, StepResult, work};
use super::{AdminOp, Scenario};

const ITEMS: u32 = 4;
/// Number of past fires of the first backfill.
const FIRES: usize = 6;
/// Number of past fires of the second backfill: more than end before its cancellation.
const CANCELLED: usize = 200;
/// Time between two past fires, in milliseconds.
const PERIOD_MS: i64 = 1_000;

pub(super) const SCENARIO: Scenario = Scenario {
    id: "F33",
    title: "a leader killed during a backfill, and a cancelled backfill",
    shows: "each item gets each past fire once and in order, and none after the cancellation",
    catches: "a leader that infers the next past fire from its view, or ignores a cancellation",
    run: |stage| Box::pin(script(stage)),
    expect,
    covers,
    require: &[("backfill", 24), ("crash", 1)],
};

async fn script(stage: &mut Stage) -> StepResult {
    stage.assemble(ITEMS, &["a", "b", "c"], &work(0.1)).await?;
    let mark = stage.mark().await?;
    stage.admin(AdminOp::Backfill { fires: FIRES, items: ITEMS, concurrency: 1 }).await?;
    until_backfilled(stage, mark, 2).await?;
    let leader = stage.leader().await?;
    stage.kill(&leader).await?;
    until_backfilled(stage, mark, FIRES).await?;
    stage.spawn(&leader, &work(0.1)).await?;
    stage.until_shared(3).await?;

    let mark = stage.mark().await?;
    let second = AdminOp::Backfill { fires: CANCELLED, items: ITEMS, concurrency: 2 };
    stage.admin(second).await?;
    until_backfilled(stage, mark, 2).await?;
    stage.admin(AdminOp::CancelBackfill).await?;
    stage.heal_and_settle(0..ITEMS).await
}

/// Waits until each item has ended this many past fires since the mark.
async fn until_backfilled(stage: &mut Stage, mark: usize, fires: usize) -> StepResult {
    let what = format!("each item has ended {fires} past fires");
    stage
        .until_promised(&what, 20, move |seen| {
            // Scheduled fires are at whole seconds, and those of requests at odd milliseconds.
            let mut runs = seen.since(mark).runs();
            runs.retain(|run| run.id.fire % 2 != 0 && run.has_ended());
            let ended: BTreeSet<_> = runs.iter().map(|run| (run.id.item, run.id.fire)).collect();
            (0..ITEMS).all(|item| ended.iter().filter(|(of, _)| *of == item).count() >= fires)
        })
        .await
}

/// Returns the past fires that an item got, with the times at which it got them.
fn got(seen: &Seen<'_>, item: u32) -> Vec<(u64, Backfilled)> {
    let is_new = |change: &Change| {
        change.before.as_ref().and_then(|before| before.backfilled.as_ref())
            != change.after.backfilled.as_ref()
    };
    let changes = seen.ledger_of(item).into_iter().filter(is_new);
    changes.filter_map(|change| Some((change.mt, change.after.backfilled?))).collect()
}

fn expect(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    for item in 0..ITEMS {
        let fires: Vec<_> = got(seen, item).into_iter().map(|(_, got)| got).collect();
        let mut by_backfill = fires.chunk_by(|one, next| one.id == next.id);
        let (first, second) = (by_backfill.next(), by_backfill.next());
        for one in fires.windows(2) {
            let [before, after] = one else { continue };
            let follows = before.id != after.id || after.fire == before.fire + PERIOD_MS;
            findings.expect(follows, || format!("item {item} got {after:?} after {before:?}"));
        }
        let (n_first, n_second) = (first.map(<[_]>::len), second.map(<[_]>::len));
        findings.expect(n_first == Some(FIRES), || {
            format!("item {item} got {n_first:?} fires of the first backfill, not {FIRES}")
        });
        findings.expect(n_second.is_some_and(|n| n < CANCELLED), || {
            format!("item {item} got {n_second:?} fires of the cancelled backfill")
        });
        let id = first.and_then(|first| first.first()).map(|got| got.id.as_str());
        let claims = seen.ledger_of(item).into_iter().filter(Change::is_claim);
        let claimed: Vec<_> = claims
            .filter(|claim| claim.after.has_source("MANUAL"))
            .filter(|claim| claim.after.backfilled.as_ref().map(|got| got.id.as_str()) == id)
            .filter_map(|claim| claim.after.past_fire)
            .collect();
        let expected: Vec<_> = first.into_iter().flatten().map(|got| got.fire).collect();
        findings.expect(claimed == expected, || {
            format!("item {item} ran {claimed:?}; it got the past fires {expected:?}")
        });
        findings.each_fire_accounted(seen, item);
    }
    findings.into_sentences()
}

fn covers(seen: &Seen<'_>) -> Vec<String> {
    let mut findings = Findings::default();
    let killed = seen.hits("crash").next().map(|hit| hit.mt);
    let got = got(seen, 0);
    let first = got.first().map(|(_, got)| got.id.clone());
    let of_first = got.iter().filter(|(_, got)| Some(&got.id) == first.as_ref());
    let last = of_first.map(|(mt, _)| *mt).next_back();
    findings.expect(killed.is_some() && last > killed, || {
        "no item got a past fire after the leader had been killed".to_owned()
    });
    let n = seen.operator_actions("cancel the backfill").count();
    findings.expect(n == 1, || format!("{n} backfills were cancelled, not 1"));
    findings.into_sentences()
}
