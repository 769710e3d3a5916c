//! Runs of items, combined from their start and end records.

use std::collections::BTreeMap;

use checker::history::{ExecEvent, Fact, RunId};

use super::Seen;

/// A run of an item's code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunSeen<'a> {
    pub(crate) p: &'a str,
    /// Incarnation of the process.
    pub(crate) inc: u32,
    pub(crate) id: &'a RunId,
    pub(crate) source: &'a str,
    /// Start on the shared clock.
    pub(crate) began: u64,
    /// Start on the wall clock of the process.
    pub(crate) began_wt: i64,
    /// Time and result of the end; `None` while it runs, and if its process was killed.
    pub(crate) end: Option<(u64, &'a str)>,
}

impl RunSeen<'_> {
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    pub(crate) fn has_succeeded(&self) -> bool {
        self.end.is_some_and(|(_, result)| result == "ok")
    }

    pub(crate) fn is_failover(&self) -> bool {
        self.source == "FAILOVER"
    }

    /// Returns true if the run was in progress at this moment of the shared clock.
    pub(crate) fn spans(&self, mt: u64) -> bool {
        self.began <= mt && self.end.is_none_or(|(end, _)| end > mt)
    }

    /// Returns the lateness of the start, in milliseconds of the process's wall clock.
    pub(crate) fn lateness_ms(&self) -> i64 {
        self.began_wt - self.id.fire
    }
}

impl<'a> Seen<'a> {
    /// Returns all runs in the order of their starts.
    pub(crate) fn runs(&self) -> Vec<RunSeen<'a>> {
        let mut runs: Vec<RunSeen<'a>> = Vec::new();
        let mut open: BTreeMap<(&str, u32, &RunId), usize> = BTreeMap::new();
        for record in self.records() {
            let Fact::Exec { ev, run, source, result, .. } = &record.fact else { continue };
            let key = (record.p.as_str(), record.inc, run);
            match ev {
                ExecEvent::Start => {
                    open.insert(key, runs.len());
                    runs.push(RunSeen {
                        p: &record.p,
                        inc: record.inc,
                        id: run,
                        source,
                        began: record.mt,
                        began_wt: record.wt,
                        end: None,
                    });
                }
                ExecEvent::End => {
                    let begun = open.remove(&key).and_then(|place| runs.get_mut(place));
                    if let Some(begun) = begun {
                        begun.end = Some((record.mt, result.as_deref().unwrap_or_default()));
                    }
                }
            }
        }
        runs
    }

    /// Returns the runs that the latest incarnation of a process has begun and not ended.
    pub(crate) fn running_on(&self, p: &str) -> Vec<RunSeen<'a>> {
        let life =
            self.records().iter().filter(|record| record.p == p).map(|record| record.inc).max();
        let mut runs = self.runs();
        runs.retain(|run| run.p == p && Some(run.inc) == life && !run.has_ended());
        runs
    }

    /// Returns the runs of one fire of one item.
    pub(crate) fn runs_of(&self, item: u32, fire: i64) -> Vec<RunSeen<'a>> {
        let mut runs = self.runs();
        runs.retain(|run| run.id.item == item && run.id.fire == fire);
        runs
    }
}
