//! The jobs of a scheduler by their names, so that each name is registered once.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::JobName;

use super::Inner;
use crate::{Error, JobHandle, Result};

/// The jobs of a scheduler.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    closed: bool,
    by_name: BTreeMap<JobName, Slot>,
}

/// Use of a job name.
#[derive(Debug)]
enum Slot {
    /// The job is being registered.
    Reserved,
    Registered(JobHandle),
}

impl Jobs {
    /// Accepts no more jobs.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Returns the registered jobs, in the order of their names.
    pub(super) fn handles(&self) -> Vec<JobHandle> {
        let handle = |slot: &Slot| match slot {
            Slot::Reserved => None,
            Slot::Registered(handle) => Some(handle.clone()),
        };
        self.by_name.values().filter_map(handle).collect()
    }
}

impl Inner {
    /// Reserves a name, so that only one of two concurrent registrations succeeds.
    pub(crate) fn reserve(self: &Arc<Self>, name: &JobName) -> Result<Reservation> {
        let mut jobs = self.jobs.lock();
        if jobs.closed {
            return Err(Error::Stopped { job: name.clone() });
        }
        let is_taken = match jobs.by_name.get(name) {
            Some(Slot::Registered(handle)) => !handle.has_ended(),
            Some(Slot::Reserved) => true,
            None => false,
        };
        if is_taken {
            return Err(Error::AlreadyScheduled { job: name.clone() });
        }
        jobs.by_name.insert(name.clone(), Slot::Reserved);
        Ok(Reservation { inner: Arc::clone(self), name: name.clone() })
    }

    /// Removes the handle of a removed runtime job, once the job has ended in this process.
    pub(crate) fn forget(&self, name: &JobName) {
        let mut jobs = self.jobs.lock();
        if matches!(jobs.by_name.get(name), Some(Slot::Registered(handle)) if handle.has_ended()) {
            jobs.by_name.remove(name);
        }
    }
}

/// A reserved name. Dropping it releases the name if no job was registered.
pub(crate) struct Reservation {
    inner: Arc<Inner>,
    name: JobName,
}

impl Reservation {
    /// Replaces the reservation by the job.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the scheduler was closed meanwhile. The caller then shuts the job
    /// down.
    pub(crate) fn fill(self, handle: JobHandle) -> Result<()> {
        let mut jobs = self.inner.jobs.lock();
        let is_closed = jobs.closed;
        jobs.by_name.insert(self.name.clone(), Slot::Registered(handle));
        // `self` locks the jobs once more when it is dropped.
        drop(jobs);
        if is_closed { Err(Error::Stopped { job: self.name.clone() }) } else { Ok(()) }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut jobs = self.inner.jobs.lock();
        if matches!(jobs.by_name.get(&self.name), Some(Slot::Reserved)) {
            jobs.by_name.remove(&self.name);
        }
    }
}
