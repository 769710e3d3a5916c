//! Runtime jobs: this process joins and leaves jobs that operators create from its templates.
//!
//! A *watcher* follows the index of such jobs and starts a *worker* for each job that this process
//! may join. The index is only a hint: a worker decides by the nodes of the job. A job that could
//! not be read does not count as removed.

mod backoff;
mod generation;
mod status;
mod template;
mod watcher;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::{Label, TemplateName};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::scheduler::Inner;
use crate::{Error, Result};

pub(crate) use backoff::Backoff;
pub(crate) use generation::{Generation, GenerationGuard, NotAdmitted};
pub(crate) use status::RuntimeJobStates;
pub use status::{RuntimeJob, RuntimeJobState};
pub use template::{NewJob, Template};

/// Default of the maximum number of runtime jobs of a process.
pub(crate) const DEFAULT_MAX_JOBS: usize = 1_000;

/// Runtime jobs of a scheduler.
pub(crate) struct Runtime {
    /// Labels that this process accepts; `None` for all.
    pub(crate) labels: Option<BTreeSet<Label>>,
    /// Maximum number of jobs.
    pub(crate) max_jobs: usize,
    /// State of each job in this process.
    pub(crate) job_states: RuntimeJobStates,
    offered: Mutex<Offered>,
}

/// The templates that this process offers, and the watcher that receives new ones.
#[derive(Default)]
struct Offered {
    templates: BTreeMap<TemplateName, Arc<Template>>,
    /// `None` before the first template.
    watcher: Option<mpsc::UnboundedSender<watcher::Message>>,
}

impl Runtime {
    pub(crate) fn new(
        labels: Option<BTreeSet<Label>>,
        max_jobs: usize,
        job_states: RuntimeJobStates,
    ) -> Self {
        Self { labels, max_jobs, job_states, offered: Mutex::default() }
    }

    /// Returns a template of this process.
    fn template(&self, name: &TemplateName) -> Option<Arc<Template>> {
        self.offered.lock().templates.get(name).cloned()
    }
}

/// Adds a template, and starts the watcher with the first one.
pub(crate) fn offer(scheduler: &Arc<Inner>, template: Template) -> Result<()> {
    if scheduler.closing.is_cancelled() {
        return Err(Error::ShutDown);
    }
    let name = template.name().clone();
    let mut offered = scheduler.runtime.offered.lock();
    if offered.templates.contains_key(&name) {
        return Err(Error::AlreadyOffered { template: name });
    }
    offered.templates.insert(name, Arc::new(template));
    let watcher = offered.watcher.get_or_insert_with(|| watcher::start(scheduler));
    // If the watcher is gone, the registry centre was closed and there are no jobs to find.
    let _ = watcher.send(watcher::Message::Offered);
    Ok(())
}
