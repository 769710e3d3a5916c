//! The watches of one connection, on one stream.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_channel::mpsc::UnboundedSender;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::client::messages::{
    Event, WatchAction, WatchCancelRequest, WatchCreateRequest, WatchProgressRequest, WatchRequest,
    WatchResponse,
};
use crate::keys::KeyRange;

/// Part of a watch's stream.
#[derive(Debug)]
pub(crate) enum WatchNews {
    /// Changes, in the order of their revisions.
    Events(Vec<Event>),
    /// The watch is over: changes are missing from here on.
    Canceled {
        /// The server has forgotten changes after the begin of the watch.
        compacted: bool,
        /// The server's reason; may be empty.
        reason: String,
    },
}

/// The receiver of the news of some watches.
pub(crate) type Route = mpsc::UnboundedSender<WatchNews>;

/// The watches of one connection.
#[derive(Debug)]
pub(crate) struct Watches {
    requests: UnboundedSender<WatchRequest>,
    routes: Mutex<BTreeMap<i64, Route>>,
    last_id: AtomicI64,
}

impl Watches {
    pub(crate) fn new(requests: UnboundedSender<WatchRequest>) -> Self {
        Self { requests, routes: Mutex::default(), last_id: AtomicI64::new(0) }
    }

    /// Begins a watch of a range at a revision, and returns its id.
    pub(crate) fn open(&self, range: KeyRange, start_revision: i64, route: Route) -> i64 {
        let watch_id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        self.routes.lock().insert(watch_id, route);
        self.send(WatchAction::Create(WatchCreateRequest {
            key: range.begin,
            range_end: range.end,
            start_revision,
            watch_id,
            fragment: true,
        }));
        watch_id
    }

    /// Ends a watch.
    pub(crate) fn cancel(&self, watch_id: i64) {
        if self.routes.lock().remove(&watch_id).is_some() {
            self.send(WatchAction::Cancel(WatchCancelRequest { watch_id }));
        }
    }

    /// Asks the server for an answer, as a sign of life.
    pub(crate) fn ask_for_progress(&self) {
        self.send(WatchAction::Progress(WatchProgressRequest {}));
    }

    /// Delivers an answer of the stream.
    ///
    /// # Errors
    /// The reason, if a watch has ended that cannot be found by its id.
    pub(crate) fn deliver(&self, answer: WatchResponse) -> Result<(), String> {
        let WatchResponse { watch_id, canceled, compact_revision, cancel_reason, events, .. } =
            answer;
        let mut routes = self.routes.lock();
        let news = if canceled {
            if watch_id < 0 {
                return Err(format!("the server has ended a watch: {cancel_reason}"));
            }
            WatchNews::Canceled { compacted: compact_revision > 0, reason: cancel_reason }
        } else if events.is_empty() {
            return Ok(());
        } else {
            WatchNews::Events(events)
        };
        // A watch that was cancelled by this side has no route any more.
        if let Some(route) = routes.get(&watch_id)
            && (route.send(news).is_err() || canceled)
        {
            routes.remove(&watch_id);
        }
        Ok(())
    }

    /// Ends all watches: no news comes any more.
    pub(crate) fn close(&self) {
        self.routes.lock().clear();
        self.requests.close_channel();
    }

    fn send(&self, action: WatchAction) {
        // Fails only after the end of the connection, which ends all watches.
        let _ = self.requests.unbounded_send(WatchRequest { action: Some(action) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(watch_id: i64) -> WatchResponse {
        WatchResponse { watch_id, ..WatchResponse::default() }
    }

    #[test]
    fn news_reach_the_watch_that_they_belong_to_until_its_end() {
        let (requests, _stream) = futures_channel::mpsc::unbounded();
        let watches = Watches::new(requests);
        let (route, mut news) = mpsc::unbounded_channel();
        let range = KeyRange { begin: "/a".into(), end: "/b".into() };
        let (one, two) =
            (watches.open(range.clone(), 5, route.clone()), watches.open(range, 5, route));
        assert_ne!(one, two);
        watches.cancel(one);
        let events = vec![Event::default()];
        let with_events = |id| WatchResponse { events: events.clone(), ..response(id) };
        for answer in [with_events(one), response(-1), response(two), with_events(two)] {
            assert_eq!(watches.deliver(answer), Ok(()));
        }
        let compacted = WatchResponse { canceled: true, compact_revision: 7, ..response(two) };
        assert_eq!(watches.deliver(compacted), Ok(()));
        assert_eq!(watches.deliver(with_events(two)), Ok(()), "the watch is over");
        assert!(matches!(news.try_recv(), Ok(WatchNews::Events(_))));
        assert!(matches!(news.try_recv(), Ok(WatchNews::Canceled { compacted: true, .. })));
        assert!(news.try_recv().is_err(), "no further news, and no route is left");
        let anonymous = WatchResponse { canceled: true, ..response(-1) };
        assert!(watches.deliver(anonymous).is_err());
    }
}
