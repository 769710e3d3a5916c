//! A namespace that one feed keeps current shows what a fresh read shows.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    Dialect, GroupLimits, GroupName, JavaSettings, JobConfig, JobName, Layout, Overlap,
    encode_config, encode_group_limits,
};
use operations::{
    Freshness, GroupSnapshot, ItemBrief, ItemState, JobSnapshot, LiveNamespace, Operations, WhyNot,
    diagnose, first_due_fire, job_brief, job_brief_since, job_briefs, next_fires, server_briefs,
    slot_briefs, why_item_not_running_in,
};
use proptest::prelude::*;
use reg_center::{Lifetime, MemoryCenter, MemoryRegistry, NodePath, RegistryCenter, Txn};
use sharding::ShardingItem;

use support::{DEADLINE, World, job, noon, within};

const PATHS: [&str; 29] = [
    "/job/config",
    "/job/coordination/audit",
    "/job/coordination/template",
    "/job/coordination/former-configs",
    "/job/instances/10.0.0.1@-@7",
    "/job/instances/10.0.0.2@-@8",
    "/job/servers/10.0.0.1",
    "/job/servers/10.0.0.2",
    "/job/leader/election/instance",
    "/job/sharding/0/instance",
    "/job/sharding/1/instance",
    "/job/sharding/0/running",
    "/job/sharding/0/failover",
    "/job/sharding/1/disabled",
    "/job/sharding/1/misfire",
    "/job/ledger/0",
    "/job/ledger/1",
    "/job/leader/failover/items/1",
    "/job/something/else",
    "/job@-@groups/db/limits",
    "/job@-@groups/db/permits/0",
    "/job@-@groups/db/permits/1",
    "/job@-@groups/db/starts",
    "/job@-@groups/db/waiting/job",
    "/job@-@groups/db/audit",
    "/job@-@groups/api/limits",
    "/job/ledger/0.1",
    "/job/sharding/0.1/running",
    "/job/coordination/progress/0.1",
];

/// Returns data of nodes: valid for some of the paths, and for none.
fn documents() -> Vec<String> {
    let config = |dialect| {
        let mut config = JobConfig::new(job(), 2);
        config.java = JavaSettings::of(dialect);
        config.cron = Some("0/1 * * * * ?".into());
        config.overlap = (dialect == Dialect::V3).then_some(Overlap::Parallel(2));
        config.group = (dialect == Dialect::V2).then(db);
        encode_config(&config)
    };
    let texts = [
        "",
        "10.0.0.1@-@7",
        "10.0.0.2@-@8",
        "DISABLED",
        "PAUSED",
        "jobInstanceId: 10.0.0.1@-@7\nserverIp: 10.0.0.1\n",
        r#"{"state":"running","holder":"10.0.0.1@-@7","fire":2,"source":"NORMAL","token":1}"#,
        r#"{"state":"idle","token":1,"outcome":"failed","failure":"disk full"}"#,
        r#"{"v":9,"state":"idle"}"#,
        r#"[{"v":1,"replaced_ms":0,"who":"anna","why":"release 12","document":"{}"}]"#,
        "\u{1}damaged",
        PERMIT,
        r#"{"v":1,"by":"10.0.0.1@-@7"}"#,
        r#"{"v":1,"starts":[[1709208000000,2]]}"#,
        r#"{"v":1,"token":1,"at":1,"done":3,"succeeded":90,"failed":2}"#,
    ];
    let limits = encode_group_limits(&limits(1));
    let configs = [config(Dialect::V2), config(Dialect::V3)];
    configs.into_iter().chain(texts.map(str::to_owned)).chain([limits]).collect()
}

/// Data of a permit that another job has.
const PERMIT: &str = r#"{"v":1,"job":"other","item":3,"by":"10.0.0.1@-@7","token":1}"#;

fn db() -> GroupName {
    GroupName::new("db").unwrap()
}

fn limits(runs: u32) -> GroupLimits {
    GroupLimits { cluster_concurrency: Some(runs), start_rate: None }
}

/// Returns all that is shown of a job.
fn shown(snapshot: &JobSnapshot) -> String {
    let anomalies = snapshot.anomalies();
    let nodes: Vec<_> = snapshot.nodes().collect();
    let audit: Vec<_> = snapshot.audit().collect();
    let (brief, items) = (job_brief(snapshot), slot_briefs(snapshot));
    let findings = diagnose(snapshot, None, noon());
    let former = snapshot.former_configs();
    format!("{nodes:#?} {anomalies:#?} {audit:#?} {brief:#?} {items:#?} {findings:#?} {former:#?}")
}

