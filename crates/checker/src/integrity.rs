//! P0: whether the records can be trusted to be all there are.

use std::collections::BTreeMap;

use crate::history::{FORMAT, Fact, NemesisEvent, Record};

/// Returns what is wrong with the records. Any of it makes the run unacceptable.
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

/// Each life of each process counts its records from 0, without gaps.
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
            problems.push(format!("{p}, life {inc}: record {seq} where {expected} was expected"));
        }
        *expected = seq.saturating_add(1);
    }
    problems
}

/// A run says at its beginning what it is, and at its end that it has ended.
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
        [other] => problems.push(format!("the format is {other}; valid is {FORMAT}")),
        several => problems.push(format!("{} records of kind run_meta; valid is 1", several.len())),
    }
    let ends = records.iter().filter(|record| record.fact == Fact::End).count();
    if ends != 1 {
        problems.push(format!("{ends} records of kind end; valid is 1"));
    }
    problems
}

/// Every fault that begins ends, by itself or when all are healed.
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
                problems.push(format!("the end of {kind} of {target}, which had not begun"));
            }
            // What is still broken then stays broken: the rest is demanded to make progress.
            Fact::Healed => open.clear(),
            _ => {}
        }
    }
    let left =
        open.keys().map(|(kind, target)| format!("{kind} of {target} neither ends nor heals"));
    problems.extend(left);
    problems
}
