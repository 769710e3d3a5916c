//! Faults, from their beginning to their end.

use super::overlap::is_death;
use crate::history::{Fact, FaultOutcome, NemesisEvent, Record};

/// A fault that was injected, or was meant to be.
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
    /// Returns by how many nanoseconds a clock was set ahead. Whoever has seen a fire come by that clock holds it due
    /// until the true time has come so far.
    pub(crate) fn lead(&self) -> u64 {
        let words = self.why.split_ascii_whitespace();
        let ms = words.filter_map(|word| word.strip_prefix("ms=")).find_map(|ms| ms.parse().ok());
        let ahead =
            ms.filter(|_| self.kind.contains("skew")).and_then(|ms: i64| u64::try_from(ms).ok());
        ahead.unwrap_or(0).saturating_mul(1_000_000)
    }

    /// Returns true if it may have had an effect.
    pub(crate) fn is_real(&self) -> bool {
        self.outcome != FaultOutcome::Skipped
    }
}

/// Returns the faults in the order in which they began. What never ends lasts until everything is healed, or until the
/// end.
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
                // Who is killed does not stand still any more.
                if is_death(kind) && *outcome == FaultOutcome::Installed {
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
