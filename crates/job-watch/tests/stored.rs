//! The stored state of watchers, as another process follows it.

use std::sync::Arc;
use std::time::Duration;

use coordination::Dialect;
use job_watch::{ConditionKind, Severity, StoredWatch};
use operations::Freshness;
use reg_center::{RegistryCenter as _, Txn};
use serde_json::json;

use super::registry::{state, store};
use super::support::world::{World, within};
use super::support::{Job, at};

const FEW: &str = "[[expect]]\njob = \"report\"\ninstances_at_least = 3\nseverity = \"critical\"\n";

#[tokio::test(start_paused = true)]
async fn sender_violations_and_silences_are_followed() {
    let world = World::new();
    let stored = StoredWatch::follow(Arc::new(world.registry.connect()));
    let mut changes = stored.changes();
    assert_eq!((stored.sender(), stored.violations().len()), (None, 0));
    world.put(&Job::rust(Dialect::V2)).await;
    let watcher = world.watch(FEW);
    world.silence(ConditionKind::InstancesAtLeast, 3_600).await;
    within("the stored violation", async {
        while stored.violations().is_empty() || stored.silences(at(0)).is_empty() {
            changes.changed().await.unwrap();
        }
    })
    .await;
    assert_eq!(stored.sender().as_deref(), Some("test@1"));
    let found = &stored.violations()[0];
    assert_eq!((found.job.as_str(), found.severity), ("report", Severity::Critical));
    assert_eq!(found.expectation, ConditionKind::InstancesAtLeast);
    assert!(!found.is_over && found.reported.is_none(), "{found:?}");
    let silenced = &stored.silences(at(0))[0];
    assert_eq!(
        (silenced.job.as_str(), silenced.silences[0].until),
        ("report", at(3_600).as_millisecond())
    );
    assert!(stored.silences(at(3_601)).is_empty(), "a silence that is over is not shown");
    watcher.stop().await;
    within("the end of the sender", async {
        while stored.sender().is_some() {
            changes.changed().await.unwrap();
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn age_and_unreadable_documents_are_shown() {
    let world = World::new();
    let center = Arc::new(world.registry.connect());
    let stored = StoredWatch::follow(Arc::clone(&center) as _);
    assert_eq!(stored.freshness(), Freshness::Loading);
    let mut changes = stored.changes();
    let mut until = async |what: &str, is_true: &dyn Fn() -> bool| {
        within(what, async {
            while !is_true() {
                changes.changed().await.unwrap();
            }
        })
        .await;
    };
    until("the first snapshot", &|| stored.freshness() == Freshness::Current).await;
    for name in ["jobs/report", "silences/report", "sender"] {
        store(&world, &format!("/{name}"), &json!({"v": 9})).await;
    }
    until("the documents", &|| stored.unreadable(10).0.len() == 3).await;
    let (unreadable, all) = stored.unreadable(10);
    assert_eq!((stored.unreadable(1).0.len(), all), (1, 3));
    for (found, name) in unreadable.iter().zip(["jobs/report", "sender", "silences/report"]) {
        assert!(found.contains(name) && found.contains("format version 9"), "{unreadable:?}");
    }
    center.suspend(Duration::from_secs(5));
    until("the outage", &|| matches!(stored.freshness(), Freshness::Stale { .. })).await;
    center.resume();
    until("the end of the outage", &|| stored.freshness() == Freshness::Current).await;
    let removed = Txn::new().delete(state("/silences/report"));
    assert!(world.registry.connect().commit(removed).await.unwrap().is_committed());
    until("the removal", &|| stored.unreadable(10).1 == 2).await;
}
