//! P7: runs at the same time in one process, where the history states their limit. S17.

use std::collections::BTreeMap;

use super::overlap::until;
use super::{Exec, Facts, Findings};
use crate::Property::S17;
use crate::history::{Fact, MAX_CONCURRENCY, Record};
use crate::replay::trace::Spot;

/// A run that has begun and not ended.
#[derive(Clone, Copy)]
struct Open {
    start: Spot,
    /// Record and time of its end.
    end: (usize, u64),
}

/// Periods in which each process has as many runs as its limit allows, ascending.
pub(super) type FullPeriods<'a> = BTreeMap<&'a str, Vec<(u64, u64)>>;

/// Judges the runs of each process by the limit.
pub(super) fn pass<'a>(facts: &Facts<'a>, findings: &mut Findings) -> FullPeriods<'a> {
    let mut full = FullPeriods::new();
    let Some(max) = limit(facts.records) else { return full };
    let mut open: BTreeMap<(&str, u32), Vec<Open>> = BTreeMap::new();
    for exec in &facts.execs {
        let open = open.entry((exec.process, exec.inc)).or_default();
        open.retain(|earlier| earlier.end.0 > exec.start.record);
        let evidence: Vec<_> =
            open.iter().map(|earlier| earlier.start).chain([exec.start]).collect();
        let n = evidence.len();
        findings.expect(n <= max, S17, (exec.job_name, Some(exec.slot)), &evidence, || {
            format!("{} has {n} runs at the same time; its limit is {max}", exec.process)
        });
        open.push(Open { start: exec.start, end: end_of(facts, exec) });
        if n >= max {
            let first_end = open.iter().map(|run| run.end.1).min().unwrap_or(exec.start.mt);
            full.entry(exec.process).or_default().push((exec.start.mt, first_end));
        }
    }
    full
}

fn limit(records: &[Record]) -> Option<usize> {
    let params = records.iter().find_map(|record| match &record.fact {
        Fact::RunMeta { params, .. } => Some(params),
        _ => None,
    });
    usize::try_from(params?.get(MAX_CONCURRENCY)?.as_u64()?).ok()
}

/// Returns the record and the time of the end of a run. A killed run has no record of its end.
fn end_of(facts: &Facts<'_>, exec: &Exec<'_>) -> (usize, u64) {
    match exec.end {
        Some((end, _)) => (end.record, end.mt),
        None => (usize::MAX, until(facts, exec)),
    }
}

/// Returns the time by which a process has had a free place for `time` without a break since
/// `from`.
pub(super) fn free_for(full: &FullPeriods<'_>, process: &str, from: u64, time: u64) -> u64 {
    let periods = full.get(process).into_iter().flatten();
    let since = periods.fold(from, |since, (begin, end)| {
        if *begin <= since.saturating_add(time) { since.max(*end) } else { since }
    });
    since.saturating_add(time)
}
