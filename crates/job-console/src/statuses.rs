//! Shown statuses of jobs, for the rows, filters and counts of the pages and of the API: the state
//! of a job, or the reason why it needs attention.

use std::collections::BTreeMap;

use operations::{Attention, JobBrief, JobLine, JobList, JobState};

/// Word of the filter for all jobs that need attention.
pub(crate) const ATTENTION: &str = "ATTENTION";
/// Words of the filter, each with the status that the rows of its jobs show.
pub(crate) const STATUSES: [(&str, Option<Attention>, JobState); 10] = [
    ("OK", None, JobState::Ok),
    ("FAILING", Some(Attention::Failing), JobState::Failing),
    ("CRASHED", Some(Attention::Crashed), JobState::Crashed),
    ("INVALID", Some(Attention::InvalidConfig), JobState::Ok),
    ("LATE", Some(Attention::Late), JobState::Ok),
    ("RESHARDING", Some(Attention::Resharding), JobState::Resharding),
    ("PAUSED", Some(Attention::Paused), JobState::Paused),
    ("PARTLY_PAUSED", Some(Attention::PartlyPaused), JobState::Ok),
    ("DISABLED", None, JobState::Disabled),
    ("NO_INSTANCE", Some(Attention::NoInstance), JobState::NoInstance),
];

/// Returns the words of the filter.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    STATUSES.iter().map(|(word, ..)| *word).chain([ATTENTION])
}

/// Returns the word of the status that is shown for a job, and whether the job needs attention.
pub(crate) fn shown(job: &JobLine, now_ms: i64) -> (&'static str, bool) {
    shown_for(job, job.attention(now_ms))
}

/// Returns what [`shown`] does, for a job that needs attention for a reason.
pub(crate) fn shown_for(job: &JobBrief, attention: Option<Attention>) -> (&'static str, bool) {
    let of_attention = STATUSES.iter().find(|(_, one, _)| attention.is_some() && *one == attention);
    let word = of_attention.map_or(job.status.as_str(), |(word, ..)| word);
    (word, attention.is_some())
}

/// Returns the number of jobs with each shown status that occurs.
pub(crate) fn counts(list: &JobList, now_ms: i64) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for job in list.jobs() {
        *counts.entry(shown(job, now_ms).0).or_default() += 1;
    }
    counts
}

/// Returns true if a job has the shown status, or needs attention for the word of all that do.
pub(crate) fn has_status(job: &JobLine, status: &str, now_ms: i64) -> bool {
    let (word, is_urgent) = shown(job, now_ms);
    word == status || (status == ATTENTION && is_urgent)
}
