//! The limit of runs at the same time on all instances.

use crate::support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lite::{JobBuilder, JobConfig, JobHandle, ShardingContext, job_fn};
use tokio::sync::{Semaphore, mpsc};

use support::{Cluster, Member, balanced, within};

/// Runs of all instances. Each reports its begin, and ends by a permit of the test.
#[derive(Clone)]
struct Work {
    gate: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    began: mpsc::UnboundedSender<(u32, &'static str)>,
}

impl Work {
    fn new() -> (Self, mpsc::UnboundedReceiver<(u32, &'static str)>) {
        let (began, begins) = mpsc::unbounded_channel();
        let (gate, running, most) = (Arc::new(Semaphore::new(0)), Arc::default(), Arc::default());
        (Self { gate, running, most, began }, begins)
    }

    async fn join(&self, member: &Member, config: JobConfig) -> JobHandle {
        let work = self.clone();
        let job = job_fn(move |context: ShardingContext| {
            let work = work.clone();
            let running = work.running.fetch_add(1, Ordering::SeqCst) + 1;
            work.most.fetch_max(running, Ordering::SeqCst);
            work.began.send((context.item().index(), context.source().as_str())).unwrap();
            async move {
                let _over = Over(Arc::clone(&work.running));
                work.gate.acquire().await?.forget();
                Ok(())
            }
        });
        let handle = member.scheduler.schedule(config, job).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        handle
    }
}

/// Counts the end of a run, also if its future is dropped.
struct Over(Arc<AtomicUsize>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn limited(items: u32, max: u32) -> JobConfig {
    JobBuilder::new("job", items).failover(true).cluster_concurrency(max).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn limit_of_cluster_holds_over_all_instances() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let (work, mut begins) = Work::new();
    let first = work.join(&one, limited(8, 3)).await;
    let second = work.join(&two, limited(8, 3)).await;
    balanced(&cluster, &[&first, &second], 8).await;
    first.trigger().await.unwrap();
    let mut seen = Vec::new();
    for n in 0..8 {
        if n >= 3 {
            work.gate.add_permits(1);
        }
        seen.push(within("the next run", begins.recv()).await.unwrap().0);
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(work.most.load(Ordering::SeqCst), 3);
    work.gate.add_permits(3);
    let free = || cluster.stored("job", &["coordination", "permits", "0"]).is_none();
    cluster.until("job", "the end of the runs", free).await;
}

#[tokio::test(start_paused = true)]
async fn lost_instance_gives_its_permits_back() {
    let cluster = Cluster::new();
    let (one, two) = (cluster.member(1), cluster.member(2));
    let (work, mut begins) = Work::new();
    let first = work.join(&one, limited(2, 1)).await;
    let second = work.join(&two, limited(2, 1)).await;
    balanced(&cluster, &[&first, &second], 2).await;
    first.trigger().await.unwrap();
    let (item, source) = within("the first run", begins.recv()).await.unwrap();
    assert_eq!(source, "MANUAL");
    let (lost, left) =
        if first.status().await.unwrap().running.is_empty() { (&two, one) } else { (&one, two) };
    lost.scheduler.abort();
    lost.center.expire();
    let mut next = Vec::new();
    for _ in 0..2 {
        next.push(within("the next run", begins.recv()).await.unwrap());
        work.gate.add_permits(1);
    }
    next.sort_unstable();
    let other = 1 - item;
    let mut expected = [(item, "FAILOVER"), (other, "MANUAL")];
    expected.sort_unstable();
    assert_eq!(next, expected);
    assert_eq!(work.most.load(Ordering::SeqCst), 1);
    drop(left);
}
