//! Sessions: state changes of a center's connection.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::{fmt, sync::Arc};

use crate::SessionId;
use crate::sync::Mutex;

/// A change of a center's session.
///
/// The changes are delivered in the order in which they happened. `Connected(n)` is followed by
/// `Suspended(n)`, `Lost(n)` or `Closed`. `Suspended(n)` is followed by `Connected(n)`, `Lost(n)`
/// or `Closed`. `Lost(n)` is followed by `Connected` with another session, or by `Closed`. Nothing
/// follows `Closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// The registry answers in this session.
    Connected {
        /// The session; the same as before if the connection was restored in time.
        session: SessionId,
        /// Time for which the registry keeps the session without any request.
        timeout: Duration,
    },
    /// The connection is gone. The ephemeral nodes of the session stay for
    /// [`lease_remaining`](crate::RegistryCenter::lease_remaining), and possibly longer.
    Suspended {
        /// The session.
        session: SessionId,
    },
    /// The ephemeral nodes of the session are gone, or must be treated as gone.
    Lost {
        /// The session.
        session: SessionId,
    },
    /// The center was closed.
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

/// The receiving end of session changes. It begins with the state at the time of the subscription.
#[derive(Debug)]
pub struct SessionFeed {
    queue: Arc<Mutex<Queue>>,
}

impl SessionFeed {
    /// Waits for the next change; `None` after [`SessionChange::Closed`].
    ///
    /// # Cancel safety
    /// No change is lost if the future is dropped.
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

/// The sending end of session changes, for backends: keeps the current state and delivers each
/// change to every subscriber once, in order.
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
    /// Removes dropped subscribers when the list is full.
    ///
    /// `publish` removes them as well, but a session may not change for months while subscribers
    /// come and go.
    fn remove_dropped_subscribers(&mut self) {
        if self.subscribers.len() == self.subscribers.capacity() {
            self.subscribers.retain(is_read);
            // Reserve space, so that the next few subscriptions do not scan the list again.
            self.subscribers.reserve(self.subscribers.len());
        }
    }
}

/// Returns true if a subscriber still holds the queue, beside the hub.
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

    /// Delivers a change to every subscriber. Ignores changes after [`SessionChange::Closed`].
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

    /// Subscribes: delivers the last change first, then every further one.
    #[must_use]
    pub fn subscribe(&self) -> SessionFeed {
        let mut state = self.state.lock();
        let closed = state.last == Some(SessionChange::Closed);
        let queue =
            Queue { changes: state.last.into_iter().collect(), waker: None, abandoned: closed };
        let queue = Arc::new(Mutex::new(queue));
        if !closed {
            state.remove_dropped_subscribers();
            state.subscribers.push(Arc::clone(&queue));
        }
        SessionFeed { queue }
    }
}
