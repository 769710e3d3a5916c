//! Bursts of watch events: the set of nodes to read again.

use std::collections::BTreeMap;

use futures_util::{FutureExt, future};
use reg_center::{NodePath, Scope};

use super::Gap;
use super::watch::{NodeEvent, Watch};

/// Maximum number of events in a burst, so that a busy registry cannot keep a feed from delivering.
const EVENTS_IN_A_BURST: usize = 2_000;

/// Waits for events and returns those within `scope`, one for each path, in the order of its last
/// event. It counts as a creation if any of them was one.
///
/// The order holds for each watch; there is none across watches. All pending events are taken
/// together, so that a node that changes often is read once.
pub(super) async fn next(watches: &mut [Watch], scope: &Scope) -> Result<Vec<NodeEvent>, Gap> {
    let mut burst = Burst::default();
    while burst.is_empty() {
        burst.record(next_of_any(watches).await?, scope);
        for watch in &mut *watches {
            while let Some(event) =
                burst.has_room().then(|| watch.changed().now_or_never()).flatten()
            {
                burst.record(event?, scope);
            }
        }
    }
    Ok(burst.in_order())
}

/// Waits for the next event of any watch; pends forever if there is no watch.
async fn next_of_any(watches: &mut [Watch]) -> Result<Option<NodeEvent>, Gap> {
    match watches {
        [] => future::pending().await,
        [only] => only.changed().await,
        many => {
            let events = many.iter_mut().map(|watch| Box::pin(watch.changed()));
            future::select_all(events).await.0
        }
    }
}

/// The events of a burst by path. Each path has the number of its last event, and whether any of
/// its events was a creation.
#[derive(Debug, Default)]
struct Burst {
    by_path: BTreeMap<NodePath, (usize, bool)>,
    n_events: usize,
}

impl Burst {
    fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    fn has_room(&self) -> bool {
        self.n_events < EVENTS_IN_A_BURST
    }

    fn record(&mut self, event: Option<NodeEvent>, scope: &Scope) {
        self.n_events += 1;
        if let Some(NodeEvent { path, created }) = event.filter(|event| scope.contains(&event.path))
        {
            let (last, was_created) = self.by_path.entry(path).or_default();
            *last = self.n_events;
            *was_created |= created;
        }
    }

    fn in_order(self) -> Vec<NodeEvent> {
        let events = self.by_path.into_iter();
        let by_number: BTreeMap<_, _> =
            events.map(|(path, (last, created))| (last, NodeEvent { path, created })).collect();
        by_number.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_returned_once_at_the_position_of_its_last_event() {
        let job = Scope::all_of(NodePath::parse("/job").unwrap());
        let mut burst = Burst::default();
        let events = [
            ("/job/a", true),
            ("/job/b", false),
            ("/job-2", true),
            ("/job", false),
            ("/job/a", false),
            ("/other", true),
        ];
        for (path, created) in events {
            let path = NodePath::parse(path).unwrap();
            burst.record(Some(NodeEvent { path, created }), &job);
        }
        let found = burst.in_order();
        let found: Vec<_> =
            found.iter().map(|event| (event.path.as_str(), event.created)).collect();
        assert_eq!(found, [("/job/b", false), ("/job", false), ("/job/a", true)]);
    }
}
