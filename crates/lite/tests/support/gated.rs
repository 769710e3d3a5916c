//! Jobs whose runs end when the test lets them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lite::{JobConfig, JobHandle, ShardingContext, job_fn};
use tokio::sync::{Semaphore, mpsc};

use super::{Member, within};

/// Runs of all instances and jobs. Each reports its begin, and ends by a permit of the gate.
pub(crate) struct Gated<T> {
    pub(crate) gate: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    began: mpsc::UnboundedSender<T>,
    report: fn(&ShardingContext) -> T,
}

impl<T: Send + 'static> Gated<T> {
    /// Returns the work, and the reports of the runs in the order of their begins.
    pub(crate) fn new(report: fn(&ShardingContext) -> T) -> (Self, mpsc::UnboundedReceiver<T>) {
        let (began, begins) = mpsc::unbounded_channel();
        let (gate, running, most) = (Arc::new(Semaphore::new(0)), Arc::default(), Arc::default());
        (Self { gate, running, most, began, report }, begins)
    }

    /// Schedules a job whose runs are counted here.
    pub(crate) async fn join(&self, member: &Member, config: JobConfig) -> JobHandle {
        let (gate, began, report) = (Arc::clone(&self.gate), self.began.clone(), self.report);
        let (running, most) = (Arc::clone(&self.running), Arc::clone(&self.most));
        let job = job_fn(move |context: ShardingContext| {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            began.send(report(&context)).unwrap();
            let (gate, running) = (Arc::clone(&gate), Arc::clone(&running));
            async move {
                let _over = Over(running);
                gate.acquire().await?.forget();
                Ok(())
            }
        });
        let handle = member.scheduler.schedule(config, job).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
        handle
    }

    /// Returns the greatest number of runs at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// Counts the end of a run, also if its future is dropped.
struct Over(Arc<AtomicUsize>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
