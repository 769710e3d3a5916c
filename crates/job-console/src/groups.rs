//! Groups of jobs, for the API and the pages.

use std::sync::Arc;

use coordination::{GroupLimits, GroupName, GroupPermitView, StartRate};
use jiff::Timestamp;
use operations::{GroupSnapshot, LiveNamespace};

use crate::namespaces::Namespace;
use crate::problem::{Answer, Problem};

/// A limit that is not valid: its field, and the fault with the valid values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidLimit {
    pub(crate) field: &'static str,
    pub(crate) text: String,
}

/// Returns the wanted limits of a group. A limit that is not given is removed, and one is given.
pub(crate) fn limits(
    cluster_concurrency: Option<u32>,
    start_rate: Option<&str>,
) -> Result<GroupLimits, InvalidLimit> {
    let start_rate = start_rate.map(|text| {
        let text_of_fault = || format!("start_rate is {text:?}; valid is {}", StartRate::VALID);
        let fault = || InvalidLimit { field: "start_rate", text: text_of_fault() };
        StartRate::parse(text).ok_or_else(fault)
    });
    let limits = GroupLimits { cluster_concurrency, start_rate: start_rate.transpose()? };
    if limits.is_none() {
        let text = "cluster_concurrency and start_rate are both missing; valid is one of them, or \
            both: a removal of the limits is another request";
        return Err(InvalidLimit { field: "cluster_concurrency", text: text.to_owned() });
    }
    let fault = |error: coordination::InvalidConfig| InvalidLimit {
        field: error.field,
        text: error.to_string(),
    };
    limits.check().map(|()| limits).map_err(fault)
}

/// Returns the groups that lists show, in the order of their names: those with limits, permits,
/// waiting jobs or jobs.
pub(crate) fn shown(live: &LiveNamespace) -> Vec<Arc<GroupSnapshot>> {
    let mut groups = live.groups();
    groups.retain(|group| group.is_used() || !live.jobs_of_group(group.view().name()).is_empty());
    groups
}

/// Returns a group that has nodes or jobs.
pub(crate) fn group_of(namespace: &Namespace, name: &GroupName) -> Answer<Arc<GroupSnapshot>> {
    namespace.live.group(name).ok_or_else(|| {
        let detail = format!("namespace {:?} has no group {name}", namespace.name);
        let absent = || Problem::not_found("no-such-group", detail);
        namespace.loaded().err().unwrap_or_else(absent)
    })
}

/// Returns the time at which a run took its permit: by the registry, or else by the record of the
/// run.
pub(crate) fn since(live: &LiveNamespace, permit: &GroupPermitView) -> Option<Timestamp> {
    let began = || {
        let run = permit.holder.as_ref()?;
        let job = live.job(&run.job)?;
        let record = &job.view().item(run.item).ledger.as_ref()?.value;
        record.running()?;
        record.began_ms
    };
    Timestamp::from_millisecond(permit.since_ms.or_else(began)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_limits_are_named_with_their_values_and_the_valid_ones() {
        let fault = |runs, rate| limits(runs, rate).unwrap_err();
        for (runs, rate, field, expected) in [
            (Some(0), None, "cluster_concurrency", "cluster_concurrency is 0; valid is 1 to"),
            (None, Some("often"), "start_rate", "start_rate is \"often\"; valid is a number of"),
            (Some(1), Some("0 in 1m"), "start_rate", "start_rate is 0 in 1m; valid is a number of"),
            (None, None, "cluster_concurrency", "are both missing; valid is one of them"),
        ] {
            let InvalidLimit { field: found, text } = fault(runs, rate);
            assert!(found == field && text.contains(expected), "{found} {text}");
        }
        let valid = limits(Some(3), Some("9 in 1m")).unwrap();
        assert_eq!(valid.to_string(), "at most 3 runs at once, at most 9 starts in 1m");
        let single = limits(Some(1), Some("1 in 1m")).unwrap();
        assert_eq!(single.to_string(), "at most 1 run at once, at most 1 start in 1m");
    }
}
