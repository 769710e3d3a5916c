//! Documents of jobs that differ from the stored ones.

use coordination::JobName;
use reg_center::Version;

use super::board::Board;
use crate::store::{JobDoc, Store, Write, encode};

/// A document that is stored, and the version that it replaces.
pub(super) type StoredDoc = (JobName, Option<JobDoc>, Option<Version>);

/// Returns the writes of all jobs whose documents have changed.
pub(super) fn unstored_all(board: &mut Board) -> (Vec<Write>, Vec<StoredDoc>) {
    let jobs: Vec<JobName> = board.jobs.keys().cloned().collect();
    unstored(board, jobs.into_iter(), usize::MAX, usize::MAX)
}

/// Returns the writes of the jobs whose documents have changed, within the given room.
pub(super) fn unstored(
    board: &mut Board,
    jobs: impl Iterator<Item = JobName>,
    max_docs: usize,
    max_bytes: usize,
) -> (Vec<Write>, Vec<StoredDoc>) {
    let (mut writes, mut docs, mut bytes) = (Vec::new(), Vec::<StoredDoc>::new(), 0);
    for job in jobs {
        if docs.iter().any(|(known, ..)| *known == job) {
            continue;
        }
        let Some((doc, version)) = board.jobs.get_mut(&job).and_then(|entry| entry.unstored())
        else {
            continue;
        };
        let data = doc.as_ref().map(encode);
        bytes += data.as_ref().map_or(0, String::len);
        if !docs.is_empty() && (docs.len() >= max_docs || bytes > max_bytes) {
            break;
        }
        writes.push(Write { path: Store::job_path(&job), version, data });
        docs.push((job, doc, version));
    }
    (writes, docs)
}

pub(super) fn set_stored(board: &mut Board, docs: Vec<StoredDoc>) {
    for (job, doc, version) in docs {
        if let Some(entry) = board.jobs.get_mut(&job) {
            entry.set_stored(doc, version);
        }
    }
}
