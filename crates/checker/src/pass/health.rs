//! Times at which each process was expected to work, and the disturbances that excuse misses and
//! delays.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::overlap::is_kill;
use crate::history::{Fact, FaultOutcome, ProcessEvent, Record, SessionEvent};
use crate::options::Bounds;

/// Disturbances per process and of all processes.
#[derive(Debug, Default)]
pub(crate) struct Health<'a> {
    of: BTreeMap<&'a str, Vec<(u64, u64)>>,
    all: Vec<(u64, u64)>,
    off: BTreeMap<&'a str, Vec<(u64, u64)>>,
    /// Processes that never reported that they are ready or connected.
    pub(super) never: BTreeSet<&'a str>,
}

/// Targets of faults that stand for every process.
const ALL: [&str; 3] = ["registry", "all", "*"];

impl<'a> Health<'a> {
    pub(super) fn new(
        records: &'a [Record],
        faults: &[Fault<'a>],
        bounds: Bounds,
        end: u64,
    ) -> Self {
        let mut health = Self::default();
        for fault in faults.iter().filter(|fault| fault.is_real()) {
            let until = fault.until.saturating_add(fault.lead());
            let trouble = (fault.from, until.saturating_add(bounds.recovery()));
            if ALL.contains(&fault.target) {
                health.all.push(trouble);
            } else {
                health.of.entry(fault.target).or_default().push(trouble);
            }
        }
        health.add_process_states(records, bounds, end);
        health
    }

    /// Adds the times at which a process does not work. It works from ready until it leaves, while
    /// it has a session.
    fn add_process_states(&mut self, records: &'a [Record], bounds: Bounds, end: u64) {
        // Since when a process, or its session, does not work. Without records about itself it
        // counts as working.
        let mut off: BTreeMap<(&str, bool), u64> = BTreeMap::new();
        let mut known: BTreeSet<(&str, bool)> = BTreeSet::new();
        for record in records {
            // A killed process works again once it has started anew.
            if let Fact::Nemesis { kind, target, outcome, .. } = &record.fact {
                if is_kill(kind) && *outcome != FaultOutcome::Skipped {
                    known.insert((target, false));
                    off.entry((target, false)).or_insert(record.mt);
                }
                continue;
            }
            let (is_session, works) = match &record.fact {
                Fact::Process { ev, .. } => (false, *ev == ProcessEvent::Ready),
                Fact::Session { ev, .. } => (true, *ev == SessionEvent::Connected),
                _ => continue,
            };
            let key = (record.p.as_str(), is_session);
            let first = known.insert(key);
            if !works {
                off.entry(key).or_insert(if first { 0 } else { record.mt });
            } else if let Some(since) = off.remove(&key) {
                let until = record.mt.saturating_add(bounds.epsilon);
                self.off.entry(key.0).or_default().push((since, until));
            }
        }
        for ((process, _), since) in off {
            if since == 0 {
                self.never.insert(process);
            }
            self.off.entry(process).or_default().push((since, end));
        }
    }

    /// Returns true if a fault of the process or of the registry overlaps the period.
    pub(crate) fn is_disturbed(&self, process: &str, from: u64, until: u64) -> bool {
        let of = self.of.get(process).into_iter().flatten();
        of.chain(&self.all).any(|(begin, end)| *begin <= until && from <= *end)
    }

    /// Returns true if nothing excuses the process within the period, ends included: no fault, and
    /// the process worked.
    pub(crate) fn is_calm(&self, process: &str, from: u64, until: u64) -> bool {
        let off = self.off.get(process).into_iter().flatten();
        !self.is_disturbed(process, from, until)
            && off.into_iter().all(|(begin, end)| until < *begin || *end < from)
    }
}
