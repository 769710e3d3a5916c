//! Jobs created from templates on a real ZooKeeper: joined, left, created again after removal, and
//! joined by a process that was cut off.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]
#![allow(clippy::disallowed_methods, reason = "a test on a real server has a real deadline")]

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    Dialect, JavaSettings, JobConfig, JobName, Layout, TemplateName, TemplateRecord,
};
use lite::{NewJob, Scheduler, Template, job_fn};
use operations::{By, JobSnapshot, Operations, Removal, job_brief};
use reg_center::RegistryCenter;
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use zookeeper_fixture::{Server, proxy};

const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("did not happen within {PATIENCE:?}: {what}"))
}

async fn connect(address: &str, namespace: &str) -> Arc<ZookeeperCenter> {
    let options = ZookeeperOptions::new(address).namespace(namespace);
    ZookeeperCenter::connect(options.session_timeout(Duration::from_secs(5))).await.unwrap()
}

/// A process that offers the template `report`.
async fn offering(address: &str, namespace: &str, n: u8) -> Scheduler {
    let center = connect(address, namespace).await;
    let builder = Scheduler::builder(center).server_ip(&format!("10.0.0.{n}")).unwrap();
    let scheduler = builder.build().unwrap();
    let template = |new: NewJob| Ok(new.run(job_fn(|_| async { Ok(()) })));
    scheduler.offer(Template::new("report", template).unwrap()).await.unwrap();
    scheduler
}

/// A namespace from the operator's side.
struct Operator {
    center: Arc<ZookeeperCenter>,
    operations: Operations,
    dialect: Dialect,
}

impl Operator {
    async fn create(&self, job: &str, total: u32) -> JobName {
        let name = JobName::new(job).unwrap();
        let mut config = JobConfig::new(name.clone(), total);
        config.java = JavaSettings::of(self.dialect);
        let template = TemplateName::new("report").unwrap();
        let record = TemplateRecord { template, label: None };
        let by = By::new("anna", "test").unwrap();
        within("creating the job", self.operations.create_job(&record, &config, &by))
            .await
            .unwrap();
        name
    }

    async fn remove(&self, job: &JobName) {
        let by = By::new("anna", "test").unwrap();
        let removal = self.operations.remove_job(job, job.as_str(), Removal::EvenIfAlive, &by);
        within("removing the job", removal).await.unwrap();
    }

    /// Waits until live instances at these addresses, and at no others, own the items of a job.
    async fn shared(&self, job: &JobName, members: &[u8]) {
        let mut changes = self.center.watch(&Layout::new(job).root());
        let is_shared = |job: &JobSnapshot| {
            let owners: Vec<_> = job.items().iter().map(|item| job.owner(*item)).collect();
            let of = |n: &u8| {
                let address = format!("10.0.0.{n}@");
                owners.iter().flatten().filter(|id| id.as_str().starts_with(&address)).count()
            };
            let live = job.instances();
            let all_live = owners.iter().all(|id| id.is_some_and(|id| live.contains(id)));
            all_live
                && members.iter().all(|n| of(n) > 0)
                && members.iter().map(of).sum::<usize>() == owners.len()
        };
        within(&format!("{job} to be shared by {members:?}"), async {
            while !is_shared(&self.operations.job(job).await.unwrap()) {
                changes.next().await.unwrap();
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_join_and_leave_jobs_created_from_templates() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let address = server.connect_string();
    for (namespace, dialect) in [("/made-2", Dialect::V2), ("/made-3", Dialect::V3)] {
        let center = connect(&address, namespace).await;
        let operations = Operations::new(center.clone());
        let operator = Operator { center, operations, dialect };
        let one = offering(&address, namespace, 1).await;
        let two = offering(&address, namespace, 2).await;
        let job = operator.create("report-eu", 4).await;
        operator.shared(&job, &[1, 2]).await;
        let brief = job_brief(&operator.operations.job(&job).await.unwrap());
        assert_eq!(brief.template.as_deref(), Some("report"), "{dialect}");

        operator.remove(&job).await;
        operator.create("report-eu", 6).await;
        operator.shared(&job, &[1, 2]).await;
        assert_eq!(operator.operations.job(&job).await.unwrap().items().len(), 6, "{dialect}");
        for scheduler in [one, two] {
            within("leaving", scheduler.shutdown(PATIENCE)).await;
        }
        let three = offering(&address, namespace, 3).await;
        operator.shared(&job, &[3]).await;
        within("leaving", three.shutdown(PATIENCE)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnected_process_catches_up_with_created_and_removed_jobs() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let cable = proxy::Proxy::start(server.address()).await.unwrap();
    let center = connect(&server.connect_string(), "/cut").await;
    let operations = Operations::new(center.clone());
    let operator = Operator { center, operations, dialect: Dialect::V2 };
    let one = offering(&cable.connect_string(), "/cut", 1).await;
    let two = offering(&server.connect_string(), "/cut", 2).await;
    let (kept, removed) = (operator.create("kept", 4).await, operator.create("removed", 4).await);
    for job in [&kept, &removed] {
        operator.shared(job, &[1, 2]).await;
    }
    cable.set(proxy::Mode::BlackHole).await.unwrap();
    operator.remove(&removed).await;
    let made = operator.create("made", 4).await;
    operator.shared(&made, &[2]).await;
    cable.set(proxy::Mode::Pass).await.unwrap();
    for job in [&kept, &made] {
        operator.shared(job, &[1, 2]).await;
    }
    let gone = async {
        while one.job("removed").is_some() {
            tokio::task::yield_now().await;
        }
    };
    within("leaving the removed job", gone).await;
    for scheduler in [one, two] {
        within("leaving", scheduler.shutdown(PATIENCE)).await;
    }
}