/// Checks the answers that all readers share against those of a fresh read.
fn assert_shared_answers(live: &LiveNamespace, fresh: Option<&JobSnapshot>) {
    let list = live.list();
    // The first sight of the instances counts where the registry has no times.
    let ready = list.get("job").map(|line| line.ready_ms);
    let expected = fresh.filter(|job| job.has_config()).map(|job| job_brief_since(job, ready));
    assert_eq!(list.get("job").map(|line| &*line.brief), expected.as_ref());
    assert_eq!(list.jobs().len(), job_briefs(fresh).len());
    let due = fresh.and_then(|job| first_due_fire(job, ready)).map(|due| due.late_after_ms);
    assert_eq!(due, expected.and_then(|brief| brief.late_after_ms));
    let now = noon();
    let next = fresh.and_then(|job| next_fires(job.config()?, now, 1).ok()?.first().copied());
    let next: Vec<_> = next.map(|fire| (fire.as_millisecond(), job())).into_iter().collect();
    assert_eq!(live.next_fires(now.as_millisecond(), 9), next);
    assert_eq!(*live.servers(), server_briefs(fresh));
    let items = fresh.filter(|job| job.has_config()).map(slot_briefs).unwrap_or_default();
    let count = |is_counted: fn(&ItemBrief) -> bool| items.iter().filter(|i| is_counted(i)).count();
    let mut running: Vec<_> = live.running(usize::MAX).into_iter().map(|run| run.item).collect();
    running.sort_by_key(|item| (item.item, item.slot));
    let expected: Vec<_> = items.iter().filter(|item| item.running).cloned().collect();
    assert_eq!(running, expected);
    let totals = list.totals();
    assert_eq!(totals.running_items, expected.len());
    assert_eq!(totals.disabled_items, count(|item| item.status == ItemState::Disabled));
    assert_eq!(totals.failing_items, count(|item| item.failing));
    assert!(items.iter().all(|item| !item.failing || item.outcome == Some("failed")));
}

/// Checks the groups against those of a fresh read.
async fn assert_groups(
    live: &LiveNamespace,
    registry: &MemoryRegistry,
    fresh: Option<&JobSnapshot>,
) {
    let operations = Operations::new(Arc::new(registry.connect()));
    let stored = operations.groups().await.unwrap();
    for group in &stored {
        assert_eq!(live.group(group.view().name()).as_deref(), Some(group));
    }
    let named = fresh.and_then(|job| job.config()?.group.clone());
    let is_named = |group: &GroupSnapshot| Some(group.view().name()) == named.as_ref();
    let is_stored = stored.iter().any(is_named);
    let mut expected = stored;
    if let Some(named) = named.clone().filter(|_| !is_stored) {
        expected.push(GroupSnapshot::new(named));
        expected.sort_by(|a, b| a.view().name().cmp(b.view().name()));
    }
    let shown: Vec<_> = live.groups().iter().map(|group| GroupSnapshot::clone(group)).collect();
    assert_eq!(shown, expected);
    for group in expected {
        let jobs: Vec<_> = is_named(&group).then(job).into_iter().collect();
        assert_eq!(live.jobs_of_group(group.view().name()), jobs);
    }
}

fn of_registry(registry: &MemoryRegistry) -> Option<JobSnapshot> {
    let model = registry.snapshot();
    let nodes: Vec<_> = model.subtree(&Layout::new(&job()).root()).cloned().collect();
    (!nodes.is_empty()).then(|| JobSnapshot::of_nodes(&job(), nodes))
}

async fn change(center: &MemoryCenter, path: &str, data: Option<&str>) {
    let path = NodePath::parse(path).unwrap();
    let exists = center.read(&path).await.unwrap().is_some();
    let txn = match (data, exists) {
        (Some(data), true) => Txn::new().put(path, data.to_owned()),
        (Some(data), false) => Txn::new().create(path, data.to_owned(), Lifetime::Persistent),
        (None, true) => Txn::new().delete(path),
        (None, false) => return,
    };
    center.commit(txn).await.unwrap();
}

