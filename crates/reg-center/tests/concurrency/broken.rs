//! Deliberately broken channels that the scenarios must detect. Each has a race between a check and
//! the step that depends on it.

use std::sync::Arc;
use std::task::{Poll, Waker};

use crate::sync::Mutex;

#[derive(Default)]
struct Slot {
    value: Option<u32>,
    waker: Option<Waker>,
}

pub(crate) struct LateSender(Arc<Mutex<Slot>>);
pub(crate) struct LateFeed(Arc<Mutex<Slot>>);

pub(crate) fn late_channel() -> (LateSender, LateFeed) {
    let slot = Arc::new(Mutex::new(Slot::default()));
    (LateSender(Arc::clone(&slot)), LateFeed(slot))
}

impl LateSender {
    pub(crate) fn send(&self, value: u32) {
        let waker = {
            let mut slot = self.0.lock();
            slot.value = Some(value);
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl LateFeed {
    /// Checks the slot before it registers its waker: a value sent in between wakes no task.
    pub(crate) async fn next(&self) -> u32 {
        std::future::poll_fn(|cx| {
            let value = self.0.lock().value.take();
            match value {
                Some(value) => Poll::Ready(value),
                None => {
                    self.0.lock().waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

type Queue = Arc<Mutex<Vec<u32>>>;

#[derive(Default)]
pub(crate) struct LateHub {
    last: Mutex<Option<u32>>,
    subscribers: Mutex<Vec<Queue>>,
}

impl LateHub {
    pub(crate) fn publish(&self, change: u32) {
        *self.last.lock() = Some(change);
        self.subscribers.lock().iter().for_each(|queue| queue.lock().push(change));
    }

    /// Reads the state before it adds the subscriber: the new subscriber misses a change published
    /// in between.
    pub(crate) fn subscribe(&self) -> (Option<u32>, Queue) {
        let last = *self.last.lock();
        let queue = Queue::default();
        self.subscribers.lock().push(Arc::clone(&queue));
        (last, queue)
    }
}
