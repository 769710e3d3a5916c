//! Sessions: what a centre tells about the life of its connection.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{fmt, sync::Arc};

use crate::SessionId;
use crate::sync::Mutex;

/// A change in the life of a centre's session, in the order in which it happened.
///
/// `Connected(n)` is followed by `Suspended(n)`, `Lost(n)` or `Closed`; `Suspended(n)` by `Connected(n)` again,
/// `Lost(n)` or `Closed`; `Lost(n)` by `Connected` with another session, or `Closed`. Nothing follows `Closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// The registry answers in this session.
    Connected {
        /// Which session; the same as before if the connection came back in time.
        session: SessionId,
        /// How long the registry keeps the session without hearing from us.
        timeout: Duration,
    },
    /// The connection is gone. What the session owns is still there for
    /// [`lease_remaining`](crate::RegistryCenter::lease_remaining), perhaps longer.
    Suspended {
        /// Which session.
        session: SessionId,
    },
    /// What the session owned is gone, or must be taken as gone.
    Lost {
        /// Which session.
        session: SessionId,
    },
    /// The centre was closed.
    Closed,
}

impl fmt::Display for SessionChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { session, .. } => write!(f, "connected in session {session}"),
            Self::Suspended { session } => write!(f, "suspended in session {session}"),
            Self::Lost { session } => write!(f, "lost session {session}"),
            Self::Closed => f.write_str("closed"),
        }
    }
}

#[derive(Debug, Default)]
struct Queue {
    changes: VecDeque<SessionChange>,
    waker: Option<Waker>,
    abandoned: bool,
}

/// The receiving side of session changes; begins with the state at the time of the subscription.
#[derive(Debug)]
pub struct SessionFeed {
    queue: Arc<Mutex<Queue>>,
}

impl SessionFeed {
    /// Waits for the next change; `None` after [`SessionChange::Closed`].
    ///
    /// # Cancel safety
    /// Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<SessionChange> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<SessionChange>> {
        let mut queue = self.queue.lock();
        match queue.changes.pop_front() {
            Some(change) => Poll::Ready(Some(change)),
            None if queue.abandoned => Poll::Ready(None),
            None => {
                queue.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// The sending side for backends: keeps the current state and tells every subscriber each change once, in order.
#[derive(Debug, Default)]
pub struct SessionHub {
    state: Mutex<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    last: Option<SessionChange>,
    subscribers: Vec<Arc<Mutex<Queue>>>,
}

impl HubState {
    /// Forgets those who have gone when the list would have to grow: sessions may not change for months, and subscribers come and go.
    fn make_room(&mut self) {
        if self.subscribers.len() == self.subscribers.capacity() {
            self.subscribers.retain(is_read);
            // So that this is not done again for the next few.
            self.subscribers.reserve(self.subscribers.len());
        }
    }
}

/// Returns true if somebody reads the queue, beside the hub that writes it.
fn is_read(queue: &Arc<Mutex<Queue>>) -> bool {
    Arc::strong_count(queue) > 1
}

impl SessionHub {
    /// Returns a hub that has not seen any change yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the last change, or `None` before the first connection.
    #[must_use]
    pub fn current(&self) -> Option<SessionChange> {
        self.state.lock().last
    }

    /// Tells every subscriber. After [`SessionChange::Closed`] further changes are ignored.
    pub fn publish(&self, change: SessionChange) {
        let mut state = self.state.lock();
        if state.last == Some(SessionChange::Closed) {
            return;
        }
        state.last = Some(change);
        let closed = change == SessionChange::Closed;
        state.subscribers.retain(|queue| {
            let waker = {
                let mut queue = queue.lock();
                queue.changes.push_back(change);
                queue.abandoned = closed;
                queue.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
            is_read(queue) && !closed
        });
    }

    /// Subscribes: the last change first, then every further one.
    #[must_use]
    pub fn subscribe(&self) -> SessionFeed {
        let mut state = self.state.lock();
        let closed = state.last == Some(SessionChange::Closed);
        let queue =
            Queue { changes: state.last.into_iter().collect(), waker: None, abandoned: closed };
        let queue = Arc::new(Mutex::new(queue));
        if !closed {
            state.make_room();
            state.subscribers.push(Arc::clone(&queue));
        }
        SessionFeed { queue }
    }
}
