//! State of a job in the registry, now.

use std::collections::BTreeMap;

use coordination::Ledger;
use jiff::Timestamp;
use operations::{GroupSnapshot, JobSnapshot, LATE_GRACE_MS, reached_limits, why_not_running_in};

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
            last_fire_ms: limit.as_ref().and_then(|_| job.last_fire_until(now.as_millisecond())),
            limit,
            may_have_java: job.may_have_java(),
            grace_ms: job.jitter_ms().saturating_add(LATE_GRACE_MS),
            now_ms: now.as_millisecond(),
        }
    }
}
