//! A change that the registry does not deliver is found by reads at the reconcile interval.
#![expect(clippy::disallowed_methods, reason = "the test's own task, in paused time")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lite::{JobBuilder, JobEvent, Scheduler};
use parking_lot::Mutex;
use reg_center::{Change, Delegate, Feed, MemoryCenter, NodePath, RegistryCenter, Scope, feed};

use crate::support::{Cluster, EVERY_TEN_SECONDS, Runs, event, path};

/// A registry centre whose feeds drop the next change of some nodes.
#[derive(Debug)]
struct Lossy {
    center: MemoryCenter,
    lost: Arc<Mutex<BTreeSet<NodePath>>>,
}

impl Lossy {
    fn relayed(&self, mut inner: Feed) -> Feed {
        let (sender, feed) = feed::channel();
        let lost = Arc::clone(&self.lost);
        tokio::spawn(async move {
            while let Some(change) = inner.next().await {
                let drops = match &change {
                    Change::Put(node) => lost.lock().remove(&node.path),
                    Change::Gone { path, .. } => lost.lock().remove(path),
                    Change::Init | Change::Entry(_) | Change::Ready => false,
                };
                if !drops && !sender.send(change) {
                    break;
                }
            }
        });
        feed
    }
}

#[async_trait]
impl Delegate for Lossy {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    fn watch(&self, root: &NodePath) -> Feed {
        self.relayed(self.center.watch(root))
    }

    fn watch_parts(&self, scope: &Scope) -> Feed {
        self.relayed(self.center.watch_parts(scope))
    }
}

#[tokio::test(start_paused = true)]
async fn change_that_the_registry_does_not_deliver_is_found_and_reported() {
    let (cluster, runs) = (Cluster::new(), Runs::default());
    let lost = Arc::new(Mutex::new(BTreeSet::new()));
    let registry = Lossy { center: cluster.registry.connect(), lost: Arc::clone(&lost) };
    let builder = Scheduler::builder(Arc::new(registry)).server_ip("10.0.0.1").unwrap();
    let scheduler = builder.clock(cluster.clock.clone()).build().unwrap();
    let job = |items| {
        let job = JobBuilder::new("job", items).cron(EVERY_TEN_SECONDS);
        job.reconcile_interval(Duration::from_secs(60)).build().unwrap()
    };
    let handle = scheduler.schedule(job(3), runs.job()).await.unwrap();
    let mut events = handle.events();
    runs.until("a fire", |seen| seen.len() >= 3).await;

    lost.lock().insert(path("job", &["config"]));
    cluster.configure(&job(4)).await;
    let is_report = |event: &JobEvent| matches!(event, JobEvent::ChangesMissed { .. });
    let report = event(&mut events, "the report", is_report).await.event;
    let nodes = "config changed".to_owned();
    assert_eq!(report, JobEvent::ChangesMissed { count: 1, nodes });
    runs.until("a run of the new item", |seen| seen.iter().any(|run| run.item == 3)).await;
}
