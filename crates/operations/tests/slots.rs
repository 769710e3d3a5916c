//! Jobs with `overlap = parallel`: operators see and cancel the runs of an item in all its slots.

use crate::support;

use std::time::Duration;

use coordination::{FireTime, Layout, Outcome, Overlap, Slot};
use lite::JobBuilder;
use operations::{
    Change, DrainMode, Finding, FindingCode as Code, ItemState, JobSnapshot, JobState,
    RunsToCancel, Severity, WhatIf, WhyNot, diagnose, due_fire, item_brief, job_brief, plan_moves,
    preview, slot_briefs, why_item_not_running, why_not_running,
};
use sharding::{ShardingItem, StrategyRegistry};

use support::{Member, World, by, every_ten_seconds, ip, items, job, noon};

const ITEM: ShardingItem = ShardingItem::new(0);

fn slot(number: u32) -> Slot {
    Slot { item: ITEM, number }
}

/// An instance whose item 0 has unfinished runs in slots 0 and 1, of at most `max`. The other items
/// are idle.
async fn overlapping(world: &World, max: u32) -> (Member, JobSnapshot) {
    overlapping_by(world, every_ten_seconds().overlap(Overlap::Parallel(max))).await
}

async fn overlapping_by(world: &World, config: JobBuilder) -> (Member, JobSnapshot) {
    world.hold(&[0]);
    let member = world.member(1, config).await;
    let has_two = |job: &JobSnapshot| job.busy_slots(ITEM).len() == 2;
    let is_idle = |job: &JobSnapshot, n| job.busy_slots(ShardingItem::new(n)).is_empty();
    let now = world
        .until("two runs of item 0", |job| has_two(job) && (1..4).all(|n| is_idle(job, n)))
        .await;
    (member, now)
}

fn fire(job: &JobSnapshot, number: u32) -> FireTime {
    let record = job.view().item(slot(number).key()).ledger.as_ref().unwrap();
    record.value.run().unwrap().fire
}

fn outcome(world: &World, number: u32) -> Option<Outcome> {
    world.now().view().item(slot(number).key()).ledger.as_ref()?.value.outcome
}

fn targets(report: &operations::Report) -> Vec<&str> {
    report.done.iter().map(|entry| entry.target.as_str()).collect()
}

/// Returns the snapshot as it would be if all sessions had ended.
fn without_instances(world: &World) -> JobSnapshot {
    let model = world.registry.snapshot();
    let root = Layout::new(&job()).root();
    let lasting = model.subtree(&root).filter(|node| node.stat.owner.is_none()).cloned().collect();
    JobSnapshot::of_nodes(&job(), lasting)
}

#[tokio::test(start_paused = true)]
async fn each_run_is_a_row_and_counts() {
    let world = World::new();
    let (_member, now) = overlapping(&world, 3).await;
    let rows = slot_briefs(&now);
    let names: Vec<_> = rows.iter().map(operations::ItemBrief::name).collect();
    assert_eq!(names, ["0", "0.1", "1", "2", "3"]);
    let shown = |n: usize| (rows[n].item, rows[n].slot, rows[n].running, rows[n].status);
    assert_eq!(shown(0), (0, 0, true, ItemState::Running));
    assert_eq!(shown(1), (0, 1, true, ItemState::Running));
    assert_eq!(rows[1].fire_ms, Some(fire(&now, 1).0));
    assert_ne!(rows[0].fire_ms, rows[1].fire_ms);
    assert_eq!(rows[1].runs_on, rows[0].instance_id);
    assert_eq!(rows[1].instance_id, rows[0].instance_id, "the owner of the item");
    assert_eq!(job_brief(&now).running_items, 2);
    assert_eq!(now.runs_on(&now.instances()[0]), 2);
    let json = |n: usize| serde_json::to_value(&rows[n]).unwrap();
    assert_eq!((json(0).get("slot"), json(1)["slot"].as_u64()), (None, Some(1)));
}

#[tokio::test(start_paused = true)]
async fn item_runs_while_any_of_its_slots_does() {
    let world = World::new();
    let (_member, now) = overlapping(&world, 2).await;
    let of_first = RunsToCancel::OfFire(fire(&now, 0));
    world.operations().cancel(&job(), &of_first, &by()).await.unwrap();
    let now = world.until("the end of one run", |_| outcome(&world, 0).is_some()).await;
    assert!(now.is_running(ITEM));
    let brief = item_brief(&now, ITEM);
    assert_eq!((brief.running, brief.status), (false, ItemState::Running));
    assert_eq!(job_brief(&now).running_items, 1);
    let what_if = WhatIf::default().with(|it| it.total_count = Some(4));
    let what_if = what_if.with(|it| it.join = vec![sharding::InstanceId::new("10.0.0.9@-@9")]);
    let plan = plan_moves(&now, &what_if, &StrategyRegistry::default(), 0).unwrap();
    let of_item = plan.moves.iter().find(|planned| planned.item == 0);
    assert!(of_item.is_none_or(|planned| planned.waits), "{:?}", plan.moves);
}

