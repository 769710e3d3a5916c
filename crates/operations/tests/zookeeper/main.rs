//! Operator actions on one job of a real ZooKeeper, from the first read to the removal.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]
#![allow(clippy::disallowed_methods, reason = "a test on a real server has a real deadline")]

mod templates;

use std::sync::Arc;
use std::time::Duration;

use coordination::{Dialect, JobName, ServerIp};
use jiff::Timestamp;
use lite::{JobBuilder, JobHandle, Scheduler, job_fn};
use operations::{
    By, DrainMode, FindingCode, ItemRun, JobState, Operations, Removal, Scope, diagnose, job_state,
};
use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use zookeeper_fixture::Server;

const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

async fn connect(server: &Server, namespace: &str) -> Arc<ZookeeperCenter> {
    let options = ZookeeperOptions::new(server.connect_string()).namespace(namespace);
    ZookeeperCenter::connect(options.session_timeout(Duration::from_secs(5))).await.unwrap()
}

/// Takes part in a job of four items that runs on request.
async fn join(server: &Server, namespace: &str, n: u8, dialect: Dialect) -> (Scheduler, JobHandle) {
    let builder = Scheduler::builder(connect(server, namespace).await).dialect(dialect);
    let scheduler = builder.server_ip(&format!("10.0.0.{n}")).unwrap().build().unwrap();
    let config = JobBuilder::new("job", 4).failover(true).build().unwrap();
    let handle = scheduler.schedule(config, job_fn(|_| async { Ok(()) })).await.unwrap();
    within("joining", handle.joined()).await.unwrap();
    (scheduler, handle)
}

/// Waits until the job satisfies `wanted`.
async fn until(
    center: &ZookeeperCenter,
    operations: &Operations,
    job: &JobName,
    what: &str,
    wanted: impl Fn(&operations::JobSnapshot) -> bool,
) {
    let mut changes = center.watch(&coordination::Layout::new(job).root());
    within(what, async {
        while !wanted(&operations.job(job).await.unwrap()) {
            changes.next().await.unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_actions_work_in_both_dialects() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    for (namespace, dialect) in [("/operated-2", Dialect::V2), ("/operated-3", Dialect::V3)] {
        let job = JobName::new("job").unwrap();
        let by = By::new("anna", "test").unwrap();
        let center = connect(&server, namespace).await;
        let operations = Operations::new(center.clone());
        assert!(operations.namespace().await.unwrap().jobs.is_empty(), "{dialect}");

        let (_first, one) = join(&server, namespace, 1, dialect).await;
        let (_second, two) = join(&server, namespace, 2, dialect).await;
        let ip = ServerIp::new("10.0.0.1").unwrap();
        let shared = |job: &operations::JobSnapshot| {
            let owner = |item| job.owner(item).map(|owner| owner.as_str().starts_with("10.0.0.1@"));
            let of_one = job.items().into_iter().filter(|item| owner(*item) == Some(true)).count();
            of_one == 2 && job_state(job) == JobState::Ok
        };
        until(&center, &operations, &job, "both to share", shared).await;
        assert!(
            diagnose(&operations.job(&job).await.unwrap(), None, Timestamp::now()).is_empty(),
            "{dialect}"
        );

        let triggered = operations.trigger(&job, None, &by).await.unwrap();
        let outcome = operations.outcome(&triggered.request.unwrap(), PATIENCE).await.unwrap();
        let ended = ItemRun::Ended { outcome: "succeeded", reason: None };
        assert!(outcome.values().all(|run| *run == ended), "{dialect}: {outcome:?}");
        let drained = operations.drain(&job, &ip, DrainMode::Disable, &by, PATIENCE).await.unwrap();
        assert!(drained.complete, "{dialect}: {drained:?}");
        operations.enable(&Scope::of_server(ip), &by).await.unwrap();

        // In 2.1.5 marks are ephemeral, and Rust instances remove persistent ones at once.
        if dialect == Dialect::V3 {
            for handle in [one, two] {
                within("leaving", handle.shutdown(PATIENCE)).await.unwrap();
            }
            fix_leftover(&center, &operations, &job, &by).await;
        }

        let preview = operations.preview_removal(&job).await.unwrap();
        let (confirmation, how) = (&preview.confirmation, Removal::EvenIfAlive);
        operations.remove_job(&job, confirmation, how, &by).await.unwrap();
        assert!(operations.namespace().await.unwrap().jobs.is_empty(), "{dialect}");
    }
}

/// Fixes a leftover of a Java instance, which stays while no Rust instance is alive.
async fn fix_leftover(center: &ZookeeperCenter, operations: &Operations, job: &JobName, by: &By) {
    let left = NodePath::parse("/job/sharding/2/running").unwrap();
    let mark = Txn::new().create(left.clone(), "10.0.0.9@-@9", Lifetime::Persistent);
    assert!(center.commit(mark).await.unwrap().is_committed());
    let found = diagnose(&operations.job(job).await.unwrap(), None, Timestamp::now());
    let run = found.iter().find(|finding| finding.code == FindingCode::OrphanedRunMark);
    let report = operations.fix(run.unwrap(), by).await.unwrap();
    assert!(report.has_changed(), "{report}");
    assert_eq!(center.read(&left).await.unwrap(), None);
}
