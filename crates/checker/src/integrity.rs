//! P0: completeness of the records.

use std::collections::BTreeMap;

use crate::history::{FORMAT, Fact, NemesisEvent, Record};

/// Returns the defects of the records. Any defect makes the run unacceptable.
pub(crate) fn problems(records: &[Record]) -> Vec<String> {
    let mut problems = gaps(records);
    problems.extend(frame(records));
    problems.extend(open_faults(records));
    problems.extend(records.iter().filter_map(|record| match &record.fact {
        Fact::HarnessFailure { at, error } => Some(format!("the harness failed at {at}: {error}")),
        _ => None,
    }));
    problems
}

/// Finds gaps in the record numbers of each process start.
fn gaps(records: &[Record]) -> Vec<String> {
    let mut next: Vec<(&str, u32, u64)> = Vec::new();
    let mut problems = Vec::new();
    for record in records {
        let Record { p, inc, seq, .. } = record;
        let place = next.iter().position(|(q, life, _)| q == p && life == inc);
        let place = place.unwrap_or_else(|| {
            next.push((p, *inc, 0));
            next.len() - 1
        });
        let expected = &mut next[place].2;
        if seq != expected {
            problems
                .push(format!("{p}, start {inc}: found record {seq} instead of record {expected}"));
        }
        *expected = seq.saturating_add(1);
    }
    problems
}

/// Checks that the history has one description of the run and one end.
fn frame(records: &[Record]) -> Vec<String> {
    let mut problems = Vec::new();
    let metas: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.fact {
            Fact::RunMeta { v, .. } => Some(*v),
            _ => None,
        })
        .collect();
    match metas.as_slice() {
        [FORMAT] => {}
        [other] => problems.push(format!("the history has format {other}; valid is {FORMAT}")),
        several => problems.push(format!(
            "the history has {} records of type run_meta; valid is 1",
            several.len()
        )),
    }
    let ends = records.iter().filter(|record| record.fact == Fact::End).count();
    if ends != 1 {
        problems.push(format!("the history has {ends} records of type end; valid is 1"));
    }
    problems
}

/// Checks that every fault that begins ends, by itself or when all faults are healed.
fn open_faults(records: &[Record]) -> Vec<String> {
    let mut open: BTreeMap<(&str, &str), &Record> = BTreeMap::new();
    let mut problems = Vec::new();
    for record in records {
        match &record.fact {
            Fact::Nemesis { ev: NemesisEvent::Begin, kind, target, .. } => {
                open.insert((kind, target), record);
            }
            Fact::Nemesis { ev: NemesisEvent::End, kind, target, .. }
                if open.remove(&(kind.as_str(), target.as_str())).is_none() =>
            {
                problems.push(format!("{kind} of {target} ends without having begun"));
            }
            // A fault that outlasts the healing is not excused: liveness is judged from then on.
            Fact::Healed => open.clear(),
            _ => {}
        }
    }
    let left = open
        .keys()
        .map(|(kind, target)| format!("{kind} of {target} never ends and is never healed"));
    problems.extend(left);
    problems
}
