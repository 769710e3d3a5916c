//! Jobs that are made at run time, from templates that this process offers: found, joined and left without anybody's asking.
//!
//! A *keeper* listens to the list of such jobs and has a *caretaker* for each one that this process may take. The list only
//! says where to look: what a job is stands with the job, and a caretaker goes by that alone. Nothing that could not be read
//! counts as gone.

mod caretaker;
mod keeper;
mod life;
mod patience;
mod status;
mod template;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coordination::{JobName, Label, TemplateName};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::scheduler::Inner;
use crate::{Error, Result};

pub(crate) use life::{Life, LifeGuard, Outlived};
pub(crate) use patience::Patience;
pub(crate) use status::Board;
pub use status::{RuntimeJob, RuntimeJobState};
pub use template::{NewJob, Template};

/// How many jobs that were made at run time a process takes, unless it says otherwise.
pub(crate) const DEFAULT_MAX_JOBS: usize = 1_000;

/// What a scheduler knows about jobs that are made at run time.
pub(crate) struct Runtime {
    /// Which labels this process takes; `None` for all.
    pub(crate) labels: Option<BTreeSet<Label>>,
    /// How many jobs it takes.
    pub(crate) max_jobs: usize,
    /// Where each job stands.
    pub(crate) board: Board,
    offered: Mutex<Offered>,
}

/// The templates that this process offers, and who is told of new ones.
#[derive(Default)]
struct Offered {
    templates: BTreeMap<TemplateName, Arc<Template>>,
    /// `None` before the first template.
    keeper: Option<mpsc::UnboundedSender<keeper::Message>>,
}

impl Runtime {
    pub(crate) fn new(labels: Option<BTreeSet<Label>>, max_jobs: usize, board: Board) -> Self {
        Self { labels, max_jobs, board, offered: Mutex::default() }
    }

    /// Returns a template that this process offers.
    fn template(&self, name: &TemplateName) -> Option<Arc<Template>> {
        self.offered.lock().templates.get(name).cloned()
    }
}

/// Adds a template, and begins to look for jobs with the first one.
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
    let keeper = offered.keeper.get_or_insert_with(|| keeper::start(scheduler));
    // It is gone if the registry centre was closed: then there is nothing to look for.
    let _ = keeper.send(keeper::Message::Offered);
    Ok(())
}

impl Inner {
    /// Forgets a job that was removed, once it has ended here.
    fn forget(&self, name: &JobName) {
        let mut jobs = self.jobs.lock();
        if matches!(jobs.by_name.get(name), Some(Some(handle)) if handle.has_ended()) {
            jobs.by_name.remove(name);
        }
    }
}
