//! Documents of jobs that differ from the stored ones.

use coordination::JobName;
use reg_center::Version;

use super::board::Board;
use crate::store::{JobDoc, Store, Write, encode};

/// A document that is stored, and the version that it replaces.
pub(super) type StoredDoc = (JobName, Option<JobDoc>, Option<Version>);

/// Returns the writes of the jobs whose documents have changed, within the given room. It has at
/// least one if a document has changed.
pub(super) fn unstored(
    board: &mut Board,
    max_docs: usize,
    max_bytes: usize,
) -> (Vec<Write>, Vec<StoredDoc>) {
    let (mut writes, mut docs, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
    for (job, entry) in &mut board.jobs {
        let Some((doc, version)) = entry.unstored() else { continue };
        let write = Write { path: Store::job_path(job), version, data: doc.as_ref().map(encode) };
        bytes = bytes.saturating_add(write.bytes());
        if !docs.is_empty() && (docs.len() >= max_docs || bytes > max_bytes) {
            break;
        }
        writes.push(write);
        docs.push((job.clone(), doc, version));
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
