//! Faults with their begin and end.

use super::overlap::is_kill;
use crate::history::{Fact, FaultOutcome, NemesisEvent, Record};

/// A fault that was injected or skipped.
#[derive(Clone, Debug)]
pub(crate) struct Fault<'a> {
    pub(crate) kind: &'a str,
    pub(crate) target: &'a str,
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) outcome: FaultOutcome,
    /// Details, with parameters such as `ms=30000`.
    pub(crate) why: &'a str,
}

impl Fault<'_> {
    /// Returns by how many nanoseconds a clock was set ahead.
    ///
    /// An instance that has seen a fire by that clock considers it due until the true time has
    /// caught up.
    pub(crate) fn lead(&self) -> u64 {
        if !self.kind.contains("skew") {
            return 0;
        }
        let words = self.why.split_ascii_whitespace();
        let ms = words.filter_map(|word| word.strip_prefix("ms=")).find_map(|ms| ms.parse().ok());
        let ahead = ms.and_then(|ms: i64| u64::try_from(ms).ok());
        ahead.unwrap_or(0).saturating_mul(1_000_000)
    }

    /// Returns true if the fault may have had an effect.
    pub(crate) fn is_real(&self) -> bool {
        self.outcome != FaultOutcome::Skipped
    }
}

/// Returns the faults in the order in which they began.
///
/// A fault without an end lasts until the last record.
pub(super) fn of(records: &[Record], end: u64) -> Vec<Fault<'_>> {
    let mut faults: Vec<Fault<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for record in records {
        match &record.fact {
            Fact::Nemesis { ev: NemesisEvent::End, kind, target, .. } => {
                let begun = open.iter().position(|fault| {
                    faults[*fault].kind == kind && faults[*fault].target == target
                });
                if let Some(begun) = begun {
                    faults[open.swap_remove(begun)].until = record.mt;
                }
            }
            Fact::Nemesis { ev, kind, target, outcome, why } => {
                // A killed process is no longer paused.
                if is_kill(kind) && *outcome == FaultOutcome::Installed {
                    open.retain(|fault| {
                        let Fault { kind, target: of, until, .. } = &mut faults[*fault];
                        let stood = of == target && kind.contains("pause");
                        *until = if stood { record.mt } else { *until };
                        !stood
                    });
                }
                let lasts = *ev == NemesisEvent::Begin;
                if lasts {
                    open.push(faults.len());
                }
                let until = if lasts { end } else { record.mt };
                let (from, outcome) = (record.mt, *outcome);
                faults.push(Fault { kind, target, from, until, outcome, why });
            }
            _ => {}
        }
    }
    faults
}
