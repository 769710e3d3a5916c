//! State of a job in the registry, now.

use std::collections::BTreeMap;
use std::iter::successors;

use coordination::Ledger;
use jiff::Timestamp;
use operations::{GroupSnapshot, JobSnapshot, LATE_GRACE_MS, reached_limits, why_not_running_in};

/// Maximum age of the last fire, in milliseconds: more than the longest period of a verification.
const MAX_AGE_MS: i64 = 400 * 86_400_000;

/// State of a job in the registry, as far as verdicts depend on it.
#[derive(Debug, Default)]
pub(super) struct RegistryFacts {
    /// Ledger records by item.
    pub(super) records: BTreeMap<u32, Ledger>,
    /// Ledger records of the further slots of items, by item: each has one run.
    pub(super) further_slots: BTreeMap<u32, Vec<Ledger>>,
    /// Why the job does not run now; `None` if nothing prevents its runs.
    pub(super) why: Option<String>,
    /// Limit of the job or its group for which its runs wait now; `None` if none is reached.
    pub(super) limit: Option<String>,
    /// Last scheduled fire up to now, in milliseconds since 1970 UTC.
    pub(super) last_fire_ms: Option<i64>,
    /// Java instances record their runs elsewhere.
    pub(super) may_have_java: bool,
    /// Time after its scheduled time up to which a fire is not late, in milliseconds.
    pub(super) grace_ms: i64,
    pub(super) now_ms: i64,
}

impl RegistryFacts {
    pub(super) fn of(job: &JobSnapshot, group: Option<&GroupSnapshot>, now: Timestamp) -> Self {
        let records = job
            .view()
            .items()
            .filter_map(|(item, shown)| Some((item.index(), shown.ledger.as_ref()?.value.clone())));
        let mut further_slots: BTreeMap<u32, Vec<Ledger>> = BTreeMap::new();
        for (slot, shown) in job.view().further_slots() {
            let record = shown.ledger.as_ref().map(|ledger| ledger.value.clone());
            further_slots.entry(slot.item.index()).or_default().extend(record);
        }
        let mut reasons = why_not_running_in(job, group, now).into_iter();
        let why = reasons.find(|reason| reason.prevents_runs());
        let limit = reached_limits(job, group, now).first().map(ToString::to_string);
        Self {
            records: records.collect(),
            further_slots,
            why: why.map(|reason| reason.to_string()),
            last_fire_ms: limit.is_some().then(|| last_fire(job, now.as_millisecond())).flatten(),
            limit,
            may_have_java: job.may_have_java(),
            grace_ms: job.jitter_ms().saturating_add(LATE_GRACE_MS),
            now_ms: now.as_millisecond(),
        }
    }
}

/// Returns the last scheduled fire of a job up to a time, both in milliseconds since 1970 UTC.
fn last_fire(job: &JobSnapshot, now_ms: i64) -> Option<i64> {
    let next = |after: i64| job.fire_after(after).filter(|fire| *fire <= now_ms);
    let mut ages = successors(Some(1_000), |age| Some(age * 2)).take_while(|age| *age < MAX_AGE_MS);
    let first = ages.find_map(|age| next(now_ms.saturating_sub(age)))?;
    successors(Some(first), |fire| next(*fire)).last()
}
