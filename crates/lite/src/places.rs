//! Places for the runs of all jobs in this process: a limit that is fair among jobs.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use coordination::JobName;
use jiff::Timestamp;
use parking_lot::Mutex;
use sharding::ShardingItem;
use tokio::sync::oneshot;

/// The places of a process. Each run of any job needs one while its listeners and code run.
///
/// Free places go to the jobs in turn, and within a job to the run that has waited longest. So a
/// job with many items delays a run of another job by one of its runs, not by all of them.
#[derive(Debug)]
pub(crate) struct Places {
    limit: NonZeroUsize,
    queues: Mutex<Queues>,
}

#[derive(Debug)]
struct Queues {
    /// Places that no run has. While there is one, no run waits.
    free: usize,
    /// Jobs with waiting runs; the first one gets the next place.
    jobs: VecDeque<JobQueue>,
}

/// Waiting runs of one job, in the order of their waits.
#[derive(Debug)]
struct JobQueue {
    job: JobName,
    waits: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    item: ShardingItem,
    since: Timestamp,
    /// Closed if the run no longer waits.
    grant: oneshot::Sender<Place>,
}

/// A place of a run. It is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    /// `None` if the place was never given to a run.
    places: Option<Arc<Places>>,
}

/// The runs of a job that wait for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitsOfJob {
    pub(crate) items: Vec<ShardingItem>,
    /// Start of the longest wait.
    pub(crate) since: Timestamp,
}

impl Places {
    pub(crate) fn new(limit: NonZeroUsize) -> Arc<Self> {
        let queues = Queues { free: limit.get(), jobs: VecDeque::new() };
        Arc::new(Self { limit, queues: Mutex::new(queues) })
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.get()
    }

    /// Waits for a place.
    ///
    /// # Cancel safety
    /// If the future is dropped, the run loses its turn and no place is lost.
    pub(crate) async fn take(
        self: Arc<Self>,
        job: &JobName,
        item: ShardingItem,
        since: Timestamp,
    ) -> Place {
        let turn = {
            let mut queues = self.queues.lock();
            if queues.free > 0 {
                queues.free -= 1;
                return Place { places: Some(Arc::clone(&self)) };
            }
            let (grant, turn) = oneshot::channel();
            queues.queue_of(job).push_back(Waiting { item, since, grant });
            turn
        };
        // The queue lives as long as `self`, and it drops no grant of a run that waits.
        turn.await.expect("the queue grants a place to each run that waits")
    }

    /// Returns the runs of a job that wait; `None` if none does.
    pub(crate) fn waits_of(&self, job: &JobName) -> Option<WaitsOfJob> {
        let queues = self.queues.lock();
        let queue = queues.jobs.iter().find(|queue| queue.job == *job)?;
        let waits = || queue.waits.iter().filter(|wait| !wait.grant.is_closed());
        let since = waits().map(|wait| wait.since).min()?;
        Some(WaitsOfJob { items: waits().map(|wait| wait.item).collect(), since })
    }

    /// Gives a place that has become free to the next run, or keeps it.
    fn pass_on(self: Arc<Self>) {
        loop {
            let Some(next) = self.queues.lock().next_or_free() else { return };
            let place = Place { places: Some(Arc::clone(&self)) };
            match next.grant.send(place) {
                Ok(()) => return,
                // The run stopped waiting meanwhile: the place is still to be passed on.
                Err(mut unused) => unused.places = None,
            }
        }
    }
}

impl Queues {
    fn queue_of(&mut self, job: &JobName) -> &mut VecDeque<Waiting> {
        let known = self.jobs.iter().position(|queue| queue.job == *job);
        let at = known.unwrap_or_else(|| {
            self.jobs.push_back(JobQueue { job: job.clone(), waits: VecDeque::new() });
            self.jobs.len() - 1
        });
        &mut self.jobs[at].waits
    }

    /// Removes the run whose turn it is. If no run waits, counts a free place and returns `None`.
    fn next_or_free(&mut self) -> Option<Waiting> {
        while let Some(mut queue) = self.jobs.pop_front() {
            let next = loop {
                match queue.waits.pop_front() {
                    // A run that was cancelled takes no turn of its job.
                    Some(wait) if wait.grant.is_closed() => {}
                    other => break other,
                }
            };
            if next.is_some() {
                if !queue.waits.is_empty() {
                    self.jobs.push_back(queue);
                }
                return next;
            }
        }
        self.free += 1;
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(places) = self.places.take() {
            places.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;

    fn job(name: &str) -> JobName {
        JobName::new(name).unwrap()
    }

    fn places(limit: usize) -> Arc<Places> {
        Places::new(NonZeroUsize::new(limit).unwrap())
    }

    /// A wait of this job that has joined the queue, unless a place was free.
    fn wait(places: &Arc<Places>, name: &str, item: u32) -> BoxFuture<'static, Place> {
        let (places, name) = (Arc::clone(places), job(name));
        let mut wait =
            async move { places.take(&name, ShardingItem::new(item), Timestamp::UNIX_EPOCH).await }
                .boxed();
        assert!((&mut wait).now_or_never().is_none(), "a place was free");
        wait
    }

    fn taken(places: &Arc<Places>) -> Place {
        let job = job("first");
        let taken = Arc::clone(places).take(&job, ShardingItem::new(0), Timestamp::MIN);
        taken.now_or_never().expect("a place is free")
    }

    #[test]
    fn job_with_many_runs_delays_another_job_by_one_run() {
        let places = places(1);
        let mut place = taken(&places);
        let many = (0..20).map(|item| ("many", wait(&places, "many", item)));
        let mut waits: Vec<_> = many.collect();
        waits.push(("one", wait(&places, "one", 0)));
        let mut order = Vec::new();
        while !waits.is_empty() {
            drop(place);
            let mut granted = None;
            waits.retain_mut(|(name, wait)| match wait.now_or_never() {
                Some(place) => {
                    order.push(*name);
                    granted = Some(place);
                    false
                }
                None => true,
            });
            place = granted.expect("a free place goes to a run that waits");
        }
        assert_eq!(&order[..3], ["many", "one", "many"]);
        assert_eq!(order.len(), 21);
        drop(place);
        assert_eq!(places.queues.lock().free, 1);
    }

    #[test]
    fn dropped_wait_loses_no_place_and_takes_no_turn() {
        let places = places(1);
        let place = taken(&places);
        let (gone, mut next) = (wait(&places, "a", 0), wait(&places, "b", 1));
        drop(gone);
        assert_eq!(places.waits_of(&job("a")), None);
        let waits = places.waits_of(&job("b")).unwrap();
        assert_eq!(waits.items, [ShardingItem::new(1)]);
        drop(place);
        let granted = (&mut next).now_or_never().expect("it is the turn of b");
        let (gone, mut of_a) = (wait(&places, "a", 0), wait(&places, "a", 1));
        let mut of_b = wait(&places, "b", 1);
        drop(gone);
        drop(granted);
        let granted = (&mut of_a).now_or_never().expect("it is still the turn of a");
        drop(granted);
        let granted = (&mut of_b).now_or_never().expect("it is the turn of b");
        drop(granted);
        // A grant that was never received gives its place back.
        let place = taken(&places);
        let unread = wait(&places, "a", 0);
        drop(place);
        drop(unread);
        assert_eq!(places.queues.lock().free, 1);
    }
}