#[tokio::test(start_paused = true)]
async fn item_is_cancelled_in_all_slots_and_a_fire_in_its_own() {
    let world = World::new();
    let (_member, now) = overlapping(&world, 2).await;
    let operations = world.operations();
    let of_item = Change::Cancel(RunsToCancel::OfItems(items(&[0, 1])));
    let report = preview(&now, &of_item, noon()).unwrap();
    assert_eq!(targets(&report), ["item 0", "item 0.1"]);
    assert_eq!(report.left.iter().map(|it| &*it.target).collect::<Vec<_>>(), ["item 1"]);
    let all = preview(&now, &Change::Cancel(RunsToCancel::All), noon()).unwrap();
    assert_eq!(targets(&all), ["item 0", "item 0.1"]);

    let of_fire = RunsToCancel::OfFire(fire(&now, 1));
    let report = operations.cancel(&job(), &of_fire, &by()).await.unwrap();
    assert_eq!(targets(&report), ["item 0.1"]);
    assert_eq!(&*report.records[0].record.target, "item 0.1");
    world.until("the end of the run", |_| outcome(&world, 1).is_some()).await;
    assert_eq!((outcome(&world, 0), outcome(&world, 1)), (None, Some(Outcome::Cancelled)));
    let rest = preview(&world.now(), &of_item, noon()).unwrap();
    assert!(targets(&rest).contains(&"item 0"));
}

#[tokio::test(start_paused = true)]
async fn why_says_that_overlap_allows_no_more_runs() {
    let world = World::new();
    let (_member, now) = overlapping(&world, 2).await;
    let holder = now.instances()[0].to_string();
    let runs = vec![format!("0 on {holder}"), format!("0.1 on {holder}")];
    let expected = WhyNot::RunsInAllSlots { limit: 2, runs };
    let reasons = why_item_not_running(&now, ITEM, world.time());
    assert!(reasons.contains(&expected), "{reasons:?}");
    assert!(expected.prevents_runs());
    let text = format!(
        "2 runs of the item are unfinished, as many as overlap allows: 0 on {holder}, 0.1 on {holder}"
    );
    assert_eq!(expected.to_string(), text);
    let due = due_fire(&now, ITEM, None).unwrap();
    assert!(due.runs && due.late_after_ms > fire(&now, 1).0, "{due:?}");
}

#[tokio::test(start_paused = true)]
async fn why_names_the_slots_that_have_the_permits() {
    let world = World::new();
    let config = every_ten_seconds().overlap(Overlap::Parallel(3)).cluster_concurrency(2);
    let (_member, now) = overlapping_by(&world, config).await;
    let holder = &now.instances()[0];
    let held = vec![format!("item 0 on {holder}"), format!("item 0.1 on {holder}")];
    let expected = WhyNot::WaitsForPermit { limit: 2, held, taken: 2 };
    let reasons = why_item_not_running(&now, ITEM, world.time());
    assert!(reasons.contains(&expected), "{reasons:?}");
}

#[tokio::test(start_paused = true)]
async fn free_slot_leaves_no_reason_and_the_next_fire_is_due() {
    let world = World::new();
    let (_member, now) = overlapping(&world, 3).await;
    let reasons = why_item_not_running(&now, ITEM, world.time());
    assert!(matches!(reasons[..], [WhyNot::WaitsForFire { .. }]), "{reasons:?}");
    let due = due_fire(&now, ITEM, None).unwrap();
    assert_eq!((due.late_after_ms, due.runs), (fire(&now, 1).0 + 10_000, false));
}

