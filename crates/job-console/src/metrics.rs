//! Metrics of all namespaces of a console, in the text format of Prometheus.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use job_watch::{NamespaceFacts, prometheus, with_registries};
use operations::Freshness;

use crate::namespaces::Namespace;

/// Metrics of the namespaces of a [`Console`](crate::Console), which stay current while its router
/// exists.
#[derive(Clone)]
pub struct Metrics(Vec<Arc<Namespace>>);

impl Metrics {
    pub(crate) fn of(namespaces: Vec<Arc<Namespace>>) -> Self {
        Self(namespaces)
    }

    /// Returns the metrics of all namespaces, each with its name as the label `registry`.
    ///
    /// The last successes, late items, expectations and messages are known only for a namespace
    /// with a watcher in this process.
    #[must_use]
    pub fn prometheus(&self) -> String {
        with_registries(self.0.iter().map(|one| (one.name.as_str(), of_namespace(one))))
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|one| one.name.as_str()).collect();
        f.debug_tuple("Metrics").field(&names).finish()
    }
}

fn of_namespace(namespace: &Namespace) -> String {
    if let Some(watcher) = namespace.alerts.watcher().filter(|watcher| watcher.ended().is_none()) {
        return watcher.prometheus();
    }
    let mut facts = NamespaceFacts::new(&[], &|_| None);
    facts.data_age = match namespace.live.freshness() {
        Freshness::Loading => None,
        Freshness::Current => Some(Duration::ZERO),
        Freshness::Stale { since } => Some(since.elapsed()),
    };
    prometheus(namespace.live.list().jobs().iter().map(|job| &*job.brief), &facts)
}
