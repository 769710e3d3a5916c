//! The limit of runs at the same time in a process, over all of its jobs.

use crate::support;

use std::sync::Arc;
use std::time::Duration;

use lite::{
    EventSubscriber, JobBuilder, JobEvent, JobHandle, JobName, JobRecord, Outcome, RunReport,
    ShardingContext, job_fn,
};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};

use support::{Cluster, Member, Runs, event, settled, within};

const SECOND: Duration = Duration::from_secs(1);

/// The jobs of one process. Their runs report their begin, and end by a permit of the test.
struct Process {
    cluster: Cluster,
    member: Member,
    gate: Arc<Semaphore>,
    began: mpsc::UnboundedSender<String>,
    begins: mpsc::UnboundedReceiver<String>,
    reports: Reports,
}

#[derive(Clone, Default)]
struct Reports {
    ends: Arc<Mutex<Vec<RunReport>>>,
    waiting: Arc<Mutex<Vec<usize>>>,
}

impl EventSubscriber for Reports {
    fn on_event(&self, _: &JobRecord) {}

    fn on_run_ended(&self, report: &RunReport) {
        self.ends.lock().push(report.clone());
    }

    fn on_waiting_runs(&self, _: &JobName, waiting: usize) {
        self.waiting.lock().push(waiting);
    }
}

impl Process {
    fn new(max: usize) -> Self {
        let (cluster, reports) = (Cluster::new(), Reports::default());
        let subscriber = reports.clone();
        let member = cluster
            .member_with(1, |builder| builder.max_concurrency(max).event_subscriber(subscriber));
        let (began, begins) = mpsc::unbounded_channel();
        Self { cluster, member, gate: Arc::new(Semaphore::new(0)), began, begins, reports }
    }

    /// Registers a job that runs on request.
    async fn job(&self, name: &str, items: u32) -> JobHandle {
        let (gate, began) = (Arc::clone(&self.gate), self.began.clone());
        let job = job_fn(move |context: ShardingContext| {
            began.send(context.job_name().to_string()).unwrap();
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await?.forget();
                Ok(())
            }
        });
        let config = JobBuilder::new(name, items).failover(true).build().unwrap();
        let handle = self.member.scheduler.schedule(config, job).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        handle
    }

    async fn next_begin(&mut self) -> String {
        within("the next run", self.begins.recv()).await.unwrap()
    }

    fn mark(&self, job: &str) -> Option<String> {
        self.cluster.stored(job, &["coordination", "waiting", "10.0.0.1@-@1"])
    }
}

/// Requests a run of all items and waits until they are claimed.
async fn claimed(handle: &JobHandle, items: usize) {
    let mut events = handle.events();
    handle.trigger().await.unwrap();
    for _ in 0..items {
        event(&mut events, "a claim", |e| matches!(e, JobEvent::Claimed { .. })).await;
    }
}

#[tokio::test(start_paused = true)]
async fn limit_of_process_is_shared_in_turn_by_its_jobs() {
    let mut process = Process::new(2);
    let (many, one) = (process.job("many", 12).await, process.job("one", 1).await);
    claimed(&many, 12).await;
    claimed(&one, 1).await;
    let mut order = vec![process.next_begin().await, process.next_begin().await];
    assert!(process.begins.try_recv().is_err(), "a third run began");
    for _ in 0..11 {
        process.gate.add_permits(1);
        order.push(process.next_begin().await);
    }
    let place_of_one = order.iter().position(|job| job == "one").unwrap();
    assert!(place_of_one <= 3, "the run waited for more than one run of the other job: {order:?}");
    assert_eq!(order.len(), 13);
}

#[tokio::test(start_paused = true)]
async fn waiting_runs_are_visible_and_count_as_lateness() {
    let mut process = Process::new(1);
    let job = process.job("job", 3).await;
    let mut events = job.events();
    claimed(&job, 3).await;
    process.next_begin().await;
    assert_eq!(job.status().await.unwrap().waiting_for_place.len(), 2);
    assert_eq!(process.mark("job"), None, "short waits cost no write");
    process.cluster.until("job", "the mark", || process.mark("job").is_some()).await;
    let mark = process.mark("job").unwrap();
    assert!(mark.starts_with(r#"{"v":1,"limit":1,"since":"#), "{mark}");
    assert!(mark.contains(r#""count":2"#), "{mark}");
    process.cluster.pass(9 * SECOND).await;
    process.gate.add_permits(3);
    for _ in 0..3 {
        settled(&mut events, Outcome::Succeeded).await;
    }
    process.cluster.until("job", "no mark", || process.mark("job").is_none()).await;
    assert_eq!(*process.reports.waiting.lock(), [2, 0]);
    let waited: Vec<_> = process.reports.ends.lock().iter().map(|end| end.waited).collect();
    assert_eq!(waited[0], Duration::ZERO);
    assert!(waited[1..].iter().all(|waited| *waited >= 10 * SECOND), "{waited:?}");
    assert_eq!(job.status().await.unwrap().waiting_for_place, []);
}

#[tokio::test(start_paused = true)]
async fn place_of_another_job_ends_the_wait() {
    let mut process = Process::new(1);
    let (first, second) = (process.job("first", 1).await, process.job("second", 1).await);
    claimed(&first, 1).await;
    process.next_begin().await;
    claimed(&second, 1).await;
    process.cluster.until("second", "the mark", || process.mark("second").is_some()).await;
    process.gate.add_permits(1);
    assert_eq!(process.next_begin().await, "second");
    // The end of the first job's run is no signal to the second job, whose run goes on.
    process.cluster.until("second", "no mark", || process.mark("second").is_none()).await;
}

#[tokio::test(start_paused = true)]
async fn waiting_run_is_cancelled_at_once_and_takes_no_place() {
    let mut process = Process::new(1);
    let (first, second) = (process.job("first", 1).await, process.job("second", 1).await);
    claimed(&first, 1).await;
    process.next_begin().await;
    let mut events = second.events();
    claimed(&second, 1).await;
    second.cancel(None, "wrong month").await.unwrap();
    settled(&mut events, Outcome::Cancelled).await;
    claimed(&second, 1).await;
    process.gate.add_permits(2);
    assert_eq!(process.next_begin().await, "second");
    settled(&mut events, Outcome::Succeeded).await;
}

#[tokio::test(start_paused = true)]
async fn waiting_run_is_handed_over_at_shutdown() {
    let (mut process, runs) = (Process::new(1), Runs::default());
    let (first, second) = (process.job("first", 1).await, process.job("second", 1).await);
    claimed(&first, 1).await;
    process.next_begin().await;
    claimed(&second, 1).await;
    let other = process.cluster.member(2);
    let config = JobBuilder::new("second", 1).failover(true).build().unwrap();
    let other = other.scheduler.schedule(config, runs.job()).await.unwrap();
    within("joining", other.joined()).await.unwrap();
    let report = within("the shutdown", second.shutdown(3 * SECOND)).await.unwrap();
    assert!(report.deregistered, "{report:?}");
    let seen = runs.until("the takeover", |seen| !seen.is_empty()).await;
    assert_eq!(seen[0].source, "FAILOVER");
}

#[tokio::test(start_paused = true)]
async fn limit_of_zero_is_rejected() {
    let cluster = Cluster::new();
    let builder = lite::Scheduler::builder(Arc::new(cluster.registry.connect()));
    let error = builder.max_concurrency(0).build().unwrap_err();
    let fault = error.as_invalid_config().unwrap();
    assert_eq!(
        (fault.field, fault.valid.as_str()),
        ("max_concurrency", "1 or more, or no limit at all")
    );
}
