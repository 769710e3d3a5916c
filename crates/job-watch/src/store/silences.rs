//! Silences: written by operators, read by the sender.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::{JobName, Layout};
use jiff::Timestamp;
use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};

use super::{Silence, SilencesDoc, Store, StoreError, below, decode, encode};
use crate::ConditionKind;

/// Maximum number of attempts to change the silences of a job.
const ATTEMPTS: usize = 8;
/// Maximum length of an author or a reason, in bytes.
const MAX_TEXT_BYTES: usize = 512;

/// A job with its silences.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SilencedJob {
    /// The job, which need not exist.
    pub job: JobName,
    /// The silences that are not over, in the order of their expectations.
    pub silences: Vec<Silence>,
}

impl SilencedJob {
    /// Returns the job with the silences that are not over, if there are any.
    fn present(job: &JobName, silences: &[Silence], now: Timestamp) -> Option<Self> {
        let present = silences.iter().filter(|one| one.until > now.as_millisecond());
        let silences: Vec<_> = present.cloned().collect();
        (!silences.is_empty()).then(|| Self { job: job.clone(), silences })
    }
}

/// The silences of one registry.
#[derive(Clone, Debug)]
pub struct Silences(Store);

impl Silences {
    /// Returns access to the silences of a registry.
    #[must_use]
    pub fn new(registry: Arc<dyn RegistryCenter>) -> Self {
        Self(Store::new(registry))
    }

    /// Adds a silence; a former one of the same expectation is replaced. With a time in the past,
    /// the former one ends.
    ///
    /// # Errors
    /// [`StoreError`]. After [`StoreError::Conflict`] nothing was changed.
    pub async fn set(
        &self,
        job: &JobName,
        silence: Silence,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let path = silence_path(job);
        let mut conflict = None;
        for _ in 0..ATTEMPTS {
            let found = self.0.read(&path).await?;
            let mut doc = match &found {
                Some(node) => decode::<SilencesDoc>(&path, &node.data)?,
                None => SilencesDoc::default(),
            };
            let now = now.as_millisecond();
            doc.silences.retain(|one| one.until > now && one.expectation != silence.expectation);
            if silence.until > now {
                doc.silences.push(shortened(silence.clone()));
                doc.silences.sort_by_key(|one| one.expectation);
            }
            let txn = Txn::new().labelled("set silence");
            let txn = match found {
                Some(node) => txn.put_if(path.clone(), node.stat.version, encode(&doc)),
                None => txn.create(path.clone(), encode(&doc), Lifetime::Persistent),
            };
            match self.0.committed("storing the silence", txn).await {
                Err(error @ StoreError::Conflict { .. }) => conflict = Some(error),
                other => return other,
            }
        }
        Err(conflict.unwrap_or(StoreError::Deadline { act: "storing the silence" }))
    }

    /// Returns the silences that are not over.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn list(&self, now: Timestamp) -> Result<Vec<SilencedJob>, StoreError> {
        let all = self.0.children::<SilencesDoc>("silences").await?;
        let all = all.into_iter().filter_map(|(name, stored)| {
            SilencedJob::present(&JobName::new(&name).ok()?, &stored.value.silences, now)
        });
        Ok(all.collect())
    }
}

fn shortened(silence: Silence) -> Silence {
    let short = |text: &str| text[..text.floor_char_boundary(MAX_TEXT_BYTES)].to_owned();
    Silence { by: short(&silence.by), why: short(&silence.why), ..silence }
}

fn silence_path(job: &JobName) -> NodePath {
    below("silences").join(job.as_str()).expect("a job name is a valid node name")
}

/// Returns the job of a node with silences.
fn silenced_job(path: &NodePath) -> Option<JobName> {
    JobName::new(path.below(&below("silences"))?).ok()
}

/// The silences of all jobs as the feed shows them.
#[derive(Debug, Default)]
pub(crate) struct SilenceView(BTreeMap<JobName, Vec<Silence>>);

impl SilenceView {
    /// Applies a change of a node below the state of watchers. Unreadable silences are ignored, so
    /// that violations are reported.
    ///
    /// # Errors
    /// [`StoreError::Newer`] and [`StoreError::Damaged`]: the silences of the job are unreadable.
    pub(crate) fn put(&mut self, path: &NodePath, data: &[u8]) -> Result<(), StoreError> {
        let Some(job) = silenced_job(path) else { return Ok(()) };
        self.0.remove(&job);
        self.0.insert(job, decode::<SilencesDoc>(path, data)?.silences);
        Ok(())
    }

    pub(crate) fn remove(&mut self, path: &NodePath) {
        if let Some(job) = silenced_job(path) {
            self.0.remove(&job);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the silences that are not over, in the order of jobs and kinds.
    pub(crate) fn present(&self, now: Timestamp) -> Vec<SilencedJob> {
        let of_job = |(job, all): (&JobName, &Vec<Silence>)| SilencedJob::present(job, all, now);
        self.0.iter().filter_map(of_job).collect()
    }

    /// Returns the present silence of an expectation: the one that ends last.
    pub(crate) fn of(&self, job: &JobName, kind: ConditionKind, now: i64) -> Option<&Silence> {
        let silences = self.0.get(job)?.iter();
        let present = silences.filter(|one| one.expectation == kind && one.until > now);
        present.max_by_key(|one| one.until)
    }

    /// Returns the end of the present silence of an expectation, in milliseconds.
    pub(crate) fn until(&self, job: &JobName, kind: ConditionKind, now: i64) -> Option<i64> {
        self.of(job, kind, now).map(|one| one.until)
    }
}

/// Returns the root of the state of watchers, the subtree to watch.
pub(crate) fn watched_root() -> NodePath {
    Layout::watch_state()
}
