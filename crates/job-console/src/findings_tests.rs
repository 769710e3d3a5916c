//! Findings follow the changes of the jobs.

use std::sync::Arc;
use std::time::Duration;

use coordination::{GroupName, GroupNode, JobConfig, JobName, Layout, NodeKind, encode_config};
use jiff::Timestamp;
use operations::{FindingCode, LiveNamespace};
use reg_center::{Lifetime, MemoryRegistry, RegistryCenter as _, Txn};

use super::findings::Findings;

/// Changes the registry, and waits until the read model shows it.
async fn commit(registry: &MemoryRegistry, live: &LiveNamespace, txn: Txn) {
    let mut updates = live.updates(Duration::ZERO);
    assert!(registry.connect().commit(txn).await.unwrap().is_committed());
    updates.next().await.unwrap();
}

#[tokio::test]
async fn findings_follow_the_changes_of_the_jobs() {
    let registry = MemoryRegistry::new();
    let live = LiveNamespace::follow(Arc::new(registry.connect()));
    let findings = Findings::follow(&live);
    live.loaded(Duration::from_secs(30)).await.unwrap();
    let now = Timestamp::UNIX_EPOCH;
    findings.examine(&live, now);
    let none = findings.found();
    assert_eq!((none.all().count(), none.problems()), (0, 0));
    let name = JobName::new("report").unwrap();
    let node = |kind: &NodeKind| Layout::new(&name).path(kind);
    let config = encode_config(&JobConfig::new(name.clone(), 1));
    let create = Txn::new().create(node(&NodeKind::Config), config, Lifetime::Persistent);
    commit(&registry, &live, create).await;
    findings.examine(&live, now);
    let healthy = findings.found();
    let job = live.job(&name).unwrap();
    let damaged = Txn::new().put(node(&NodeKind::Config), "{");
    commit(&registry, &live, damaged).await;
    assert_eq!(findings.found().problems_of(&job), healthy.problems_of(&job));
    findings.examine(&live, now);
    let found = findings.found();
    assert!(found.problems_of(&job) > healthy.problems_of(&job), "{found:?}");
    assert_eq!(found.problems(), found.problems_of(&job));
    findings.examine(&live, now);
    assert!(Arc::ptr_eq(&found, &findings.found()), "no job has changed");
    commit(&registry, &live, Txn::new().delete(node(&NodeKind::Config))).await;
    findings.examine(&live, now);
    let found = findings.found();
    let codes: Vec<_> = found.all().map(|finding| finding.code).collect();
    assert_eq!(codes, [FindingCode::NoConfig], "its other nodes are leftovers");
    assert_eq!(found.problems(), 0);
    commit(&registry, &live, Txn::new().delete(Layout::new(&name).root())).await;
    findings.examine(&live, now);
    assert_eq!(findings.found().all().count(), 0);
}

#[tokio::test]
async fn findings_about_groups_follow_the_changes_of_groups_and_jobs() {
    let registry = MemoryRegistry::new();
    let live = LiveNamespace::follow(Arc::new(registry.connect()));
    let findings = Findings::follow(&live);
    live.loaded(Duration::from_secs(30)).await.unwrap();
    let now = Timestamp::UNIX_EPOCH;
    let (name, group) = (JobName::new("report").unwrap(), GroupName::new("db").unwrap());
    let mut config = JobConfig::new(name.clone(), 1);
    config.group = Some(group.clone());
    let layout = Layout::new(&name);
    let create = Txn::new()
        .create(layout.path(&NodeKind::Config), encode_config(&config), Lifetime::Persistent)
        .create(Layout::group_path(&group, &GroupNode::Limits), "x", Lifetime::Persistent);
    commit(&registry, &live, create).await;
    findings.examine(&live, now);
    let of_group = |found: &super::findings::Found| {
        let found = found.concerning(&name, Some(&group));
        found.filter(|finding| finding.group.is_some()).map(|it| it.code).collect::<Vec<_>>()
    };
    let found = findings.found();
    assert_eq!(of_group(&found), [FindingCode::GroupLimitsUnreadable]);
    assert_eq!(found.concerning(&name, None).filter(|it| it.group.is_some()).count(), 0);
    assert_eq!(found.problems(), found.problems_of(&live.job(&name).unwrap()));
    let permit = r#"{"v":1,"job":"report","item":0,"by":"10.0.0.7@-@42","token":1}"#;
    let orphaned = Txn::new().delete(Layout::group_path(&group, &GroupNode::Limits)).create(
        Layout::group_path(&group, &GroupNode::Permit(0)),
        permit,
        Lifetime::Persistent,
    );
    commit(&registry, &live, orphaned).await;
    findings.examine(&live, now);
    assert_eq!(of_group(&findings.found()), [FindingCode::OrphanedGroupPermit]);
    let running = r#"{"v":1,"state":"running","token":1,"by":"10.0.0.7@-@42"}"#;
    let claim = Txn::new().create(
        layout.path(&NodeKind::Ledger(sharding::ShardingItem::new(0))),
        running,
        Lifetime::Persistent,
    );
    commit(&registry, &live, claim).await;
    findings.examine(&live, now);
    assert_eq!(of_group(&findings.found()), [], "a change of the job ends the finding");
}
