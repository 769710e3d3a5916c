//! A namespace that one feed keeps current shows what a fresh read shows.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use coordination::{Dialect, JavaSettings, JobConfig, JobName, Layout, encode_config};
use operations::{Freshness, JobSnapshot, LiveNamespace, diagnose, item_briefs, job_brief};
use proptest::prelude::*;
use reg_center::{Lifetime, MemoryCenter, MemoryRegistry, NodePath, RegistryCenter, Txn};

use support::{DEADLINE, World, job, noon, within};

const PATHS: [&str; 18] = [
    "/job/config",
    "/job/audit",
    "/job/template",
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
];

/// Returns data of nodes: valid for some of the paths, and for none.
fn documents() -> Vec<String> {
    let config = |dialect| {
        let mut config = JobConfig::new(job(), 2);
        config.java = JavaSettings::of(dialect);
        config.cron = Some("0/1 * * * * ?".into());
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
        "\u{1}damaged",
    ];
    let configs = [config(Dialect::V2), config(Dialect::V3)];
    configs.into_iter().chain(texts.map(str::to_owned)).collect()
}

/// Returns all that is shown of a job.
fn shown(snapshot: &JobSnapshot) -> String {
    let anomalies = snapshot.anomalies();
    let nodes: Vec<_> = snapshot.nodes().collect();
    let audit: Vec<_> = snapshot.audit().collect();
    let (brief, items) = (job_brief(snapshot), item_briefs(snapshot));
    let findings = diagnose(snapshot, None, noon());
    format!("{nodes:#?} {anomalies:#?} {audit:#?} {brief:#?} {items:#?} {findings:#?}")
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
        changes in prop::collection::vec((0..PATHS.len(), prop::option::weighted(0.8, 0..12_usize)), 1..60),
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
                }
            }
            caught_up(&live, &registry, usize::MAX).await;
            let (live, fresh) = (live.job(&job()), of_registry(&registry));
            assert_eq!(live.as_deref().map(shown), fresh.as_ref().map(shown));
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
    caught_up(&live, &registry, 0).await;
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