#[tokio::test(start_paused = true)]
async fn runs_of_a_lost_holder_are_orphaned_in_each_slot() {
    let world = World::new();
    let _overlapping = overlapping(&world, 2).await;
    let now = without_instances(&world);
    let orphaned = slot_briefs(&now).into_iter().filter(|row| row.orphaned);
    assert_eq!(orphaned.map(|row| row.name()).collect::<Vec<_>>(), ["0", "0.1"]);
    assert_eq!(job_brief(&now).status, JobState::Crashed);
    let orphaned = WhyNot::OrphanedItems { items: vec![0] };
    assert!(why_not_running(&now, noon()).contains(&orphaned));
    assert!(why_item_not_running(&now, ITEM, noon()).contains(&orphaned));
    let all = preview(&now, &Change::Cancel(RunsToCancel::All), noon()).unwrap();
    assert!(all.done[1].what.ends_with("is ended by the leader"), "{:?}", all.done);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_runs_in_further_slots() {
    let world = World::new();
    let (_member, now) = overlapping(&world, 2).await;
    let of_first = RunsToCancel::OfFire(fire(&now, 0));
    let operations = world.operations();
    let server = ip(1);
    operations.pause(&operations::Scope::of_both(job(), server.clone()), &by()).await.unwrap();
    operations.cancel(&job(), &of_first, &by()).await.unwrap();
    world.until("the end of one run", |_| outcome(&world, 0).is_some()).await;
    let deadline = Duration::from_secs(3);
    let (name, by) = (job(), by());
    let drain = || operations.drain(&name, &server, DrainMode::Pause, &by, deadline);
    let drained = drain().await.unwrap();
    assert_eq!((drained.complete, drained.running), (false, vec![0]));
    world.hold(&[]);
    assert!(drain().await.unwrap().complete);
}

#[tokio::test(start_paused = true)]
async fn last_run_that_ended_decides_whether_an_item_fails() {
    let world = World::new();
    let (_member, _) = overlapping(&world, 2).await;
    // The run of slot 0 goes on, and that of slot 1 fails.
    let ended = r#"{"state":"idle","token":1,"outcome":"failed","failure":"disk full","ended":9}"#;
    world.replace("/job/ledger/0.1", ended).await;
    let now = world.now();
    let failing = slot_briefs(&now).into_iter().filter(|row| row.failing);
    let failing: Vec<_> = failing.map(|row| (row.name(), row.failure)).collect();
    assert_eq!(failing, [("0.1".to_owned(), Some("disk full".to_owned()))]);
    assert_eq!(job_brief(&now).failing_items, 1);
    let failed = |reason: &WhyNot| {
        matches!(reason, WhyNot::Failing { items, failure, .. }
            if items == &[0] && failure.as_deref() == Some("disk full"))
    };
    assert!(why_not_running(&now, noon()).iter().any(failed));
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

#[tokio::test(start_paused = true)]
async fn doctor_finds_nothing_in_a_healthy_job_with_slots() {
    let world = World::new();
    let (_member, now) = overlapping(&world, 2).await;
    let found = diagnose(&now, Some(&now), world.time());
    assert_eq!(codes(&found), [], "{found:?}");
    world.hold(&[]);
    let idle = |job: &JobSnapshot| job.busy_slots(ITEM).is_empty();
    let now = world.until("the ends of the runs", idle).await;
    assert_eq!(codes(&diagnose(&now, Some(&now), world.time())), []);
    assert_eq!(slot_briefs(&now).len(), 4, "idle slots have no rows");
}

#[tokio::test(start_paused = true)]
async fn doctor_finds_faults_of_further_slots() {
    let world = World::new();
    let (_member, _) = overlapping(&world, 2).await;
    let running = world.stored("/job/ledger/0.1").unwrap();
    let orphaned = running.replace(r#""state":"running""#, r#""state":"orphan""#);
    let mut nodes: Vec<_> = world.now().nodes().collect();
    nodes.retain(|node| node.path.as_str() != "/job/sharding/0.1/running");
    let record = nodes.iter_mut().find(|node| node.path.as_str() == "/job/ledger/0.1");
    record.unwrap().data = orphaned.into();
    let found = diagnose(&JobSnapshot::of_nodes(&job(), nodes), None, world.time());
    assert_eq!(codes(&found), [Code::Orphan], "{found:?}");
    assert_eq!(found[0].node.as_deref(), Some("/job/leader/failover/items/0.1"));

    world.replace("/job/ledger/0.1", "{").await;
    let found = diagnose(&world.now(), None, noon());
    let bad = found.iter().find(|finding| finding.code == Code::BadRecord).unwrap();
    assert_eq!((bad.node.as_deref(), bad.severity), (Some("/job/ledger/0.1"), Severity::Error));
    assert!(bad.text.starts_with("no run begins in this slot of the item"), "{}", bad.text);
    assert!(slot_briefs(&world.now()).iter().any(|row| row.slot == 1), "it is shown");
}

#[tokio::test(start_paused = true)]
async fn mark_of_a_further_slot_without_a_recorded_run_is_found() {
    let world = World::new();
    let (_member, _) = overlapping(&world, 2).await;
    world.replace("/job/ledger/0.1", r#"{"state":"idle","token":0}"#).await;
    let before = world.now();
    let found = diagnose(&before, None, world.time());
    assert_eq!(codes(&found), [Code::RunNotRecorded], "{found:?}");
    assert_eq!(found[0].node.as_deref(), Some("/job/sharding/0.1/running"));
    let again = diagnose(&before, Some(&before), world.time());
    assert_eq!(again[0].severity, Severity::Error);
    let reasons = why_item_not_running(&before, ITEM, world.time());
    assert!(reasons.iter().any(|why| matches!(why, WhyNot::MarkedOnly { .. })), "{reasons:?}");
}