/// Waits until everything that was written before the call is shown.
async fn caught_up(live: &LiveNamespace, registry: &MemoryRegistry, round: usize) {
    let marker = format!("marker{round}");
    change(&registry.connect(), &format!("/{marker}"), Some("")).await;
    let marker = JobName::new(&marker).unwrap();
    let mut updates = live.updates(Duration::ZERO);
    within("the changes to be shown", async {
        while live.job(&marker).is_none() {
            updates.next().await.expect("the registry is open");
        }
    })
    .await;
}

proptest! {
    #[test]
    fn live_jobs_equal_those_of_a_fresh_read(
        changes in prop::collection::vec((0..PATHS.len(), prop::option::weighted(0.8, 0..17_usize)), 1..60),
        restarts in prop::collection::vec(0..60_usize, 0..3),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let documents = documents();
        runtime.block_on(async {
            let registry = MemoryRegistry::new();
            let (observer, writer) = (Arc::new(registry.connect()), registry.connect());
            let live = LiveNamespace::follow(Arc::clone(&observer) as Arc<dyn RegistryCenter>);
            for (round, (path, document)) in changes.iter().enumerate() {
                let data = document.map(|index| &*documents[index]);
                change(&writer, PATHS[*path], data).await;
                if restarts.contains(&round) {
                    // The feed begins with a new snapshot.
                    observer.expire();
                }
                if round % 7 == 0 {
                    caught_up(&live, &registry, round).await;
                    // What is decoded for a reader must not outlive the next change.
                    drop(live.job(&job()).as_deref().map(shown));
                }
            }
            caught_up(&live, &registry, usize::MAX).await;
            let fresh = of_registry(&registry);
            assert_eq!(live.job(&job()).as_deref().map(shown), fresh.as_ref().map(shown));
            assert_shared_answers(&live, fresh.as_ref());
            assert_groups(&live, &registry, fresh.as_ref()).await;
        });
    }
}

/// Returns a namespace with one job that is loaded, and the center through which it is followed.
async fn loaded() -> (MemoryRegistry, Arc<MemoryCenter>, LiveNamespace) {
    let world = World::new();
    world.write(&[("/job/config", &documents()[0]), ("/job/ledger/0", "{}")], &[]).await;
    let center = Arc::new(world.registry.connect());
    let live = LiveNamespace::follow(Arc::clone(&center) as Arc<dyn RegistryCenter>);
    live.loaded(DEADLINE).await.unwrap();
    (world.registry, center, live)
}

