//! Bursts of watch events: the set of nodes to read again.

use std::collections::BTreeMap;

use futures_util::{FutureExt, future};
use reg_center::{NodePath, Scope};

use super::Gap;
use super::watch::Watch;

/// Maximum number of events in a burst, so that a busy registry cannot keep a feed from delivering.
const EVENTS_IN_A_BURST: usize = 2_000;

/// Waits for events and returns their paths within `scope`, each once, in the order of its last
/// event.
///
/// The order holds for each watch; there is none across watches. All pending events are taken
/// together, so that a node that changes often is read once.
pub(super) async fn next(watches: &mut [Watch], scope: &Scope) -> Result<Vec<NodePath>, Gap> {
    let mut paths = Paths::default();
    while paths.is_empty() {
        paths.record(next_of_any(watches).await?, scope);
        for watch in &mut *watches {
            while let Some(path) =
                paths.have_room().then(|| watch.changed().now_or_never()).flatten()
            {
                paths.record(path?, scope);
            }
        }
    }
    Ok(paths.in_order())
}

/// Waits for the next event of any watch; pends forever if there is no watch.
async fn next_of_any(watches: &mut [Watch]) -> Result<Option<NodePath>, Gap> {
    match watches {
        [] => future::pending().await,
        [only] => only.changed().await,
        many => {
            let events = many.iter_mut().map(|watch| Box::pin(watch.changed()));
            future::select_all(events).await.0
        }
    }
}

/// Paths, each with the number of its last event.
#[derive(Debug, Default)]
struct Paths {
    last: BTreeMap<NodePath, usize>,
    n_events: usize,
}

impl Paths {
    fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    fn have_room(&self) -> bool {
        self.n_events < EVENTS_IN_A_BURST
    }

    fn record(&mut self, path: Option<NodePath>, scope: &Scope) {
        self.n_events += 1;
        if let Some(path) = path.filter(|path| scope.contains(path)) {
            self.last.insert(path, self.n_events);
        }
    }

    fn in_order(self) -> Vec<NodePath> {
        let by_event: BTreeMap<_, _> = self.last.into_iter().map(|(path, n)| (n, path)).collect();
        by_event.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_returned_once_at_the_position_of_its_last_event() {
        let job = Scope::all_of(NodePath::parse("/job").unwrap());
        let mut paths = Paths::default();
        for path in ["/job/a", "/job/b", "/job-2", "/job", "/job/a", "/other"] {
            paths.record(Some(NodePath::parse(path).unwrap()), &job);
        }
        let found = paths.in_order();
        assert_eq!(
            found.iter().map(NodePath::as_str).collect::<Vec<_>>(),
            ["/job/b", "/job", "/job/a"]
        );
    }
}
