//! Progress of the requests of one connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::Bounds;

/// Progress of one connection: it waits for a request, or it is being answered.
#[derive(Clone, Debug)]
pub struct Exchange(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// The state has changed, so the deadline may be another one.
    changed: Notify,
    /// Signals the listener that a connection waits for its next request.
    idle: Arc<Notify>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Time of the accept, or the end of the former answer.
    begun: Instant,
    is_answering: bool,
    /// Replaces the deadline of the exchange.
    limit: Option<Duration>,
}

impl State {
    fn new() -> Self {
        Self { begun: Instant::now(), is_answering: false, limit: None }
    }
}

impl Exchange {
    pub(crate) fn new(idle: Arc<Notify>) -> Self {
        let (state, changed) = (Mutex::new(State::new()), Notify::new());
        Self(Arc::new(Shared { state, changed, idle }))
    }

    /// Declares the request complete. From then on only the deadline of the exchange ends the
    /// connection.
    pub fn begin_answer(&self) {
        self.change(|state| state.is_answering = true);
    }

    /// Replaces the deadline of this exchange, for an answer that lasts longer than others by its
    /// nature. The time counts from the accept, or from the end of the former answer.
    pub fn allow(&self, limit: Duration) {
        self.change(|state| state.limit = Some(limit));
    }

    /// Declares the answer written. The connection waits for its next request: both deadlines start
    /// again, and another client may take its place.
    pub fn end_answer(&self) {
        self.change(|state| *state = State::new());
        self.0.idle.notify_one();
    }

    /// Returns since when the connection has been waiting for a request; `None` while it is
    /// answered.
    pub(crate) fn silent_since(&self) -> Option<Instant> {
        let state = self.state();
        (!state.is_answering).then_some(state.begun)
    }

    /// Waits until a deadline is missed, and returns the phase that missed it.
    pub(crate) async fn late(&self, bounds: Bounds) -> &'static str {
        loop {
            let State { begun, is_answering, limit } = *self.state();
            let exchange = limit.unwrap_or(bounds.exchange_deadline);
            let (phase, limit) = match is_answering {
                true => ("answer", exchange),
                false => ("request", bounds.request_deadline.min(exchange)),
            };
            tokio::select! {
                biased;
                () = self.0.changed.notified() => {}
                () = sleep_until(begun + limit) => return phase,
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.0.changed.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete, so a panic elsewhere cannot leave half of one.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