#[tokio::test(start_paused = true)]
async fn many_changes_are_one_update_in_each_interval() {
    let (registry, _center, live) = loaded().await;
    let mut updates = live.updates(Duration::from_millis(100));
    let writer = registry.connect();
    let before = live.job(&job()).unwrap();
    for round in 0..50 {
        change(&writer, "/job/servers/10.0.0.1", Some(&round.to_string())).await;
        change(&writer, "/other/config", Some(&round.to_string())).await;
    }
    caught_up(&live, &registry, 0).await;
    let update = within("the update", updates.next()).await.unwrap();
    let names: Vec<_> = update.jobs.iter().map(JobName::as_str).collect();
    assert_eq!(names, ["job", "marker0", "other"]);
    change(&writer, "/other", None).await;
    change(&writer, "/other/config", None).await;
    let (began, update) = (tokio::time::Instant::now(), within("the next", updates.next()).await);
    assert_eq!(update.unwrap().jobs.len(), 1);
    assert_eq!(began.elapsed(), Duration::from_millis(100), "the interval has passed");
    assert_eq!(before.nodes().count(), 4, "a snapshot that a reader holds does not change");
    drop(live);
    assert_eq!(updates.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn age_is_shown_while_the_registry_does_not_answer() {
    let (registry, center, live) = loaded().await;
    assert_eq!(live.freshness(), Freshness::Current);
    let mut updates = live.updates(Duration::ZERO);
    center.suspend(Duration::from_secs(10));
    let since = tokio::time::Instant::now();
    let update = within("the update", updates.next()).await.unwrap();
    assert!(update.jobs.is_empty(), "no job has changed: {update:?}");
    assert_eq!(live.freshness(), Freshness::Stale { since });
    assert!(live.job(&job()).is_some(), "the last known state is shown");
    tokio::time::advance(Duration::from_secs(3)).await;
    change(&registry.connect(), "/job/servers/10.0.0.1", Some("")).await;
    center.resume();
    within("the registry to answer", async {
        while live.freshness() != Freshness::Current {
            updates.next().await.unwrap();
        }
    })
    .await;
    // What was missed is shown before the namespace is current.
    assert!(live.job(&job()).unwrap().nodes().any(|node| node.path.name() == "10.0.0.1"));
    center.close().await.unwrap();
    within("the end", async { while updates.next().await.is_some() {} }).await;
    assert!(matches!(live.freshness(), Freshness::Stale { .. }), "{:?}", live.freshness());
}

#[tokio::test(start_paused = true)]
async fn loading_has_a_deadline() {
    let registry = MemoryRegistry::new();
    let center = Arc::new(registry.connect());
    center.suspend(Duration::from_secs(10));
    let live = LiveNamespace::follow(Arc::clone(&center) as Arc<dyn RegistryCenter>);
    let deadline = Duration::from_secs(5);
    let error = live.loaded(deadline).await.unwrap_err().to_string();
    assert!(error.contains("reading the namespace") && error.contains("5s"), "{error}");
    assert_eq!(live.freshness(), Freshness::Loading);
    center.resume();
    live.loaded(deadline).await.unwrap();
}

/// Returns the record of an item that runs since a time.
fn running_since(ms: i64) -> String {
    let run = r#""holder":"10.0.0.1@-@7","fire":2,"source":"NORMAL","token":1"#;
    format!(r#"{{"v":1,"state":"running",{run},"began":{ms}}}"#)
}

fn names(list: &operations::JobList) -> Vec<&str> {
    list.jobs().iter().map(|job| &*job.job_name).collect()
}

#[tokio::test(start_paused = true)]
async fn oldest_runs_of_all_jobs_come_first() {
    let world = World::new();
    let config = encode_config(&JobConfig::new(job(), 3));
    let of_other = encode_config(&JobConfig::new(JobName::new("other").unwrap(), 3));
    let records = [300, 100, 250].map(running_since);
    let nodes = [
        ("/job/config", &*config),
        ("/job/ledger/0", &*records[0]),
        ("/job/ledger/2", &*records[1]),
        ("/job/sharding/1/running", ""),
        ("/job/ledger/7", &*running_since(1)),
        ("/other/config", &*of_other),
        ("/other/ledger/1", &*records[2]),
        ("/leftover/ledger/0", &*running_since(2)),
    ];
    // A run whose instance is gone is not running.
    let instances = [("/job/instances/10.0.0.1@-@7", ""), ("/other/instances/10.0.0.1@-@7", "")];
    let _session = world.write(&nodes, &instances).await;
    let live = LiveNamespace::follow(Arc::new(world.registry.connect()));
    live.loaded(DEADLINE).await.unwrap();
    let runs = |limit| -> Vec<_> {
        let runs = live.running(limit);
        runs.iter().map(|run| (run.job.to_string(), run.item.item, run.since_ms)).collect()
    };
    let run = |job: &str, item, since: i64| (job.to_owned(), item, Some(since));
    let known = [run("job", 2, 100), run("other", 1, 250), run("job", 0, 300)];
    assert_eq!(runs(2), known[..2]);
    let all = runs(9);
    assert_eq!(all[..3], known, "an item beyond the number of items and a leftover do not count");
    assert_eq!((&*all[3].0, all[3].1, all.len()), ("job", 1, 4), "a mark has no start");
    for (after, run) in all.iter().enumerate() {
        let later = live.running_after(Some((run.2, &run.0, run.1)), 2);
        let later: Vec<_> = later.iter().map(|run| (run.job.to_string(), run.item.item)).collect();
        let expected = all[after + 1..].iter().take(2).map(|run| (run.0.clone(), run.1));
        assert_eq!(later, expected.collect::<Vec<_>>(), "after {run:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn list_is_shared_until_a_summary_changes() {
    let (registry, center, live) = loaded().await;
    let writer = registry.connect();
    let first = live.list();
    assert_eq!(names(&first), ["job"]);
    change(&writer, "/job/something", Some("")).await;
    caught_up(&live, &registry, 0).await;
    assert!(Arc::ptr_eq(&first, &live.list()), "no summary has changed");
    let servers = live.servers();
    change(&writer, "/job/servers/10.0.0.1", Some("DISABLED")).await;
    caught_up(&live, &registry, 1).await;
    assert_eq!((servers.len(), live.servers().len()), (0, 1));
    change(&writer, "/job/sharding/1/disabled", Some("")).await;
    caught_up(&live, &registry, 2).await;
    let second = live.list();
    assert!(second.revision() > first.revision());
    assert_eq!(second.totals().disabled_items, 1);
    assert_eq!(second.totals().items, 2);
    change(&writer, "/job/config", None).await;
    caught_up(&live, &registry, 3).await;
    assert!(live.list().jobs().is_empty(), "without a configuration it is no job");
    drop(center);
}

#[tokio::test(start_paused = true)]
async fn next_fires_follow_the_time_and_the_configuration() {
    let (registry, center, live) = loaded().await;
    let (now, writer) = (noon().as_millisecond(), registry.connect());
    assert_eq!(live.next_fires(now, 9), [(now + 1_000, job())]);
    assert_eq!(live.next_fires(now + 500, 9), [(now + 1_000, job())]);
    assert_eq!(live.next_fire(&job(), now + 1_000), Some(now + 2_000));
    assert_eq!(live.next_fires(now + 86_400_000, 0), []);
    let mut config = JobConfig::new(job(), 2);
    config.cron = Some("0 0 13 * * ?".to_owned());
    change(&writer, "/job/config", Some(&encode_config(&config))).await;
    caught_up(&live, &registry, 0).await;
    assert_eq!(live.next_fires(now, 9), [(now + 3_600_000, job())]);
    config.cron = None;
    change(&writer, "/job/config", Some(&encode_config(&config))).await;
    caught_up(&live, &registry, 1).await;
    assert_eq!((live.next_fires(now, 9), live.next_fire(&job(), now)), (vec![], None));
    drop(center);
}

#[tokio::test(start_paused = true)]
async fn line_keeps_the_time_at_which_its_state_was_first_seen() {
    let (registry, center, live) = loaded().await;
    let writer = registry.connect();
    let first = live.list().get("job").cloned().unwrap();
    change(&writer, "/job/sharding/1/disabled", Some("")).await;
    caught_up(&live, &registry, 0).await;
    let second = live.list().get("job").cloned().unwrap();
    assert_eq!((second.disabled_items, second.state_since_ms), (1, first.state_since_ms));
    assert_eq!(second.ready_ms, first.ready_ms);
    center.expire();
    caught_up(&live, &registry, 1).await;
    let third = live.list().get("job").cloned().unwrap();
    assert_eq!(third, second, "the times stay when the feed begins again");
}

#[tokio::test(start_paused = true)]
async fn equal_jobs_stay_when_the_feed_begins_again() {
    let (registry, center, live) = loaded().await;
    let before = (live.job(&job()).unwrap(), live.list());
    let other = registry.connect();
    change(&other, "/other/config", Some("")).await;
    caught_up(&live, &registry, 0).await;
    change(&other, "/other/config", None).await;
    change(&other, "/other", None).await;
    center.expire();
    caught_up(&live, &registry, 1).await;
    assert!(Arc::ptr_eq(&before.0, &live.job(&job()).unwrap()), "an equal job was decoded again");
    assert_eq!(names(&live.list()), ["job"], "a removed job is no longer listed");
}

#[tokio::test(start_paused = true)]
async fn state_of_watchers_and_list_of_templates_are_no_jobs() {
    let world = World::new();
    let nodes = [("/job/config", &*documents()[0]), ("/watch@-@state/term", "{}")];
    world.write(&nodes, &[("/watch@-@state/sender", "{}"), ("/runtime@-@jobs/job", "{}")]).await;
    let live = LiveNamespace::follow(Arc::new(world.registry.connect()));
    live.loaded(DEADLINE).await.unwrap();
    let read = world.operations().namespace().await.unwrap();
    assert!(read.unread.is_empty(), "{:?}", read.unread);
    for names in [
        live.jobs().iter().map(|job| job.job().to_string()).collect::<Vec<_>>(),
        read.jobs.iter().map(|job| job.job().to_string()).collect(),
    ] {
        assert_eq!(names, ["job"]);
    }
}

/// Waits until the group has this number of permits. Returns the updates in between.
async fn with_permits(
    live: &LiveNamespace,
    updates: &mut operations::Updates,
    permits: usize,
) -> operations::Update {
    let mut last = operations::Update::default();
    let has = || live.group(&db()).is_some_and(|group| group.view().permits().len() == permits);
    within("the permits", async {
        while !has() {
            last = updates.next().await.expect("the registry is open");
        }
    })
    .await;
    last
}

#[tokio::test(start_paused = true)]
async fn job_is_updated_when_its_group_changes() {
    let (registry, _center, live) = loaded().await;
    let writer = registry.connect();
    let (mut of_job, mut of_all) =
        (live.job_updates(&job(), Duration::ZERO), live.updates(Duration::ZERO));
    assert!(live.group(&db()).is_some_and(|group| !group.exists()), "only the job names it");
    change(&writer, "/job@-@groups/db/limits", Some(&encode_group_limits(&limits(1)))).await;
    let idle = r#"{"state":"idle","token":1}"#;
    change(&writer, "/job/ledger/0", Some(idle)).await;
    caught_up(&live, &registry, 0).await;
    let before = live.job(&job()).unwrap();
    within("the record", of_job.next()).await.unwrap();
    within("the record", of_all.next()).await.unwrap();
    change(&writer, "/job@-@groups/db/permits/0", Some(PERMIT)).await;
    let update = with_permits(&live, &mut of_job, 1).await;
    assert_eq!((update.jobs.len(), update.groups), (0, [db()].into()));
    let update = within("the update", of_all.next()).await.unwrap();
    assert_eq!((update.jobs.len(), update.groups), (0, [db()].into()));
    let now = live.job(&job()).unwrap();
    assert!(Arc::ptr_eq(&before, &now), "a group is no part of the snapshot of the job");
    let group = live.group_of(&now).unwrap();
    let reasons = why_item_not_running_in(&now, Some(&group), ShardingItem::new(0), noon());
    let is_wait = |why: &WhyNot| matches!(why, WhyNot::WaitsForGroup { limit: 1, .. });
    assert!(reasons.iter().any(is_wait), "{reasons:?}");
    // A change of the configuration moves the job to another group.
    let mut config = JobConfig::new(job(), 2);
    config.group = GroupName::new("api").ok();
    change(&writer, "/job/config", Some(&encode_config(&config))).await;
    caught_up(&live, &registry, 1).await;
    assert_eq!(live.jobs_of_group(&db()), []);
    let api = GroupName::new("api").unwrap();
    assert_eq!(live.jobs_of_group(&api), [job()]);
    let names: Vec<_> = live.groups().iter().map(|group| group.view().name().to_string()).collect();
    assert_eq!(names, ["api", "db"]);
    change(&writer, "/job/config", None).await;
    caught_up(&live, &registry, 2).await;
    assert!(live.group(&api).is_none(), "neither nodes nor jobs");
}

#[tokio::test(start_paused = true)]
async fn new_snapshot_replaces_changed_groups_alone() {
    let (registry, center, live) = loaded().await;
    let writer = registry.connect();
    let data = encode_group_limits(&limits(1));
    for group in ["db", "api", "gone"] {
        change(&writer, &format!("/job@-@groups/{group}/limits"), Some(&data)).await;
    }
    let (api, gone) = (GroupName::new("api").unwrap(), GroupName::new("gone").unwrap());
    caught_up(&live, &registry, 0).await;
    let (before, held) = (live.group(&api).unwrap(), live.group(&db()).unwrap());
    let mut updates = live.updates(Duration::ZERO);
    center.suspend(Duration::from_secs(10));
    change(&writer, "/job@-@groups/db/permits/0", Some(PERMIT)).await;
    change(&writer, "/job@-@groups/gone/limits", None).await;
    center.resume();
    let mut changed = std::collections::BTreeSet::new();
    within("the registry to answer", async {
        while live.group(&gone).is_some() || live.freshness() != Freshness::Current {
            changed.extend(updates.next().await.unwrap().groups);
        }
    })
    .await;
    assert_eq!(changed, [db(), gone].into(), "the other group is not reported");
    assert!(Arc::ptr_eq(&before, &live.group(&api).unwrap()));
    assert_eq!(live.group(&db()).unwrap().view().permits().len(), 1);
    assert_eq!(held.view().permits().len(), 0, "a snapshot that a reader holds does not change");
}
