//! Watchers and the registry: what they store, its limits, and its faults.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use coordination::{Dialect, JobName};
use job_watch::ConditionKind;
use parking_lot::Mutex;
use reg_center::feed::FeedSender;
use reg_center::{
    Change, Delegate, Error, Feed, Lifetime, MemoryCenter, NodePath, RegistryCenter, Result, Txn,
    TxnOutcome, feed,
};
use serde_json::json;

use super::support::Job;
use super::support::world::{Mode, World};

/// Root of the state of watchers.
pub(crate) fn state(path: &str) -> NodePath {
    NodePath::parse(&format!("/watch@-@state{path}")).unwrap()
}

/// Stores a document of the state of watchers.
pub(crate) async fn store(world: &World, path: &str, doc: &serde_json::Value) {
    let txn = Txn::new().create(state(path), doc.to_string(), Lifetime::Persistent);
    assert!(world.registry.connect().commit(txn).await.unwrap().is_committed());
}

const SHORT: &str = "[[expect]]\njob = \"report\"\ninstances_at_least = 1";
const VIOLATED: &str = "[jobs] warning: instances_at_least of job report is violated";

/// The job without its instance, which is a violation at once.
fn short() -> Job {
    Job::rust(Dialect::V2).killed(1)
}

#[tokio::test(start_paused = true)]
async fn mass_outage_is_reported_within_the_limit_of_a_transaction() {
    let world = World::new();
    for n in 0..100 {
        let name = JobName::new(&format!("job-{n:03}")).unwrap();
        let job = Job::rust(Dialect::V3).config(|config| {
            (config.job_name, config.sharding_total_count) = (name, 120);
        });
        let failed = |job: Job, item| job.ended(item, 1, "failed", 0, 1);
        world.put(&(0..120).fold(job, failed)).await;
    }
    let _watcher = world.watch("[[expect]]\njob = \"job-*\"\nfailures = 3");
    let mut jobs = BTreeSet::new();
    for n in 1.. {
        let arrived = world.until_arrived(n).await;
        let body = &arrived[n - 1].message.body;
        for violated in body["violated"].as_array().unwrap() {
            let job = violated["job"].as_str().unwrap().to_owned();
            assert!(jobs.insert(job), "reported twice: {violated}");
        }
        if body["left_out"] == 0 {
            break;
        }
    }
    assert_eq!(jobs.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn stopping_leaves_the_marked_repeat_to_the_next_sender() {
    let world = World::new();
    world.put(&short()).await;
    world.set_mode(Mode::Hang);
    let first = world.watch(SHORT);
    world.until_arrived(1).await;
    // The time limit of the message passes while the watcher waits for its last messages.
    world.pass(25).await;
    first.stop().await;
    world.set_mode(Mode::Accept);
    let _second = world.watch(SHORT);
    let arrived = world.until_arrived(2).await;
    assert_eq!(arrived[1].message.subject, format!("[possible repeat] {VIOLATED}"));
    world.pass(3_000).await;
    assert_eq!(world.arrived().len(), 2, "{:?}", world.arrived());
}

#[tokio::test(start_paused = true)]
async fn outbox_without_its_message_does_not_block_the_channel() {
    let world = World::new();
    store(&world, "/outbox/ops", &json!({"v": 1, "n": 6, "phase": "sending", "at": 0})).await;
    world.put(&short()).await;
    let _watcher = world.watch(SHORT);
    let arrived = world.until_arrived(1).await;
    assert_eq!(
        (&arrived[0].message.subject[..], &arrived[0].message.body["message"]),
        (VIOLATED, &json!(7))
    );
}

/// A registry whose feed of the state of watchers is written by the test, and that can refuse
/// writes.
#[derive(Debug)]
struct Controlled {
    center: MemoryCenter,
    state: Mutex<Option<Feed>>,
    refusal: Option<Error>,
}

impl Controlled {
    fn new(world: &World, refusal: Option<Error>) -> (Arc<Self>, FeedSender) {
        let (sender, feed) = feed::channel();
        let state = Mutex::new(Some(feed));
        (Arc::new(Self { center: world.registry.connect(), state, refusal }), sender)
    }
}

#[async_trait]
impl Delegate for Controlled {
    fn inner(&self) -> &dyn RegistryCenter {
        &self.center
    }

    fn watch(&self, root: &NodePath) -> Feed {
        let own = (*root == state("")).then(|| self.state.lock().take()).flatten();
        own.unwrap_or_else(|| self.center.watch(root))
    }

    async fn commit(&self, txn: Txn) -> Result<TxnOutcome> {
        match &self.refusal {
            Some(error) => Err(error.clone()),
            None => self.center.commit(txn).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn silences_hold_while_they_are_read_again() {
    let world = World::new();
    world.put(&Job::rust(Dialect::V2)).await;
    let (center, feed) = Controlled::new(&world, None);
    feed.send(Change::Init);
    feed.send(Change::Ready);
    let _watcher = world.watch_with(SHORT, center);
    world.until_stored("sender", "test@1").await;
    world.silence(ConditionKind::InstancesAtLeast, 1_000).await;
    let silences = state("/silences/report");
    let silences = world.registry.snapshot().read(&silences).cloned().unwrap();
    feed.send(Change::Put(silences.clone()));
    world.pass(10).await;
    feed.send(Change::Init);
    world.pass(10).await;
    world.put(&short()).await;
    world.pass(100).await;
    assert!(world.arrived().is_empty(), "the silences are not known: {:?}", world.arrived());
    feed.send(Change::Entry(silences));
    feed.send(Change::Ready);
    let arrived = world.until_arrived(1).await;
    assert_eq!((arrived[0].seconds, &arrived[0].message.subject[..]), (1_000, VIOLATED));
}

#[tokio::test(start_paused = true)]
async fn watcher_ends_at_an_error_that_no_retry_can_cure() {
    let path = state("/sender");
    for error in [Error::NotAuthorized { path }, Error::Closed] {
        let world = World::new();
        world.put(&short()).await;
        let (center, feed) = Controlled::new(&world, Some(error.clone()));
        feed.send(Change::Init);
        feed.send(Change::Ready);
        let watcher = world.watch_with(SHORT, center);
        let view = watcher.view.clone();
        assert_eq!(view.ended(), None);
        let ended = watcher.error().await.to_string();
        assert_eq!(ended, format!("electing the sender: {error}"));
        assert_eq!(view.ended(), Some(&*ended));
    }
}
