//! Findings follow the changes of the jobs.

use std::sync::Arc;
use std::time::Duration;

use coordination::{JobConfig, JobName, Layout, NodeKind, encode_config};
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
    let damaged = Txn::new().put(node(&NodeKind::Config), "{");
    commit(&registry, &live, damaged).await;
    assert_eq!(findings.found().problems_of(&name), healthy.problems_of(&name));
    findings.examine(&live, now);
    let found = findings.found();
    assert!(found.problems_of(&name) > healthy.problems_of(&name), "{found:?}");
    assert_eq!(found.problems(), found.problems_of(&name));
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
