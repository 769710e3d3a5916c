//! The request to look for changes, of which at most one waits for the worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use crate::worker::Request;

/// Requests the worker to look for changes. Further calls have no effect until the worker has taken
/// the request: other processes commit at any rate, also while the disk does not answer.
pub(crate) struct WrittenSender {
    requests: Sender<Request>,
    is_pending: Arc<AtomicBool>,
}

/// The request that waits. The worker takes it before it looks, so that no later signal is lost.
pub(crate) struct Pending(Arc<AtomicBool>);

impl WrittenSender {
    pub(crate) fn new(requests: Sender<Request>) -> Self {
        Self { requests, is_pending: Arc::default() }
    }

    pub(crate) fn send(&self) {
        if !self.is_pending.swap(true, Ordering::AcqRel) {
            let pending = Pending(Arc::clone(&self.is_pending));
            // The worker has ended if it takes no more requests.
            let _ = self.requests.send(Request::Written(pending));
        }
    }
}

impl Pending {
    pub(crate) fn take(self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn one_request_waits_for_the_worker() {
        let (requests, received) = mpsc::channel();
        let written = WrittenSender::new(requests);
        for _ in 0..2 {
            for _ in 0..1_000 {
                written.send();
            }
            let Ok(Request::Written(pending)) = received.try_recv() else {
                panic!("a request waits");
            };
            assert!(received.try_recv().is_err(), "further signals have no effect");
            pending.take();
        }
    }
}
